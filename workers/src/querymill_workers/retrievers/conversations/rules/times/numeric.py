"""Dates in figures: 3/4, 3/4/2026, 13.2.2026, "from 3/4 to 3/9". Which figure is the month is told by evidence.

*Decided*: a figure above twelve is a day, and tells the order of the other dates in the question, too. Else Chinese
has the month first, then the caller's locale decides, then the usage where the caller's time zone is. Where nothing
says it, the month comes first. Dates with dots have the day first.
"""

import re
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from typing import Final, Literal

from querymill_workers.retrievers.conversations.rules.times.english import Rule, rule
from querymill_workers.retrievers.conversations.rules.times.spans import TimeSpan, day, latest

Order = Literal["month first", "day first"]

_LAST_MONTH: Final = 12
#: 24/7, 16/9 and 21/9 are no days.
_RATIOS: Final = frozenset({(24, 7), (16, 9), (21, 9), (16, 10)})
_CENTURY: Final = 2000
#: What is of a day if it follows at once: "the 7/14 standup".
TALK: Final = (
    "(?= *(?:$|[,?!;)]|(?:did|do|we|i|you|was|were|about|standup|meeting|session|chat|conversation|discussion|decision"
    "|call|work|incident|outage)s?(?![A-Za-z])))"
)
_FIGURES: Final = re.compile(
    r"(?<![0-9A-Za-z/.-])([0-9]{1,2})([/.-])([0-9]{1,2})(?:\2(?:[0-9]{4}|[0-9]{2}))?(?![0-9/])"
)
_HAN: Final = re.compile("[\u4e00-\u9fff]")
#: Zones, or how they begin, where people write the month first; in the rest of the world the day comes first.
_MONTH_FIRST_ZONES: Final = (
    "US/", "America/Adak", "America/Anchorage", "America/Boise", "America/Chicago", "America/Denver",
    "America/Detroit", "America/Indiana", "America/Juneau", "America/Kentucky", "America/Los_Angeles",
    "America/Louisville", "America/Menominee", "America/Metlakatla", "America/New_York", "America/Nome",
    "America/North_Dakota", "America/Phoenix", "America/Puerto_Rico", "America/Sitka", "America/Yakutat",
    "Pacific/Guam", "Pacific/Honolulu", "Asia/Chongqing", "Asia/Harbin", "Asia/Manila", "Asia/Pyongyang", "Asia/Seoul",
    "Asia/Shanghai", "Asia/Taipei", "Asia/Tokyo", "Asia/Ulaanbaatar", "Asia/Urumqi", "Europe/Budapest",
    "Europe/Vilnius", "Japan", "PRC", "ROC", "ROK",
)  # fmt: skip
#: Zones that tell nothing: of no place, or of a country that writes both.
_OPEN_ZONES: Final = (
    "", "UTC", "Etc/", "GMT", "UCT", "Zulu", "Universal", "Greenwich", "Canada/", "America/Toronto", "America/Montreal",
    "America/Vancouver", "America/Edmonton", "America/Winnipeg", "America/Halifax", "America/Regina",
    "America/St_Johns",
)  # fmt: skip
_MONTH_FIRST_LANGUAGES: Final = frozenset(("zh", "ja", "ko", "hu", "lt", "mn"))
_MONTH_FIRST_PLACES: Final = frozenset(("us", "ph", "gu", "pr", "cn", "tw", "jp", "kr", "hu", "lt"))


def order_of(text: str, *, zone: str, locale: str | None = None) -> Order:
    """Tell which figure of a question's dates is the month.

    Args:
        text: The question.
        zone: The name of the caller's time zone, "" if it has none.
        locale: The caller's locale, such as en-GB, if it is known.
    """
    seen = {_told(int(first), int(second)) for first, _, second in _FIGURES.findall(text)} - {None}
    if len(seen) == 1:
        return "day first" if "day first" in seen else "month first"
    if _HAN.search(text):
        return "month first"
    return (locale and _of_locale(locale)) or _of_zone(zone)


def _told(first: int, second: int) -> Order | None:
    if (first, second) in _RATIOS or first > _LAST_MONTH < second:
        return None
    return "day first" if first > _LAST_MONTH else "month first" if second > _LAST_MONTH else None


def _of_locale(locale: str) -> Order | None:
    """Return the order of a locale; None for a language that is written in places of both orders."""
    language, *others = re.split("[-_.@]", locale.lower())
    place = next((part for part in others if len(part) == 2), None)  # a country has two letters
    if place is not None and language != "c":
        return "month first" if place in _MONTH_FIRST_PLACES else "day first"
    if language in _MONTH_FIRST_LANGUAGES:
        return "month first"
    return None if language in {"en", "c", "posix", "*", ""} else "day first"


def _of_zone(zone: str) -> Order:
    is_open = not zone or any(zone == of or (of.endswith("/") and zone.startswith(of)) for of in _OPEN_ZONES)
    return "month first" if is_open or zone.startswith(_MONTH_FIRST_ZONES) else "day first"


