"""Which reports a question is about: those of the companies and the period it names."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import cache, partial

from querymill_workers.retrievers.reports.rules.companies import CompanyId, CompanyIndex, names_of
from querymill_workers.retrievers.reports.rules.periods import Period, find_period


@dataclass(frozen=True, slots=True)
class ReportCard:
    """What is known of a report without reading it; ``sha1`` is its id, ``period`` as its source wrote it."""

    sha1: str
    title: str
    company: str
    aliases: tuple[str, ...]
    period: str | None
    published_at: date | None


@dataclass(frozen=True, slots=True)
class Route:
    """The documents to search (sha1, sorted), and why these.

    ``companies`` are those the question is about, as their reports write them; ``period`` is the one it names,
    whether or not there is a report of it. ``whole_collection`` says that neither narrowed the search.
    """

    documents: tuple[str, ...]
    companies: tuple[str, ...]
    period: str | None
    reason: str
    whole_collection: bool


def route(
    question: str,
    cards: Sequence[ReportCard],
    *,
    company: str | None = None,
    period: str | None = None,
    today: date,
) -> Route:
    """Choose the reports that a question is about.

    Companies: the given one (unknown: no documents, another company's report being worse than none), else every
    one whose name or alias stands in the question, else all. Period: the given one, else the question's. Per
    company, the reports of that quarter, else of that year, else of the year after (reports show the previous
    year's figures), else all of them. Where no company is named, the reports of the period, else all. A
    company that is named but that no card has cannot be noticed unless it is given.

    Args:
        question: Chinese, English or both.
        cards: Every report of the collection, in any order.
        company: The company the caller asks about, if it says so.
        period: The period the caller asks about, in the words of ``find_period``.
        today: The calendar day in the asker's zone, for "last year".
    """
    wanted = find_period(question if period is None else period, today)
    note = "" if period is None or wanted else f"; {period!r} names no period"
    names = {(card.company, card.aliases) for card in cards}
    index = CompanyIndex.of(names, text=question if company is None else company)
    about = index.found_in(question) if company is None else index.named(company)
    if about:
        source = "named in the question" if company is None else "given"
        return _of_companies(_by_company(cards, about), wanted, today, f"company {source}", note)
    if company is None:
        return _of_no_company(cards, wanted, today, note)
    reason = f"the collection has no report of {company}{note}"
    return Route((), (), _shown(wanted), reason, whole_collection=False)


def _by_company(cards: Sequence[ReportCard], about: Set[CompanyId]) -> dict[str, list[ReportCard]]:
    """Group the companies' cards, under the first in the alphabet of the names a company goes by."""
    ids = names_of(about, {card.company for card in cards})
    groups: dict[CompanyId, list[ReportCard]] = defaultdict(list)
    for card in cards:
        if (identity := ids.get(card.company)) is not None:
            groups[identity].append(card)
    return {min(card.company for card in group): group for group in groups.values()}


def _of_companies(
    by_company: Mapping[str, Sequence[ReportCard]], wanted: Period | None, today: date, why: str, note: str
) -> Route:
    companies = sorted(by_company)
    documents: set[str] = set()
    reasons = [why]
    for company in companies:
        chosen, reports = _of_period(by_company[company], wanted, today)
        documents.update(card.sha1 for card in chosen)
        reasons.append(f"{company}: {reports}")
    reason = "; ".join(reasons) + note
    return Route(tuple(sorted(documents)), tuple(companies), _shown(wanted), reason, whole_collection=False)


def _of_no_company(cards: Sequence[ReportCard], wanted: Period | None, today: date, note: str) -> Route:
    chosen, reports = _of_period(cards, wanted, today, with_next_year=False)
    documents = tuple(sorted({card.sha1 for card in chosen}))
    reason = f"no company of the collection named; {reports}{note}"
    return Route(documents, (), _shown(wanted), reason, whole_collection=len(chosen) == len(cards))


def _of_period(
    cards: Sequence[ReportCard], wanted: Period | None, today: date, *, with_next_year: bool = True
) -> tuple[Sequence[ReportCard], str]:
    """Choose cards by period, and say in words which they are."""
    if wanted is None:
        return cards, "all reports, no period named"
    read = cache(partial(find_period, today=today))
    periods = [_period(card, read) for card in cards]
    years = (wanted.year, wanted.year + 1) if with_next_year else (wanted.year,)
    for preferred in dict.fromkeys(Period(year, quarter) for year in years for quarter in (wanted.quarter, None)):
        chosen = [card for card, own in zip(cards, periods, strict=True) if _within(own, preferred)]
        if chosen:
            missing = "" if preferred == wanted else f" (there is none of {wanted})"
            return chosen, f"reports of {preferred}{missing}"
    return cards, f"all reports, there is none of {wanted}"


def _period(card: ReportCard, read: Callable[[str], Period | None]) -> Period | None:
    """The period of a report: as labelled, else as titled, else the year it was published in."""
    found = read(card.period or "") or read(card.title)
    if found is None and card.published_at is not None:
        return Period(card.published_at.year, None)
    return found


def _within(period: Period | None, preferred: Period) -> bool:
    if period is None or period.year != preferred.year:
        return False
    return preferred.quarter is None or period.quarter == preferred.quarter


def _shown(period: Period | None) -> str | None:
    return None if period is None else str(period)
