"""Days that are counted in English: "3–7 March", "two Fridays ago", "Friday two weeks ago", the weekend before last."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from querymill_workers.retrievers.conversations.rules.times.english import (
    COUNT,
    MONTH,
    MONTHS,
    WEEKDAY,
    WEEKDAYS,
    YEAR,
    Rule,
    count_of,
    rule,
)
from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    FEW,
    WEEK,
    TimeSpan,
    day,
    latest,
    latest_weekday,
    month,
    week,
    weekend,
)

_NUMBER: Final = f"(?:(?P<n>{COUNT})|(?:a )?(?P<couple>couple)(?: of)?)"
_NUMBER_OR_FEW: Final = f"(?:{_NUMBER}|(?:a )?(?P<few>few|several)(?: of)?)"
_ENDING: Final = "(?P<ordinal>st|nd|rd|th)?"
_FIRST: Final = f"(?P<day>[12][0-9]|3[01]|0?[1-9]){_ENDING}"
_LAST: Final = "(?P<last>[12][0-9]|3[01]|0?[1-9])(?:st|nd|rd|th)?(?![0-9A-Za-z:%])"
#: "May 3 to 2 days ago" ends some days ago, and not on the second.
_NO_COUNT: Final = (
    f"(?! *(?:minute|min|hour|hr|day|week|month|quarter|year|{WEEKDAY.replace('?P<weekday>', '?:')})s?(?![a-z]))"
)
_TO: Final = "(?: ?[-–—~] ?| (?:to|until|till|through) (?:the )?)"
_AND: Final = " and (?:the )?"
#: Months that are words, too: in small letters they need a sign that a date is meant.
_AMBIGUOUS: Final = frozenset({"march", "may", "mar"})


def _days(match: re.Match[str], now: datetime) -> TimeSpan | None:
    """Return days up to one of a month: from the month before if the first number is the higher one."""
    return _from_to(match, now, before=1, after=0)


def _days_after_month(match: re.Match[str], now: datetime) -> TimeSpan | None:
    """Return days from one of a month on: to the month after if the first number is the higher one."""
    return _from_to(match, now, before=0, after=1)


def _from_to(match: re.Match[str], now: datetime, *, before: int, after: int) -> TimeSpan | None:
    first, last, number = int(match["day"]), int(match["last"]), MONTHS[match["month"].lower().rstrip(".")]
    if match["month"] in _AMBIGUOUS and not (match["year"] or match["ordinal"]):
        return None
    turns = int(last < first)

    def of(year: int) -> TimeSpan:
        begins = month(year, number - turns * before).start.date().replace(day=first)
        ends = month(year, number + turns * after).start.date().replace(day=last)
        return TimeSpan(day(begins).start, day(ends).end)

    return of(int(match["year"])) if match["year"] else latest(now, of)


def _so_many_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "two Fridays ago" is the Friday before the latest one; today does not count."""
    least, most = _counts(match)
    spans = [_back(match, now, count) for count in {count_of(match["least"] or str(least)), most}]
    return TimeSpan(min(span.start for span in spans), max(span.end for span in spans))


def _last_ones(match: re.Match[str], now: datetime) -> TimeSpan:
    """*Decided*: "the last two Fridays" is from the Friday before the latest one to that; today does not count."""
    return TimeSpan(_back(match, now, _counts(match)[1]).start, _back(match, now, 1).end)


def _counts(match: re.Match[str]) -> tuple[int, int]:
    if match["few"]:
        return FEW
    count = count_of(match["n"] or match["couple"])
    return count, count


def _back(match: re.Match[str], now: datetime, count: int) -> TimeSpan:
    if match["weekday"] is None:
        return weekend(now, count)
    former = latest_weekday(now - DAY, WEEKDAYS[match["weekday"].lower()])
    return replace(day((former.start - (count - 1) * WEEK).date()), every=None)


def _weekday_weeks_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    monday = week(now.date() - count_of(match["n"] or match["couple"]) * WEEK).start.date()
    return day(monday + WEEKDAYS[match["weekday"].lower()] * DAY)


def _weekend_before_last(_: re.Match[str], now: datetime) -> TimeSpan:
    return weekend(now, 2)


RULES: Final[tuple[Rule, ...]] = (
    rule(f"(?:the )?{_FIRST}(?:{_TO}|{_AND}){_LAST} (?:of )?{MONTH}(?:,? {YEAR})?", _days),
    rule(f"{MONTH} (?:the )?{_FIRST}{_TO}{_LAST}{_NO_COUNT}(?:,? {YEAR})?", _days_after_month),
    rule(f"between (?P<at>){MONTH} (?:the )?{_FIRST}{_AND}{_LAST}{_NO_COUNT}(?:,? {YEAR})?", _days_after_month),
    rule(f"(?:(?P<least>{COUNT}) (?:or|to) )?{_NUMBER_OR_FEW} (?:{WEEKDAY}|weekend)s? (?:ago|back)", _so_many_ago),
    rule(f"(?:the |these )?(?:last|past|previous) {_NUMBER_OR_FEW} (?:{WEEKDAY}|weekend)s", _last_ones),
    rule(f"{WEEKDAY},? {_NUMBER} weeks? (?:ago|back)", _weekday_weeks_ago),
    rule(f"{_NUMBER} weeks? (?:ago|back),? (?:on )?{WEEKDAY}", _weekday_weeks_ago),
    rule("(?:the )?weekend before last", _weekend_before_last),
)
