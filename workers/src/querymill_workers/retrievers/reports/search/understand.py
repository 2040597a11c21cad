"""What a branch searches: the reports that the question is about, and the queries in place of the question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.branches import ORIGINAL, SUBQUESTION
from querymill_shared.contracts.reports.search import ReportSearch, Routing
from querymill_workers.expansion.writing import write_texts
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports.ports import SPACE, ReportPorts
from querymill_workers.retrievers.reports.rules.glossary import terms_in
from querymill_workers.retrievers.reports.rules.routing import ReportCard, Route, route
from querymill_workers.retrievers.reports.rules.unknown_names import unknown_names
from querymill_workers.text.queries import normalise
from querymill_workers.text.words import words

#: If more documents are routed, they are searched together and not one by one.
MAX_DOCUMENTS_ONE_BY_ONE: Final = 200


def choose_reports(claim: Claim, request: ReportSearch, ports: ReportPorts) -> Route:
    """Choose the reports to search: those that the request names, or those that the question is about.

    The branch of the original also tells of which company in the question there is no report.
    """
    cards = ports.reports.cards(request.collection)
    if request.filter:
        passing = set(ports.documents["reports"].ids(request.collection, request.filter))
        every, cards = cards, [card for card in cards if card.sha1 in passing]
        chosen = choose_among(cards, request, claim.submitted)
        reason = f"{chosen.reason}; {len(cards)} of {len(every)} reports pass the filter"
        chosen = replace(chosen, reason=reason, whole_collection=False)
    else:
        chosen = choose_among(cards, request, claim.submitted)
    if claim.step != ORIGINAL or request.documents is not None or request.company is not None:
        return chosen
    unknown = tuple(f"no report of {name}" for name in names_without_a_report(request, cards, ports))
    return replace(chosen, missing=(*chosen.missing, *unknown))


def choose_among(cards: Sequence[ReportCard], request: ReportSearch, submitted: float) -> Route:
    """Choose among reports: those that the request names, or those that the question is about."""
    if request.documents is not None:
        known = {card.sha1 for card in cards}
        named = tuple(sorted(known.intersection(request.documents)))
        missing = len(request.documents) - len(named)
        reason = "documents named in the request" + (f"; {missing} of them not found" if missing else "")
        return Route(documents=named, companies=(), period=None, reason=reason, whole_collection=False)
    return route_of(request.query, cards, request, submitted)


def route_of(query: str, cards: Sequence[ReportCard], request: ReportSearch, submitted: float) -> Route:
    """Choose the reports that a query is about. Today is the date where the caller is."""
    today: date = request.today or datetime.fromtimestamp(submitted, UTC).date()
    if query != request.query:  # what a chat model wrote stands alone
        return route(query, cards, company=request.company, period=request.period, today=today)
    asked = context_of(request)
    return route(
        query, cards, company=request.company, period=request.period, today=today,
        before=asked.before, goes_on_about=asked.leaning.is_whole,
    )  # fmt: skip


def names_without_a_report(request: ReportSearch, cards: Sequence[ReportCard], ports: ReportPorts) -> list[str]:
    """Return names in the question that look like companies, and that neither a card nor any passage has."""
    known = (text for card in cards for text in (card.company or "", card.title, *card.aliases))
    names = unknown_names(request.query, known)
    if not names:
        return []
    # A word of a name that some passage has may be a product, a place or a competitor: nothing is said of it.
    unread = ports.words.near(request.collection, SPACE, sorted({word for name in names for word in words(name)}))
    return [name for name in names if any(word in unread for word in words(name))]


def describe_route(chosen: Route) -> Routing:
    """Describe which reports are searched, how, and why."""
    many = len(chosen.documents) > MAX_DOCUMENTS_ONE_BY_ONE
    how = f"; more than {MAX_DOCUMENTS_ONE_BY_ONE}, so the best passages over all of them, not of each" if many else ""
    return Routing(
        documents=len(chosen.documents),
        companies=chosen.companies,
        period=chosen.period,
        whole_collection=chosen.whole_collection,
        reason=chosen.reason + how,
    )


def write_queries(claim: Claim, request: ReportSearch, ports: ReportPorts) -> tuple[Sequence[str], ProviderUsage]:
    """Return the queries of this branch: the question itself, or what the chat model makes of it (`write_texts`)."""
    if claim.step == ORIGINAL:
        return [normalise(request.query)], ProviderUsage()
    explained = terms_in(context_of(request).meaning, ports.glossary) if claim.step == "synonym" else {}
    terms = {name: term.explanation for name, term in explained.items()}
    return write_texts(claim, request, ports, terms=terms)


def documents_by_query(
    branches: Mapping[str, str], chosen: Route, claim: Claim, request: ReportSearch, ports: ReportPorts
) -> dict[str, tuple[str, ...]]:
    """Return the reports that each query is searched in, given the branch that each query is of.

    A sub-question is searched in those of the chosen reports that it names itself, or in all if it names none of them.
    """
    documents = dict.fromkeys(branches, chosen.documents)
    if SUBQUESTION not in branches.values() or request.documents is not None:
        return documents
    cards = ports.reports.cards(request.collection)
    for query, branch in branches.items():
        if branch == SUBQUESTION:
            own = route_of(query, cards, request, claim.submitted)
            documents[query] = tuple(sorted(set(chosen.documents).intersection(own.documents))) or chosen.documents
    return documents
