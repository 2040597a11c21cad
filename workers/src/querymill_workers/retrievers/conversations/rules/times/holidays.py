"""Holidays: "over Christmas", "last Thanksgiving", 国庆, 春节期间. The dates that move come from a library."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Final

import holidays

from querymill_workers.retrievers.conversations.rules.times.chinese import WHICH_YEAR, YEARS_BACK
from querymill_workers.retrievers.conversations.rules.times.spans import TimeSpan, days, latest

#: A pattern, and a function that gives the span of a match.
Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime], TimeSpan | None]]


def _named(country: str, name: str) -> Callable[[int], date]:
    def first_day(year: int) -> date:
        found: list[date] = holidays.country_holidays(country, years=year, language="en_US").get_named(name)
        return min(found)

    return first_day


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


_SPRING_FESTIVAL: Final = (_named("CN", "Spring Festival"), -1, 8)
_NATIONAL_DAY: Final = (_fixed(10, 1), 0, 7)
_MAY_DAY: Final = (_fixed(5, 1), 0, 5)
_MID_AUTUMN: Final = (_named("CN", "Mid-Autumn Festival"), 0, 3)
_DRAGON_BOAT: Final = (_named("CN", "Dragon Boat Festival"), 0, 3)
_NEW_YEAR: Final = (_fixed(1, 1), -1, 3)
_EASTER: Final = (_named("GB", "Good Friday"), 0, 4)
_CHRISTMAS: Final = (_fixed(12, 25), -1, 3)
#: Where each holiday is anchored in a year, how many days later it begins, and how many days it has.
_HOLIDAYS: Final[Mapping[str, tuple[Callable[[int], date], int, int]]] = {
    "christmas": _CHRISTMAS, "xmas": _CHRISTMAS, "圣诞": _CHRISTMAS,
    "thanksgiving": (_named("US", "Thanksgiving"), 0, 4), "感恩节": (_named("US", "Thanksgiving"), 0, 4),
    "easter": _EASTER, "复活节": _EASTER,
    "halloween": (_fixed(10, 31), 0, 1), "万圣节": (_fixed(10, 31), 0, 1),
    "new year's day": _NEW_YEAR, "new year's eve": _NEW_YEAR, "new year's": _NEW_YEAR, "元旦": _NEW_YEAR,
    "chinese new year": _SPRING_FESTIVAL, "spring festival": _SPRING_FESTIVAL, "春节": _SPRING_FESTIVAL,
    "过年": _SPRING_FESTIVAL, "国庆": _NATIONAL_DAY, "十一长假": _NATIONAL_DAY, "golden week": _NATIONAL_DAY,
    "五一": _MAY_DAY, "劳动节": _MAY_DAY, "中秋": _MID_AUTUMN, "端午": _DRAGON_BOAT,
    "清明": (_fixed(4, 4), 0, 3), "双十一": (_fixed(11, 11), 0, 1),
}  # fmt: skip
_ENGLISH: Final = "|".join(name for name in _HOLIDAYS if name.isascii())
_CHINESE: Final = "|".join(name for name in _HOLIDAYS if not name.isascii())


def span_of(name: str, year: int) -> TimeSpan:
    """Return the days of a holiday in a year."""
    anchor, shift, count = _HOLIDAYS[name]
    return days(anchor(year) + timedelta(days=shift), count)


def _english(match: re.Match[str], now: datetime) -> TimeSpan:
    return _of_year(match["holiday"].lower(), match["year"], now)


def _chinese(match: re.Match[str], now: datetime) -> TimeSpan:
    name = match["holiday"]
    if which := match["which"]:
        return span_of(name, now.year - YEARS_BACK[which])
    return _of_year(name, match["year"], now)


def _of_year(name: str, year: str | None, now: datetime) -> TimeSpan:
    return span_of(name, int(year)) if year else latest(now, lambda this: span_of(name, this))


def _the_holidays(_: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "the holidays" are the days from Christmas Eve to New Year's Day."""
    return latest(now, lambda year: days(date(year, 12, 24), 9))


RULES: Final[tuple[Rule, ...]] = (
    (
        re.compile(
            "(?<![A-Za-z0-9_./-])(?:over|during|before|after|since|around|until) "
            "(?P<at>the (?:holidays|holiday (?:season|break)))(?![A-Za-z0-9_/-])",
            re.IGNORECASE | re.ASCII,
        ),
        _the_holidays,
    ),
    # "New year" alone is a wish, and a time only with what stands around it here.
    (
        re.compile(
            r"(?<![A-Za-z0-9_./-])(?:(?:last|this|the) )?"
            rf"(?P<holiday>{_ENGLISH})(?: (?:break|holidays?|weekend|week))?"
            "(?:,? (?P<year>20[0-9]{2}))?(?![A-Za-z0-9_/-])",
            re.IGNORECASE | re.ASCII,
        ),
        _english,
    ),
    (
        re.compile(
            f"(?:{WHICH_YEAR}的?|(?<![0-9])(?P<year>20[0-9]{{2}})年的?|上个?)?"
            rf"(?P<holiday>{_CHINESE})(?:节)?(?:假期|长假|放假|假日)?(?![路街村庄])"
        ),
        _chinese,
    ),
)
