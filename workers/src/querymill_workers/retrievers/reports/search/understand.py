"""What a branch searches: the reports that the question is about, and the queries in place of the question."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.reports.search import HYDE, ORIGINAL, STANDALONE, SUBQUESTION, ReportSearch, Routing
from querymill_workers.jobs.deadline import caller_of, naming_lateness
from querymill_workers.jobs.faults import CallFailed
from querymill_workers.jobs.in_chat import context_of, shown_turns
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.reports.ports import SPACE, ReportPorts
from querymill_workers.retrievers.reports.rules.glossary import terms_in
from querymill_workers.retrievers.reports.rules.routing import ReportCard, Route, route
from querymill_workers.retrievers.reports.rules.unknown_names import unknown_names
from querymill_workers.text.queries import distinct, normalise, wrapped
from querymill_workers.text.reasoning import without_reasoning
from querymill_workers.text.replies import has_table, is_refusal
from querymill_workers.text.words import words

#: If more documents are routed, they are searched together and not one by one.
MAX_DOCUMENTS_ONE_BY_ONE: Final = 200
#: A longer hypothetical answer is cut to this, in characters.
MAX_HYDE_CHARS: Final = 2_000
#: The chat model is cut this long before the deadline, in seconds: the branch still has to embed and to search.
SEARCH_MARGIN_S: Final = 0.12
#: A question that nobody asked to have rewritten waits for the chat model no longer than this, in seconds.
STANDALONE_PATIENCE_S: Final = 3.0


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


def write_queries(claim: Claim, request: ReportSearch, ports: ReportPorts) -> tuple[list[str], ProviderUsage]:
    """Return the queries of this branch: the question itself, or what the chat model makes of it.

    If the job has ended while the model wrote, there are none.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply holds no new query.
        Refused: Another call would not help.
    """
    if claim.step == ORIGINAL:
        return [normalise(request.query)], ProviderUsage()
    if claim.step == STANDALONE:
        return write_standalone(claim, request, ports)
    question = context_of(request).meaning
    explained = terms_in(question, ports.glossary) if claim.step == "synonym" else {}
    terms = {name: term.explanation for name, term in explained.items()}
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model")
    reply, usage = ports.rewriter.rewrite(claim.step, question, terms=terms, caller=caller)
    if caller.has_left():
        return [], usage
    said = without_reasoning(reply).strip()
    if is_refusal(said):
        raise CallFailed("the chat model refused to reply")
    if claim.step == HYDE and not has_table(said):
        raise CallFailed("the chat model's reply held no table")
    proposed = [said[:MAX_HYDE_CHARS]] if claim.step == HYDE else wrapped(said)
    fresh = distinct(request.query, proposed)[1:]
    if not fresh:
        raise CallFailed("the chat model's reply held no new query")
    return fresh, usage


def write_standalone(claim: Claim, request: ReportSearch, ports: ReportPorts) -> tuple[list[str], ProviderUsage]:
    """Return the question as a chat model rewrites it from the turns before it.

    There is none if the question stands alone, or if it says nothing new: every word of it is one of the question's.
    Nor is there one if nobody asked for it and no chat model writes answers: one that is too small for that is too
    small for this.

    Raises:
        Unavailable: The chat model did not reply in time.
        Failed: Its reply holds no question.
        Refused: Another call would not help.
    """
    said, is_default = shown_turns(request), request.standalone is None
    if not said or (is_default and not ports.answers.writes):
        return [], ProviderUsage()
    patience_s = STANDALONE_PATIENCE_S if is_default else None
    caller = caller_of(claim, request, ports, margin_s=SEARCH_MARGIN_S, what="the chat model", patience_s=patience_s)
    with naming_lateness(caller):
        reply, usage = ports.rewriter.write_standalone(request.query, said, caller=caller)
    written = wrapped(reply, limit=1)
    if not written:
        raise CallFailed("the chat model's reply held no question")
    says_more = not set(words(written[0])) <= set(words(request.query))
    return (written if says_more and not caller.has_left() else []), usage


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
