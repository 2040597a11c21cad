"""The reporting periods that a question names, as a set: "2019 to 2022", "Q1 2022 compared with Q1 2021", 近三年."""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.reports.rules.periods import (
    Mention,
    Period,
    gap,
    in_capitals,
    near_to,
    quarters_in,
    year_ago,
    years_in,
)

#: The longest range of years that is meant year by year.
MAX_RANGE: Final = 15
#: How many characters before a range "between" may stand.
_BEFORE: Final = 60
_TO: Final = r"(?:TO|THROUGH|UNTIL|TILL|UP TO|THRU|-|~|至|到)"
_FILL: Final = r"(?:\s|[,.'()]|FISCAL|CALENDAR|YEARS?|THE|END OF|FY|财年|财|年度|年)*+"
_RANGE: Final = re.compile(f"{_FILL}{_TO}{_FILL}")
_BETWEEN: Final = re.compile(f"(?<![A-Z])BETWEEN{_FILL}$")
_AND: Final = re.compile(f"{_FILL}(?:AND|和|与|及){_FILL}")
_QUARTERS_TO: Final = re.compile(rf"\s*{_TO}\s*")
_QUARTERS_AND: Final = re.compile(r"\s*(?:,|AND|&|,\s*AND|、|和|与|及)\s*")
_NUMBERS: Final = {
    word: number
    for words in ("TWO THREE FOUR FIVE SIX SEVEN EIGHT NINE TEN", "二 三 四 五 六 七 八 九 十")
    for number, word in enumerate(words.split(), start=2)
} | {"两": 2}
_NUMBER: Final = "|".join(["1?[0-9]", *_NUMBERS])
_RECENT: Final = re.compile(
    rf"(?<![A-Z])(?:PAST|LAST|PREVIOUS|RECENT|LATEST|MOST RECENT|PRIOR)\s+(?P<english>{_NUMBER})[\s-]+"
    r"(?:FISCAL |FINANCIAL |REPORTED |CALENDAR )?YEARS?(?![A-Z])"
    rf"|(?:最近|过去|近|前)(?P<chinese>{_NUMBER})个?(?:财|会计)?年"
)


@value
class NamedPeriods:
    """The periods that a question names, in order of time. ``recent``: it asks for so many latest years instead."""

    periods: tuple[Period, ...] = ()
    recent: int | None = None

    def __bool__(self) -> bool:
        return bool(self.periods or self.recent)

    def __str__(self) -> str:
        return f"latest {self.recent} years" if self.recent else ", ".join(map(str, self.periods))


def find_periods(text: str, today: date) -> NamedPeriods:
    """Return all periods that a question names.

    "2021 and 2022" names two years and "2019 to 2022" four. "Q1 2022 compared with Q1 2021" names two quarters. A
    quarter belongs to the year next to it; one without a year belongs to every year that has no quarter of its own.
    "The past three years" are the three years up to the latest that is written ("the past three years up to 2022": 2020
    to 2022), and if none is written, the latest three that there are reports of. What counts as a year or a quarter is
    as in `find_period`.

    Args:
        text: Chinese, English or both.
        today: Today's date where the caller is, for "last year".
    """
    upper = in_capitals(text)
    written = years_in(upper)
    recent = _recent(upper)
    if not written and recent:
        return NamedPeriods(recent=recent)
    quarters = quarters_in(upper)
    if not written:
        year = year_ago(upper, today)
        if year is None:
            return NamedPeriods()
        return NamedPeriods(tuple(_with_quarters({year: set()}, {q.value for q in quarters})))
    named: dict[int, set[int]] = {year: set() for year in _years(written, upper)}
    if recent:
        named |= {year: set() for year in range(max(named) - recent + 1, max(named)) if year not in named}
    loose = _give_quarters(named, written, quarters, upper)
    return NamedPeriods(tuple(_with_quarters(named, loose)))


def _recent(text: str) -> int | None:
    found = _RECENT.search(text)
    if found is None:
        return None
    written = found["english"] or found["chinese"]
    number = _NUMBERS.get(written) or int(written)
    return number if number <= MAX_RANGE else None


def _years(written: Sequence[Mention], text: str) -> set[int]:
    """Return the years that are written, and those between the ends of a range."""
    years = {year.value for year in written}
    for first, last in pairwise(written):
        between = text[first.end : last.start]
        before = text[max(first.start - _BEFORE, 0) : first.start]
        is_range = _RANGE.fullmatch(between) or (_AND.fullmatch(between) and _BETWEEN.search(before))
        if is_range and 0 < last.value - first.value <= MAX_RANGE:
            years.update(range(first.value, last.value))
    return years


def _give_quarters(
    named: Mapping[int, set[int]], years: Sequence[Mention], quarters: Sequence[Mention], text: str
) -> set[int]:
    """Give each quarter to the year next to it, and return those that are next to none."""
    loose: set[int] = set()
    starts = [year.start for year in years]
    for chain in _chains(quarters, text):
        near = [
            (distance, -year.start, year.value)
            for quarter in chain
            for year in near_to(quarter, years, starts)
            if (distance := gap(quarter, year, text)) is not None
        ]
        (named[min(near)[2]] if near else loose).update(_filled(chain, text))
    return loose


def _chains(quarters: Sequence[Mention], text: str) -> list[list[Mention]]:
    """Group quarters that are listed together, as in "Q2 and Q3 of 2022"."""
    chains: list[list[Mention]] = []
    for quarter in sorted(quarters, key=lambda mention: mention.start):
        between = text[chains[-1][-1].end : quarter.start] if chains else None
        if between is not None and (_QUARTERS_TO.fullmatch(between) or _QUARTERS_AND.fullmatch(between)):
            chains[-1].append(quarter)
        else:
            chains.append([quarter])
    return chains


def _filled(chain: Sequence[Mention], text: str) -> set[int]:
    found = {quarter.value for quarter in chain}
    for first, last in pairwise(chain):
        if _QUARTERS_TO.fullmatch(text[first.end : last.start]):
            found.update(range(first.value, last.value))
    return found


def _with_quarters(named: Mapping[int, set[int]], loose: set[int]) -> list[Period]:
    periods: list[Period] = []
    for year in sorted(named):
        own: set[int] = named[year] or loose
        periods.extend([Period(year, quarter) for quarter in sorted(own)] or [Period(year, None)])
    return periods
