"""Choose the reports that a question is about, by the companies and the periods that it names."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import date
from functools import cache, lru_cache, partial

from querymill_shared.values import value
from querymill_workers.retrievers.reports.rules.aliases import meant_by_short_forms
from querymill_workers.retrievers.reports.rules.companies import CompanyId, CompanyIndex, names_of
from querymill_workers.retrievers.reports.rules.periods import NamedPeriods, Period, find_period, find_periods


@value
class ReportCard:
    """A report without its pages. ``sha1`` is its id; ``period`` is as its source wrote it."""

    sha1: str
    title: str
    company: str | None
    aliases: tuple[str, ...]
    period: str | None
    published_at: date | None


@value
class Side:
    """One of the companies and periods that a question compares, and its documents (sha1, sorted)."""

    name: str
    documents: tuple[str, ...]


@value
class Route:
    """The documents to search (sha1, sorted), and the reason.

    ``companies`` are those that the question is about, as their reports write them. ``period`` names the periods that
    it asks about, even if there is no report of them. ``whole_collection`` is true if neither narrowed the search.
    ``sides`` are the companies and periods that the question compares, if several have documents of their own.
    ``missing`` names each company and period that was asked about and has no report.
    """

    documents: tuple[str, ...]
    companies: tuple[str, ...]
    period: str | None
    reason: str
    whole_collection: bool
    sides: tuple[Side, ...] = ()
    missing: tuple[str, ...] = ()


@value
class _OfPeriods:
    """What was chosen among reports: the reports of each period, the latest first, in words, and what is missing."""

    sides: Sequence[tuple[str, Sequence[ReportCard]]]
    words: str
    missing: tuple[str, ...]

    @property
    def cards(self) -> list[ReportCard]:
        return [card for _, cards in self.sides for card in cards]


def route(
    question: str,
    cards: Sequence[ReportCard],
    *,
    company: str | None = None,
    period: str | None = None,
    today: date,
    before: Sequence[str] = (),
    goes_on_about: bool = False,
) -> Route:
    """Choose the reports that a question is about.

    Companies: the given company, else every company whose name, alias or unique short form is in the question, else
    all. A given company without reports selects no documents, because another company's report would be worse than
    none. Periods: those given, else those in the question (`find_periods`). For each company and each period, the
    reports of that quarter, else of that year, else of the year after (reports repeat the previous year's figures);
    if there are none of any period, all of them. If no company is named, the reports of the periods, else all.

    Args:
        question: Chinese, English or both.
        cards: All reports of the collection, in any order.
        company: The company that the caller asks about, if given.
        period: The periods that the caller asks about, in any form that `find_periods` reads, if given.
        today: Today's date where the caller is, for "last year".
        before: The turns of a chat that the question leans on, the nearest first. What it does not name itself, a
            company or a period, is that of the first of these that names one.
        goes_on_about: Whether the question is about the company of these turns beside any that it names: "did it buy
            Solvik?" and "how does it compare with Solvik?" are.
    """
    return _route(question, tuple(cards), company, period, today, tuple(before), goes_on_about=goes_on_about)


@lru_cache(maxsize=64)  # all branches of a job ask the same at once
def _route(
    question: str,
    cards: tuple[ReportCard, ...],
    company: str | None,
    period: str | None,
    today: date,
    before: tuple[str, ...],
    *,
    goes_on_about: bool,
) -> Route:
    wanted = find_periods(question if period is None else period, today)
    if period is None and not wanted:
        wanted = next((named for turn in before if (named := find_periods(turn, today))), wanted)
    note = "" if period is None or wanted else f"; {period!r} names no period"
    about = _companies_of(question, cards, company)
    source = "named in the question" if company is None else "given"
    if company is None and (not about or goes_on_about):
        earlier = next((found for turn in before if (found := _companies_of(turn, cards, None))), frozenset())
        source = source if about else "named before the question"
        about = about | earlier
    if about:
        return _of_companies(_by_company(cards, about), wanted, today, f"company {source}", note)
    if company is None:
        return _of_no_company(cards, wanted, today, note)
    reason = f"the collection has no report of {company}{note}"
    return Route((), (), _shown(wanted), reason, whole_collection=False, missing=(f"no report of {company}",))


def _companies_of(question: str, cards: Sequence[ReportCard], company: str | None) -> Set[CompanyId]:
    # Aliases are other names of a company. Without one there is nobody whom they name.
    named_by = {(card.company, card.aliases) for card in cards if card.company is not None}
    index = CompanyIndex.of(named_by, text=question if company is None else company)
    if company is not None:
        return index.named(company)
    named = index.found_in(question)
    return named | meant_by_short_forms(question, _companies_in(cards), named=named)


def _companies_in(cards: Iterable[ReportCard]) -> set[str]:
    return {card.company for card in cards if card.company is not None}


def _by_company(cards: Sequence[ReportCard], about: Set[CompanyId]) -> dict[str, list[ReportCard]]:
    """Group the reports by company, under the alphabetically first of its names."""
    ids = names_of(about, _companies_in(cards))
    groups: dict[CompanyId, list[ReportCard]] = defaultdict(list)
    for card in cards:
        if card.company is not None and (identity := ids.get(card.company)) is not None:
            groups[identity].append(card)
    return {min(_companies_in(group)): group for group in groups.values()}


def _of_companies(
    by_company: Mapping[str, Sequence[ReportCard]], wanted: NamedPeriods, today: date, why: str, note: str
) -> Route:
    companies = sorted(by_company)
    chosen = {company: _of_periods(by_company[company], wanted, today) for company in companies}
    sides = [(f"{company} {name}".strip(), cards) for company in companies for name, cards in chosen[company].sides]
    reason = "; ".join([why, *(f"{company}: {chosen[company].words}" for company in companies)]) + note
    missing = tuple(f"{company}: {part}" for company in companies for part in chosen[company].missing)
    documents = _documents(card for _, cards in sides for card in cards)
    return Route(
        documents, tuple(companies), _shown(wanted), reason,
        whole_collection=False, sides=_sides(sides), missing=missing,
    )  # fmt: skip


def _of_no_company(cards: Sequence[ReportCard], wanted: NamedPeriods, today: date, note: str) -> Route:
    chosen = _of_periods(cards, wanted, today, with_next_year=False)
    documents = _documents(chosen.cards)
    whole = len(documents) == len(_documents(cards))
    reason = f"no company of the collection named; {chosen.words}{note}"
    return Route(
        documents, (), _shown(wanted), reason,
        whole_collection=whole, sides=_sides(chosen.sides), missing=chosen.missing,
    )  # fmt: skip


def _documents(cards: Iterable[ReportCard]) -> tuple[str, ...]:
    return tuple(sorted({card.sha1 for card in cards}))


def _sides(named: Sequence[tuple[str, Sequence[ReportCard]]]) -> tuple[Side, ...]:
    """Return the sides that have documents of their own, if there are several."""
    sides: list[Side] = []
    for name, cards in named:
        documents = _documents(cards)
        if documents and all(documents != side.documents for side in sides):
            sides.append(Side(name, documents))
    return tuple(sides) if len(sides) > 1 else ()


def _of_periods(
    cards: Sequence[ReportCard], wanted: NamedPeriods, today: date, *, with_next_year: bool = True
) -> _OfPeriods:
    """Choose reports by periods, and describe the choice in words."""
    if not wanted:
        return _OfPeriods([("", cards)], "all reports, no period named", ())
    read = cache(partial(find_period, today=today))
    periods = [_period(card, read) for card in cards]
    asked = wanted.periods or _latest(periods, wanted.recent or 0)
    sides: list[tuple[str, Sequence[ReportCard]]] = []
    words: list[str] = []
    missing: list[str] = []
    for period in sorted(asked, reverse=True):
        found, taken = _of_period(cards, periods, period, with_next_year=with_next_year)
        if found:
            sides.append((str(taken), found))
        if taken == period:
            words.append(f"reports of {period}")
        else:
            missing.append(f"no report of {period}" + (f", reports of {taken} instead" if taken else ""))
            words.append(f"reports of {taken} (there is none of {period})" if taken else f"none of {period}")
    if not sides:
        return _OfPeriods([("", cards)], f"all reports, there is none of {_shown(wanted)}", tuple(missing))
    return _OfPeriods(sides, ", ".join(words), tuple(missing))


def _latest(periods: Sequence[Period | None], years: int) -> tuple[Period, ...]:
    """Return the latest years that there are reports of."""
    known = sorted({period.year for period in periods if period is not None}, reverse=True)
    return tuple(Period(year, None) for year in known[:years])


def _of_period(
    cards: Sequence[ReportCard], periods: Sequence[Period | None], wanted: Period, *, with_next_year: bool
) -> tuple[Sequence[ReportCard], Period | None]:
    """Return the reports of a period, or of the one that may hold its figures, and which that is."""
    years = (wanted.year, wanted.year + 1) if with_next_year else (wanted.year,)
    for preferred in dict.fromkeys(Period(year, quarter) for year in years for quarter in (wanted.quarter, None)):
        chosen = [card for card, own in zip(cards, periods, strict=True) if _within(own, preferred)]
        if chosen:
            return chosen, preferred
    return (), None


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


def _shown(wanted: NamedPeriods) -> str | None:
    return str(wanted) if wanted else None
