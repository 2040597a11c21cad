"""Time expressions in English, each with its span of the calendar."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Final

from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    FEW,
    WEEK,
    TimeSpan,
    Unit,
    ago,
    day,
    guessed_ago,
    latest,
    latest_weekday,
    latest_weekend,
    month,
    months,
    past,
    week,
    weekend,
)

#: A pattern, and a function that gives the span of a match. None means no time, and hides the words from other rules.
Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime], TimeSpan | None]]

_B: Final = "(?<![A-Za-z0-9_./-])"
_E: Final = r"(?:(?=T[0-9]{2}:)|(?![A-Za-z0-9_(]|[-/.][A-Za-z0-9]))"
_COUNTS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final = (
    {name: number for number, name in enumerate(_COUNTS, start=1)}
    | {name: 10 * number for number, name in enumerate(_TENS, start=2)}
    | {"a": 1, "an": 1, "couple": 2}
)
COUNT: Final = f"[0-9]{{1,3}}|an?|(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_COUNTS[:9])}))?|{'|'.join(_COUNTS)}"
_NUMBER: Final = f"(?:(?P<n>{COUNT})|(?:a )?(?P<couple>couple)(?: of)?|(?:a )?(?P<few>few|several))"
#: From one number to another: 2-3, two or three.
_TO: Final = "(?: ?[-–—~] ?| (?:or|to|and) )"
_UNIT: Final = "(?P<unit>minute|min|hour|hr|day|week|month|quarter|year)s?"
_UNITS: Final[Mapping[str, Unit]] = {
    "minute": "minute", "min": "minute", "hour": "hour", "hr": "hour", "day": "day", "week": "week",
    "month": "month", "quarter": "quarter", "year": "year",
}  # fmt: skip
_WEEKDAY_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS: Final = {name: number for number, name in enumerate(_WEEKDAY_NAMES)} | {
    "mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4,
}  # fmt: skip
WEEKDAY: Final = f"(?P<weekday>{'|'.join(_WEEKDAY_NAMES)})"
#: The day of the week in a date, which adds nothing to it.
_NAMED: Final = f"(?:(?:{'|'.join(_WEEKDAY_NAMES)}),? )?"
_MONTH_NAMES: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTHS: Final = {name[:letters]: number for number, name in enumerate(_MONTH_NAMES, start=1) for letters in (3, 4, 9)}
MONTH: Final = f"(?P<month>{'|'.join(_MONTH_NAMES)}|(?:jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\\.?)"
YEAR: Final = "(?P<year>(?:19[89]|20[0-9])[0-9])(?![0-9%])"
_DAY: Final = "(?P<day>[12][0-9]|3[01]|0?[1-9])(?P<ordinal>st|nd|rd|th)?(?![0-9A-Za-z.:%])"
_PREPOSITION: Final = (
    "(?P<before>in|during|since|before|after|until|till|from|to|of|by|between|and|through|early|mid|late) (?:the )?"
)
#: What follows a number that is not a year: "in 2000 lines".
_COUNTED: Final = (
    "(?! *(?:lines?|tokens?|rows?|files?|words?|characters?|chars|bytes|[kmgKMG]?[bB]|ms|s|seconds|users|requests|items"
    "|messages|steps|epochs|times)(?![A-Za-z]))"
)
#: Words that are months only if the context says so.
_AMBIGUOUS: Final = frozenset({"march", "may", "mar", "august"})
_PARTS: Final = {
    "morning": (6.0, 12.0), "noon": (11.0, 14.0), "afternoon": (12.0, 18.0),
    "evening": (18.0, 24.0), "night": (18.0, 24.0),
}  # fmt: skip


def rule(pattern: str, span_of: Callable[[re.Match[str], datetime], TimeSpan | None]) -> Rule:
    """Return a rule whose pattern stands for itself, in any case."""
    # ASCII, because otherwise "ſ" and "ı" match "s" and "i", and a day spelled with them is in no table.
    return re.compile(_B + f"(?:{pattern})" + _E, re.IGNORECASE | re.ASCII), span_of


def _unit(match: re.Match[str]) -> Unit:
    return _UNITS[match["unit"].lower()]


def _so_long_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    return guessed_ago(now, _unit(match), *_counts(match))


def _past(match: re.Match[str], now: datetime) -> TimeSpan:
    return past(now, _unit(match), _counts(match)[1])


def _counts(match: re.Match[str]) -> tuple[int, int]:
    if match["few"]:
        return FEW
    count = count_of(match["n"] or match["couple"])
    return count, count


def count_of(written: str) -> int:
    """Return the number that is written in digits or words."""
    if written.isdecimal():
        return int(written)
    return sum(_NUMBERS[word] for word in re.split("[- ]", written.lower()))


def _between_ago(match: re.Match[str], now: datetime) -> TimeSpan:
    counts = (count_of(match["least"]), *_counts(match))
    return guessed_ago(now, _unit(match), min(counts), max(counts))


def _named_unit(match: re.Match[str], now: datetime) -> TimeSpan:
    back = 0 if match["which"].lower() in {"this", "current"} else 1
    return weekend(now, back) if match["unit"].lower() == "weekend" else ago(now, _unit(match), back)


def _weekday(match: re.Match[str], now: datetime) -> TimeSpan | None:
    which = (match["which"] or "").lower()
    number = WEEKDAYS[match["weekday"].lower()]
    if which in {"next", "every", "each"}:
        return None
    if which == "this":
        return day(week(now.date()).start.date() + number * DAY)
    if which in {"last", "past", "previous"}:
        return replace(latest_weekday(now - DAY, number), every=None)
    return latest_weekday(now, number)


def _weekday_of_week(match: re.Match[str], now: datetime) -> TimeSpan:
    back = WEEK if match["which"].lower() == "last" else 0 * DAY
    monday = week(now.date() - back).start.date()
    return day(monday + WEEKDAYS[match["weekday"].lower()] * DAY)


def _month_of(match: re.Match[str]) -> int:
    return MONTHS[match["month"].lower().rstrip(".")]


def _is_word(match: re.Match[str]) -> bool:
    """Whether "may" or "march" is likely to be a verb, because it is in lower case."""
    return match["month"].lower() in _AMBIGUOUS and match["month"].islower()


def _month_with_year(match: re.Match[str], now: datetime) -> TimeSpan:
    year = match["year"]
    return month(int(year) if year else now.year - (1 if match["which"].lower() == "last" else 0), _month_of(match))


def _month_alone(match: re.Match[str], now: datetime) -> TimeSpan | None:
    number, before = _month_of(match), match["before"].lower()
    if before not in {"in", "since", "during"} and _is_word(match):
        return None
    found = latest(now, lambda year: month(year, number))
    if before == "last":
        return month(found.start.year - int(found.end > now), number)
    return found


def _capital_month(match: re.Match[str], now: datetime) -> TimeSpan | None:
    number = _month_of(match)
    return latest(now, lambda year: month(year, number)) if match["month"][0].isupper() else None


def _date(match: re.Match[str], now: datetime) -> TimeSpan | None:
    number, written = _month_of(match), match["day"]
    if match["year"]:
        return day(date(int(match["year"]), number, int(written)))
    if _is_word(match) and not match["ordinal"]:
        return None
    return latest(now, lambda year: day(date(year, number, int(written))))


def _iso(match: re.Match[str], _: datetime) -> TimeSpan:
    year, number, written = int(match["year"]), int(match["number"]), match["day"]
    if not 1 <= number <= len(_MONTH_NAMES):
        raise ValueError(number)
    return day(date(year, number, int(written))) if written else month(year, number)


def _iso_week(match: re.Match[str], _: datetime) -> TimeSpan:
    return week(date.fromisocalendar(int(match["year"]), int(match["week"]), 1))


def _year(match: re.Match[str], _: datetime) -> TimeSpan:
    return months(int(match["year"]), 1, 12)


def _quarter(match: re.Match[str], now: datetime) -> TimeSpan:
    first = 3 * int(match["quarter"]) - 2
    year = match["year"]
    return months(int(year), first, 3) if year else latest(now, lambda this: months(this, first, 3))


def _this_part(match: re.Match[str], now: datetime) -> TimeSpan:
    return day(now.date()).hours(*_PARTS[(match["part"] or match["night"]).lower()])


def _last_night(_: re.Match[str], now: datetime) -> TimeSpan:
    evening, midnight = _PARTS["night"]
    return day(now.date() - DAY).hours(evening, midnight + 6)


def hours(match: re.Match[str]) -> tuple[float, float] | None:
    """Read a time of day as its first hour and the hour at its end, or return None if there is no such time."""
    if part := match["part"]:
        return _PARTS[part.lower()]
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), match["half"]
    if not (half or match["minute"]) or (half and not 1 <= hour <= _NOON):
        return None
    if half:
        hour = hour % _NOON + (_NOON if half.lower().startswith("p") else 0)
    if hour >= 2 * _NOON or minute >= 60:
        return None
    return hour + minute / 60, hour + minute / 60 + 1


_NOON: Final = 12
_CLOCK: Final = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::[0-9]{2})?)?(?: ?(?P<half>[ap]\.?m)\.?)?"
    "|(?:in the |the )?(?P<part>morning|noon|afternoon|evening|night))(?![A-Za-z0-9:])"
)
#: A time of day right after a day, and one right before a day.
CLOCK: Final = (re.compile(f"(?:T|,? *(?:at |around |about )?){_CLOCK}", re.IGNORECASE | re.ASCII), hours)
CLOCK_BEFORE: Final = re.compile(f"(?<![A-Za-z0-9_.:-]){_CLOCK},?(?: on| of)?(?: the)? *$", re.IGNORECASE | re.ASCII)

RULES: Final[tuple[Rule, ...]] = (
    rule("(?:the )?day before yesterday", lambda _, now: ago(now, "day", 2)),
    rule("yesterday", lambda _, now: ago(now, "day", 1)),
    rule("(?:earlier )?today", lambda _, now: ago(now, "day", 0)),
    rule("last night", _last_night),
    rule("this (?P<part>morning|afternoon|evening)|to(?P<night>night)", _this_part),
    rule("just now|a moment ago", lambda _, now: past(now, "hour", 1)),
    rule(f"{_NUMBER} {_UNIT} (?:ago|back)", _so_long_ago),
    rule(f"(?P<least>{COUNT}){_TO}{_NUMBER} {_UNIT} (?:ago|back)", _between_ago),
    rule("half an hour ago", lambda _, now: ago(now, "minute", 30)),
    rule("half a year ago", lambda _, now: ago(now, "month", 6)),
    rule(f"(?:last|past|previous) (?:(?:{COUNT}){_TO})?{_NUMBER} {_UNIT}", _past),
    rule(f"(?:the last|(?:the )?past) {_UNIT}", lambda match, now: past(now, _unit(match), 1)),
    rule("(?:the )?(?P<unit>week|month|quarter|year) before last", lambda match, now: ago(now, _unit(match), 2)),
    rule("(?P<which>last|previous|this|(?:the )?current) (?P<unit>week|month|quarter|year|weekend)", _named_unit),
    rule("(?:over |on |at )?the weekend", lambda _, now: latest_weekend(now)),
    rule(f"(?:(?P<which>last|past|previous|this|next|every|each) )?{WEEKDAY}", _weekday),
    rule("(?P<which>last|this|next) (?P<weekday>mon|tues?|wed|thu|thurs?|fri)", _weekday),
    rule(f"(?P<which>last|this) week(?:'s|,| on)? {WEEKDAY}", _weekday_of_week),
    rule(f"{WEEKDAY},? (?:of )?(?P<which>last|this) week", _weekday_of_week),
    rule(f"{MONTH},? (?:of )?(?:{YEAR}|(?P<which>last|this) year)", _month_with_year),
    rule(f"(?P<before>last|this) {MONTH}", _month_alone),
    rule(f"{_PREPOSITION}(?P<at>){MONTH}", _month_alone),
    rule("(?P<month>January|February|July|September|October|November|December)", _capital_month),
    rule(f"{_NAMED}{MONTH} (?:the )?{_DAY}(?:,? {YEAR})?", _date),
    rule(f"{_NAMED}(?:the )?{_DAY} (?:of )?{MONTH}(?:,? {YEAR})?", _date),
    rule("(?P<year>(?:19|20)[0-9]{2})(?P<by>[-/])(?P<number>[0-9]{1,2})(?:(?P=by)(?P<day>[0-9]{1,2}))?", _iso),
    rule("(?P<year>(?:19|20)[0-9]{2})-?W(?P<week>[0-5][0-9])", _iso_week),
    rule(f"(?:in|since|during|from|before|after|until|back in) (?:the year )?(?P<at>){YEAR}{_COUNTED}", _year),
    rule(f"Q(?P<quarter>[1-4])(?: of|,)? ?{YEAR}", _quarter),
    rule(f"{YEAR} ?Q(?P<quarter>[1-4])", _quarter),
    rule("(?:in|since|during|from|before|after|until) (?P<at>)Q(?P<quarter>[1-4])(?P<year>)", _quarter),
)
