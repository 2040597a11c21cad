"""Dates in words, of whichever language: ``Dienstag, 9. Januar 2024 um 22:00:00 UTC``."""

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Final

from querymill_histories.rules.month_names import NUMBER_OF
from querymill_histories.rules.phone_dates import FIRST_HALF, SECOND_HALF

_NAMES: Final = "|".join(re.escape(name) for name in sorted(NUMBER_OF, key=len, reverse=True))
_MONTH: Final = re.compile(rf"(?<![^\W\d_])ב?(?P<name>{_NAMES})(?![^\W\d_])")
_TIME: Final = re.compile(
    rf"(?:(?<!\w)(?P<before>{FIRST_HALF}|{SECOND_HALF})\s*)?(?<![\d.:])(?P<hour>\d{{1,2}})"
    rf"(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?|[.](?P<minute_2>\d\d)[.](?P<second_2>\d\d)"
    rf"|\sh\s(?P<minute_4>\d\d)\smin\s(?P<second_4>\d\d)\ss"
    rf"|\s?[時时시]\s?(?P<minute_3>\d\d)\s?[分분]\s?(?P<second_3>\d\d)\s?[秒초])(?![\d.:])"
    rf"(?:\s*(?P<after>{FIRST_HALF}|{SECOND_HALF})(?!\w))?"
)
_ZONE: Final = re.compile(r"\b(?:UTC|GMT)(?:(?P<sign>[+\-−])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?)?(?![\w:])")
#: Where months are numbers: ``2024年1月9日``, ``2024. 1. 9.``, and ``9 tháng 1, 2024``.
_YEAR_FIRST: Final = re.compile(
    r"(?<!\d)(?P<year>\d{4})\s?[年년./-]\s?(?P<month>\d{1,2})\s?[月월./-]\s?(?P<day>\d{1,2})(?!\d)"
)
_NUMBERED: Final = re.compile(r"(?P<day>\d{1,2})\s(?:tháng|thg)\s(?P<month>\d{1,2}),?\s(?:năm\s)?(?P<year>\d{4})")
_NUMBER: Final = re.compile(r"(?<![\d:])\d+")
#: Years by which the calendar of Thailand is ahead, and the years in which messages are sent.
_BUDDHIST: Final = 543
_YEARS: Final = range(1990, 2200)


def written_moment(text: str, zone: tzinfo) -> datetime | None:
    """Read a day and a time in words. None if a part of them is missing or not understood.

    Args:
        text: ``9 janvier 2024 à 22:00:00 UTC``; a day alone begins at midnight.
        zone: The zone of one that names none.
    """
    text = " ".join(text.split()).strip()
    time = _TIME.search(text)
    rest = text if time is None else f"{text[: time.start()]} {text[time.end() :]}"
    named = _ZONE.search(rest)
    day = _day_in(_ZONE.sub(" ", rest).casefold())
    if day is None:
        return None
    try:
        return datetime(*day, *_clock(time), tzinfo=_offset(named, zone))
    except ValueError:
        return None


def _day_in(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day."""
    figures = _YEAR_FIRST.search(text) or _NUMBERED.search(text)
    if figures is not None:
        year, month, day = map(int, figures.group("year", "month", "day"))
    else:
        # A weekday may look like a month, as the French "mar."; it stands first.
        names = _MONTH.findall(text)
        numbers = _NUMBER.findall(text)
        years = [number for number in numbers if len(number) == 4]
        days = [number for number in numbers if len(number) <= 2]
        if not names or len(years) != 1 or len(days) != 1:
            return None
        year, month, day = int(years[0]), _number_of(names[-1], text), int(days[0])
    year -= _BUDDHIST if year > 2400 else 0
    return (year, month, day) if year in _YEARS else None


def _number_of(name: str, text: str) -> int:
    """Return the number of a month. Its name means October in Croatian, whose years end with a point, else November."""
    is_croatian = name == "listopada" and re.search(r"\d{4}\.", text)
    return 10 if is_croatian else NUMBER_OF[name]


def _clock(time: re.Match[str] | None) -> tuple[int, int, int]:
    if time is None:
        return 0, 0, 0
    hour = int(time["hour"])
    minute = int(time["minute"] or time["minute_2"] or time["minute_3"] or time["minute_4"])
    second = int(time["second"] or time["second_2"] or time["second_3"] or time["second_4"] or 0)
    if half := time["before"] or time["after"]:
        hour = hour % 12 + (12 if re.fullmatch(SECOND_HALF, half) else 0)
    return hour, minute, second


def _offset(named: re.Match[str] | None, zone: tzinfo) -> tzinfo:
    if named is None:
        return zone
    ahead = timedelta(hours=int(named["hours"] or 0), minutes=int(named["minutes"] or 0))
    return timezone(ahead if named["sign"] == "+" else -ahead)
