"""Choose the reports that a question is about, by the companies and the period that it names."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import cache, partial

from querymill_workers.retrievers.reports.rules.companies import CompanyId, CompanyIndex, names_of
from querymill_workers.retrievers.reports.rules.periods import Period, find_period


@dataclass(frozen=True, slots=True)
class ReportCard:
    """A report without its pages. ``sha1`` is its id; ``period`` is as its source wrote it."""

    sha1: str
    title: str
    company: str
    aliases: tuple[str, ...]
    period: str | None
    published_at: date | None


@dataclass(frozen=True, slots=True)
class Route:
    """The documents to search (sha1, sorted), and the reason.

    ``companies`` are those that the question is about, as their reports write them. ``period`` is the period that it
    names, even if there is no report of it. ``whole_collection`` is true if neither narrowed the search.
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

    Companies: the given company, else every company whose name or alias is in the question, else all. A given
    company without reports selects no documents, because another company's report would be worse than none.
    Period: the given period, else the one in the question. For each company, the reports of that quarter, else of
    that year, else of the year after (reports repeat the previous year's figures), else all of them. If no company
    is named, the reports of the period, else all. A company that the question names and that has no report goes
    unnoticed unless it is given.

    Args:
        question: Chinese, English or both.
        cards: All reports of the collection, in any order.
        company: The company that the caller asks about, if given.
        period: The period that the caller asks about, in any form that `find_period` reads, if given.
        today: Today's date where the caller is, for "last year".
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
    """Group the reports by company, under the alphabetically first of its names."""
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
    """Choose reports by period, and describe the choice in words."""
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
    """Return the period of a report: from its label, else from its title, else the year of publication."""
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