@lru_cache(maxsize=2)
def rules(order: Order) -> tuple[Rule, ...]:
    """Return the rules for dates in figures in an order."""

    def read(
        of: Callable[[re.Match[str], datetime, Order], TimeSpan | None],
    ) -> Callable[[re.Match[str], datetime], TimeSpan | None]:
        return lambda match, now: of(match, now, order)

    return tuple((pattern, read(span_of)) for pattern, span_of in _RULES)


def _month_and_day(match: re.Match[str], now: datetime, order: Order) -> TimeSpan:
    number, written = _ordered(int(match["first"]), int(match["second"]), order)
    return latest(now, lambda year: day(date(year, number, written)))


def _bare_date(match: re.Match[str], now: datetime, order: Order) -> TimeSpan | None:
    """Read 7/14 where it is a day and nothing else: one of its numbers is no month, and no such ratio is known."""
    written = (int(match["first"]), int(match["second"]))
    return None if max(written) <= _LAST_MONTH or written in _RATIOS else _month_and_day(match, now, order)


def _whole_date(match: re.Match[str], _: datetime, order: Order) -> TimeSpan:
    return day(_date_of(match["first"], match["second"], match["year"], "day first" if match["by"] == "." else order))


def _range(match: re.Match[str], now: datetime, order: Order) -> TimeSpan:
    """Return the days from one date to another, the latest that have begun if no year is named."""
    named = match["past_year"] or match["year"]
    first = _ordered(int(match["first"]), int(match["second"]), order)
    last = _ordered(int(match["third"]), int(match["fourth"]), order)

    def of(year: int) -> TimeSpan:
        end = date(_year(match["past_year"]) if match["past_year"] else year + int(last < first), *last)
        return TimeSpan(day(date(year, *first)).start, day(end).end)

    if not named:
        return latest(now, of)
    begins = _year(match["year"]) if match["year"] else _year(named) - int(last < first)
    return of(begins)


def _date_of(first: str, second: str, year: str, order: Order) -> date:
    return date(_year(year), *_ordered(int(first), int(second), order))


def _year(written: str) -> int:
    return int(written) + (_CENTURY if len(written) < len("2000") else 0)


def _ordered(first: int, second: int, order: Order) -> tuple[int, int]:
    """Return the month and the day of two figures."""
    is_day_first = first > _LAST_MONTH or (order == "day first" and second <= _LAST_MONTH)
    return (second, first) if is_day_first else (first, second)


_N: Final = "[0-9]{1,2}"
_YEAR: Final = "(?:(?:19[89]|20[0-9])[0-9])"
_TO: Final = "(?: ?[-–—~～] ?| (?:to|and|until|till|through) | ?[到至] ?)"
_DAYS: Final = (
    f"(?P<first>{_N})/(?P<second>{_N})(?:/(?P<year>{_YEAR}|[0-9]{{2}}))?{_TO}"
    f"(?P<third>{_N})/(?P<fourth>{_N})(?:/(?P<past_year>{_YEAR}|[0-9]{{2}}))?"
)
#: What stands before or after a date in figures in Chinese, whose words have no spaces between them.
_BEFORE_ZH: Final = "(?<=[在于自从到至])"
_AFTER_ZH: Final = "(?= ?(?:那天|当天|之前|以前|之后|以后|以来|到 ?[0-9]|至 ?[0-9]))"

_RULES: Final = (
    *(
        (rule(pattern, lambda _match, _now: None)[0], span_of)
        for pattern, span_of in (
            (
                "(?:on|since|before|after|until|till|through|from|to|by) (?P<at>)"
                f"(?P<first>{_N})/(?P<second>{_N})(?!/)",
                _month_and_day,
            ),
            (f"(?:the )?(?P<first>{_N})/(?P<second>{_N})(?!/){TALK}", _bare_date),
            (f"(?P<first>{_N})(?P<by>[/.-])(?P<second>{_N})(?P=by)(?P<year>{_YEAR})", _whole_date),
            (
                "(?:on|since|before|after|until|till|through|from|to|by) (?P<at>)"
                f"(?P<first>{_N})(?P<by>[/.])(?P<second>{_N})(?P=by)(?P<year>[0-9]{{2}})",
                _whole_date,
            ),
            (f"(?:from|between) (?P<at>){_DAYS}", _range),
            (f"{_DAYS}{TALK}", _range),
        )
    ),
    (re.compile(f"{_BEFORE_ZH} ?(?P<first>{_N})/(?P<second>{_N})(?![0-9/])"), _month_and_day),
    (re.compile(f"(?<![0-9/.A-Za-z-])(?P<first>{_N})/(?P<second>{_N}){_AFTER_ZH}"), _month_and_day),
    (re.compile(f"(?<![0-9/.A-Za-z-]){_DAYS}(?=[\u4e00-\u9fff])"), _range),
)
