"""Which reports a search looks at: chosen by the request, the filter, and what the question names."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from querymill_shared.contracts.reports.search import ReportSearch, Routing
from querymill_workers.retrievers.reports.ports import SPACE, ReportPorts
from querymill_workers.retrievers.reports.rules.routing import ReportCard, Route, route
from querymill_workers.retrievers.reports.rules.unknown_names import unknown_names
from querymill_workers.text.words import words

#: If more documents are routed, they are searched together and not one by one.
MAX_DOCUMENTS_ONE_BY_ONE = 200


def choose_reports(
    request: ReportSearch, submitted: float, ports: ReportPorts, *, tells_missing: bool = False
) -> Route:
    """Choose the reports to search: those that the request names, or those that the question is about.

    With ``tells_missing``, the route also tells of which company in the question there is no report.
    """
    cards = ports.reports.cards(request.collection)
    if request.filter:
        passing = ports.reports.matching(request.collection, request.filter)
        every, cards = cards, [card for card in cards if card.sha1 in passing]
        chosen = choose_among(cards, request, submitted)
        reason = f"{chosen.reason}; {len(cards)} of {len(every)} reports pass the filter"
        chosen = replace(chosen, reason=reason, whole_collection=False)
    else:
        chosen = choose_among(cards, request, submitted)
    if not tells_missing or request.documents is not None or request.company is not None:
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
    return route(
        request.query, cards, company=request.company, period=request.period, today=today_of(request, submitted)
    )


def own_documents(
    query: str, chosen: Route, request: ReportSearch, submitted: float, ports: ReportPorts
) -> tuple[str, ...]:
    """Return which of the chosen documents a sub-query is about: all of them if it names none of its own."""
    if request.documents is not None:
        return chosen.documents
    cards = ports.reports.cards(request.collection)
    today = today_of(request, submitted)
    own = route(query, cards, company=request.company, period=request.period, today=today)
    return tuple(sorted(set(chosen.documents).intersection(own.documents))) or chosen.documents


def today_of(request: ReportSearch, submitted: float) -> date:
    """Return today's date where the caller is."""
    return request.today or datetime.fromtimestamp(submitted, UTC).date()


def names_without_a_report(request: ReportSearch, cards: Sequence[ReportCard], ports: ReportPorts) -> list[str]:
    """Return names in the question that look like companies, and that neither a card nor any passage has."""
    known = (text for card in cards for text in (card.company or "", card.title, *card.aliases))
    names = unknown_names(request.query, known)
    if not names:
        return []
    # A word of a name that some passage has may be a product, a place or a competitor: nothing is said of it.
    unread = ports.words.near(request.collection, SPACE, sorted({word for name in names for word in words(name)}))
    return [name for name in names if any(word in unread for word in words(name))]


def routing_of(chosen: Route) -> Routing:
    """Describe which reports were searched, how, and why."""
    many = len(chosen.documents) > MAX_DOCUMENTS_ONE_BY_ONE
    how = f"; more than {MAX_DOCUMENTS_ONE_BY_ONE}, so the best passages over all of them, not of each" if many else ""
    return Routing(
        documents=len(chosen.documents),
        companies=chosen.companies,
        period=chosen.period,
        whole_collection=chosen.whole_collection,
        reason=chosen.reason + how,
    )
