"""The reporting periods that a text names: years, and quarters of a year.

A report has one period; a question may name a set: "2019 to 2022", "Q1 2022 compared with Q1 2021", 近三年.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Final

from querymill_shared.values import value

_FIRST_YEAR: Final = 1990
_YEAR_DIGITS: Final = "(?:199[0-9]|20[0-9]{2})"
_YEAR: Final = re.compile(
    rf"""
    (?: (?<![0-9A-Z$€£¥]) | (?<=FY) | (?<=Q[1-4]) | (?<=[1-4]Q) )
    (?P<year>{_YEAR_DIGITS})
    (?! [0-9%] | \ % | ,[0-9]{{3}}(?![0-9]) | \.[0-9]++(?!\.)  # a longer number, a percentage; not 2022.12.31
      | [B-DGI-PR-Z] | [AE](?=[0-9A-Z]) | F(?=[0-9A-XZ]) | H(?![12])  # a word, an id; not 2022Q3, 2022H1, 2022FY, 2022E
      | \ ?(?:MILLION|BILLION|MN|BN)(?![A-Z]) | \ ?[万亿元家个人名] )
    (?: [/-](?P<until>[0-9]{{2}})(?! [0-9] | [-/.][0-9] ) )?   # 2021/22; not 2011-12-31
    """,
    re.VERBOSE,
)
_SHORT_YEAR: Final = re.compile(
    r"""
    (?: (?<![A-Z])FY\ ?'? | (?<![0-9A-Z])[1-4]Q\ ?'? | (?<![A-Z])Q[1-4]\ ?' )
    (?P<short>[0-9]{2})
    (?! [0-9%A-DG-PR-Z] | [.,][0-9] | -[KQ](?![A-Z0-9]) )      # not FY 10-K
    """,
    re.VERBOSE,
)
_CHINESE_YEAR: Final = re.compile("(?P<numerals>[一二][〇零○一二三四五六七八九]{3})(?=\\ ?[年财])")
_CHINESE_DIGITS: Final = str.maketrans("〇零○一二三四五六七八九", "000123456789")

_QUARTER: Final = re.compile(
    rf"""
    (?<![A-Z])Q(?P<after>[1-4])(?! [0-9] | \.[0-9] )
    | (?<![A-Z])Q(?P<glued>[1-4])(?={_YEAR_DIGITS})
    | (?<![0-9A-Z.])(?P<before>[1-4])Q(?![A-EG-Z])
    | (?<![0-9A-Z])(?P<word>FIRST|SECOND|THIRD|FOURTH|1ST|2ND|3RD|4TH)[\ -]QUARTER(?![A-Z])
    | (?P<chinese>[一二三四1-4])(?:季度|季报|季(?!节))
    | (?<![A-Z])H(?P<half>[12])(?![0-9A-Z])
    | (?<![0-9A-Z])(?P<half_word>FIRST|SECOND)[\ -]HALF(?![A-Z])
    | (?P<half_chinese>[上下])半年 | (?P<interim>半年报|中报)
    """,
    re.VERBOSE,
)
_QUARTERS: Final = {
    name: quarter
    for names in ("1 2 3 4", "一 二 三 四", "FIRST SECOND THIRD FOURTH", "1ST 2ND 3RD 4TH")
    for quarter, name in enumerate(names.split(), start=1)
}
_HALVES: Final = {"1": 2, "2": 4, "FIRST": 2, "SECOND": 4, "上": 2, "下": 4, "半年报": 2, "中报": 2}

_YEARS_AGO: Final = (
    (2, re.compile("(?<![A-Z])YEAR BEFORE LAST(?![A-Z])|(?<![以0-9一二两三四五六七八九十几多年])前年")),
    (1, re.compile("(?<![A-Z])LAST (?:FISCAL )?YEAR(?![A-Z])|去年|上一年")),
    (0, re.compile("(?<![A-Z])THIS (?:FISCAL )?YEAR(?![A-Z])|今年|本年")),
)
# The text between a quarter and its year, as in "Q2 of FY2024" and "third quarter of fiscal year 2021".
_NEAR: Final = 24
#: No year that is so near begins farther away.
_REACH: Final = 2 * _NEAR
_LINK: Final = re.compile(r"(?:[\s,'.()/-]|OF|IN|THE|FOR|FISCAL|CALENDAR|YEAR|FY|财年|财|年度|年|第|的)*+")

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


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A year, or one quarter (1 to 4) of it. A half-year counts as the quarter that it ends with."""

    year: int
    quarter: int | None

    def __str__(self) -> str:
        return f"{self.year}" if self.quarter is None else f"{self.year} Q{self.quarter}"


@value
class Mention:
    """A year or a quarter, and where a text names it."""

    value: int
    start: int
    end: int


@value
class NamedPeriods:
    """The periods that a question names, in order of time. ``recent``: it asks for so many latest years instead."""

    periods: tuple[Period, ...] = ()
    recent: int | None = None

    def __bool__(self) -> bool:
        return bool(self.periods or self.recent)

    def __str__(self) -> str:
        return f"latest {self.recent} years" if self.recent else ", ".join(map(str, self.periods))


def find_period(text: str, today: date) -> Period | None:
    """Return the period that a question (or the label of a report) is about, or None if it names none.

    Of several years the latest counts, because its report holds the comparisons. A quarter belongs to the year next
    to it ("Q2 of FY2024", "2021年第三季度"), or to the latest year if no year is next to it. "Last year", "去年" and
    similar words count back from today, but only if no year is written. Decided: a year is 1990 to 2099, written
    with four digits (not money, not a percentage, not part of a longer number), with two digits after FY or a
    quarter, or in Chinese numerals before 年. 2021/22 and 2021-22 mean 2022.

    Args:
        text: Chinese, English or both.
        today: Today's date where the caller is.
    """
    upper = in_capitals(text)
    years = years_in(upper)
    quarters = quarters_in(upper)
    if not years:
        year = year_ago(upper, today)
        return None if year is None else Period(year, max((quarter.value for quarter in quarters), default=None))
    latest = max(year.value for year in years)
    return Period(latest, _quarter_of(latest, years, quarters, upper))


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


def in_capitals(text: str) -> str:
    """Return a text as the patterns of periods read it: in capitals, with plain hyphens and apostrophes."""
    plain = unicodedata.normalize("NFKC", text).translate({0x2019: "'", 0x2018: "'", 0x2013: "-", 0x2014: "-"})
    # Only letters that keep their length are raised to upper case, so that positions stay valid.
    return "".join(raised if len(raised := letter.upper()) == 1 else letter for letter in plain)


def year_ago(text: str, today: date) -> int | None:
    """Return the year that "last year", "去年" and similar words mean, in a text in capitals."""
    ago = next((back for back, pattern in _YEARS_AGO if pattern.search(text)), None)
    return None if ago is None else today.year - ago


def years_in(text: str) -> list[Mention]:
    """Return the years that a text in capitals writes, in its order."""
    found = [Mention(_ending(match), match.start(), match.end()) for match in _YEAR.finditer(text)]
    for match in _SHORT_YEAR.finditer(text):
        short = int(match["short"])
        value = 2000 + short if short < _FIRST_YEAR % 100 else 1900 + short
        found.append(Mention(value, match.start("short"), match.end()))
    for match in _CHINESE_YEAR.finditer(text):
        value = int(match["numerals"].translate(_CHINESE_DIGITS))
        found.append(Mention(value, match.start(), match.end()))
    found.sort(key=lambda year: year.start)
    return [year for year in found if _FIRST_YEAR <= year.value < _FIRST_YEAR + 110]


def _ending(match: re.Match[str]) -> int:
    """Return the year of a match, or the second year of a range such as 2021/22."""
    year = int(match["year"])
    return year + 1 if match["until"] and int(match["until"]) == (year + 1) % 100 else year


def quarters_in(text: str) -> list[Mention]:
    """Return the quarters and half-years that a text in capitals names."""
    found: list[Mention] = []
    for match in _QUARTER.finditer(text):
        name, written = match.lastgroup, match[match.lastgroup or 0]
        known: Mapping[str, int] = _HALVES if name in {"half", "half_word", "half_chinese", "interim"} else _QUARTERS
        found.append(Mention(known[written], match.start(), match.end()))
    return found


def _quarter_of(latest: int, years: Sequence[Mention], quarters: Sequence[Mention], text: str) -> int | None:
    """Return the latest quarter that belongs to the latest year. ``years`` are in the order of the text."""
    starts = [year.start for year in years]
    going: list[int] = []
    for quarter in quarters:
        after = bisect_left(starts, quarter.start)
        near = [
            (distance, -year.start, year.value)
            for year in years[max(after - 1, 0) : after + 1]
            if (distance := gap(quarter, year, text)) is not None
        ]
        if not near or min(near)[2] == latest:
            going.append(quarter.value)
    return max(going, default=None)


def gap(quarter: Mention, year: Mention, text: str) -> int | None:
    """Return the number of characters between a quarter and its year, or None if they do not belong together."""
    first, second = (quarter, year) if quarter.start < year.start else (year, quarter)
    if second.start - first.end > _NEAR:
        return None
    between = text[first.end : second.start]
    return len(between) if _LINK.fullmatch(between) else None


def near_to(quarter: Mention, years: Sequence[Mention], starts: Sequence[int]) -> Sequence[Mention]:
    """Return the years in whose neighbourhood a quarter stands. They are in the order of the text, as their starts."""
    return years[bisect_left(starts, quarter.start - _REACH) : bisect_left(starts, quarter.end + _REACH)]


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
