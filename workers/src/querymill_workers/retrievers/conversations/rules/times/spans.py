"""Spans of the calendar in local time: days, weeks, months, and spans some units ago."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Final, Literal, assert_never

from querymill_shared.values import value

Unit = Literal["minute", "hour", "day", "week", "month", "quarter", "year"]

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(weeks=1)
YEAR: Final = timedelta(days=365)
#: The lowest and the highest number that "a few" stands for.
FEW: Final = (2, 6)


@value
class TimeSpan:
    """From ``start`` (inclusive) to ``end`` (exclusive), as local times without a zone.

    ``every`` is the period of an expression that does not say which of its spans is meant: a week for "on Tuesday".
    """

    start: datetime
    end: datetime
    every: timedelta | None = None

    @property
    def is_a_day(self) -> bool:
        """Whether this is one whole day, which a time of day can narrow."""
        return self.end - self.start == DAY and self.start.time() == time.min

    def hours(self, first: float, past: float) -> "TimeSpan":
        """Narrow a day to the hours from ``first`` to ``past``."""
        return TimeSpan(self.start + timedelta(hours=first), self.start + timedelta(hours=past), self.every)


def day(of: date) -> TimeSpan:
    """Return the span of one day."""
    start = datetime.combine(of, time.min)
    return TimeSpan(start, start + DAY)


def days(first: date, count: int) -> TimeSpan:
    """Return the span of ``count`` days."""
    start = datetime.combine(first, time.min)
    return TimeSpan(start, start + count * DAY)


def week(of: date) -> TimeSpan:
    """Return the calendar week of a day, Monday to Sunday."""
    return days(of - of.weekday() * DAY, 7)


def month(year: int, number: int) -> TimeSpan:
    """Return the span of a month. Numbers below 1 or above 12 are months of the years before or after."""
    return months(year, number, 1)


def months(year: int, number: int, count: int) -> TimeSpan:
    """Return the span of ``count`` months, beginning with month ``number``."""
    return TimeSpan(_first_of(year, number), _first_of(year, number + count))


def ago(now: datetime, unit: Unit, back: int) -> TimeSpan:
    """Return the calendar unit ``back`` units before the current one.

    *Decided*: "three weeks ago" is the whole calendar week, and "three days ago" the whole day. Minutes and hours have
    a margin on both sides, of a quarter of their number but at least 5 minutes or one hour: nobody remembers exactly.

    Raises:
        OverflowError, ValueError: The span is before the beginning of the calendar.
    """
    match unit:
        case "minute":
            return _around(now - timedelta(minutes=back), timedelta(minutes=max(5, back / 4)))
        case "hour":
            return _around(now - timedelta(hours=back), timedelta(hours=max(1, back / 4)))
        case "day":
            return day(now.date() - back * DAY)
        case "week":
            return week(now.date() - back * WEEK)
        case "month":
            return month(now.year, now.month - back)
        case "quarter":
            return months(now.year, (now.month - 1) // 3 * 3 + 1 - 3 * back, 3)
        case "year":
            return months(now.year - back, 1, 12)
        case _:
            assert_never(unit)


def guessed_ago(now: datetime, unit: Unit, least: int, most: int) -> TimeSpan:
    """Return the span of an estimate such as "two or three days ago", from the earliest day to the latest."""
    return TimeSpan(ago(now, unit, most).start, ago(now, unit, least).end)


def past(now: datetime, unit: Unit, count: int) -> TimeSpan:
    """Return the span of "the past ``count`` units", up to the end of today.

    It begins that many days, weeks, months or years before today, or that many minutes or hours before now.

    Raises:
        OverflowError, ValueError: The span is before the beginning of the calendar.
    """
    today = day(now.date())
    match unit:
        case "minute":
            return TimeSpan(now - timedelta(minutes=count), today.end)
        case "hour":
            return TimeSpan(now - timedelta(hours=count), today.end)
        case "day":
            return TimeSpan(today.start - count * DAY, today.end)
        case "week":
            return TimeSpan(today.start - count * WEEK, today.end)
        case "month" | "quarter":
            return TimeSpan(months_before(today.start, count * (3 if unit == "quarter" else 1)), today.end)
        case "year":
            return TimeSpan(months_before(today.start, 12 * count), today.end)
        case _:
            assert_never(unit)


def weekend(now: datetime, back: int) -> TimeSpan:
    """Return Saturday and Sunday of the calendar week ``back`` weeks ago."""
    return days(week(now.date() - back * WEEK).start.date() + 5 * DAY, 2)


def latest(now: datetime, candidate: Callable[[int], TimeSpan]) -> TimeSpan:
    """Return the latest span that has begun, of those that ``candidate`` gives for this year and the last."""
    this_year = candidate(now.year)
    return replace(this_year if this_year.start <= now else candidate(now.year - 1), every=YEAR)


def latest_weekday(now: datetime, number: int) -> TimeSpan:
    """Return the latest day with this number in the week, 0 for Monday: today or one of the six days before."""
    return replace(day(now.date() - (now.weekday() - number) % 7 * DAY), every=WEEK)


def latest_weekend(now: datetime) -> TimeSpan:
    """Return the latest weekend that has begun."""
    saturday = 5
    return replace(weekend(now, int(now.weekday() < saturday)), every=WEEK)


def latest_day_of_month(now: datetime, number: int) -> TimeSpan:
    """Return the latest day with this number in its month, today or earlier, within the last three months.

    Raises:
        ValueError: No month has such a day.
    """
    for back in range(3):
        of = _first_of(now.year, now.month - back)
        with suppress(ValueError):
            found = day(of.replace(day=number).date())
            if found.start <= now:
                return replace(found, every=31 * DAY)
    raise ValueError(number)


def season(year: int, name: str) -> TimeSpan:
    """Return the three months of a season that begins in a year, north of the equator: winter is from December on.

    Raises:
        KeyError: There is no such season.
    """
    return months(year, {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[name], 3)


def around(middle: datetime, margin: timedelta) -> TimeSpan:
    """Return the whole days from a margin before a moment to a margin after it; hours for a margin below a day."""
    if margin < DAY:
        return TimeSpan(middle - margin, middle + margin)
    return TimeSpan(day((middle - margin).date()).start, day((middle + margin).date()).end)


def and_a_half_ago(now: datetime, unit: Unit, count: int) -> TimeSpan:
    """Return the span of "``count`` and a half units ago".

    *Decided*: "a month and a half ago" is 45 days, and "a year and a half ago" 18 months, give or take a sixth.

    Raises:
        OverflowError, ValueError: The span is before the beginning of the calendar.
        KeyError: The unit is minutes or quarters, which nobody halves.
    """
    if unit == "year":
        return around(months_before(now, 12 * count + 6), (2 * count + 1) * 30 * DAY)
    length = {"hour": DAY / 24, "day": DAY, "week": WEEK, "month": 30 * DAY}[unit]
    return around(now - (count + 0.5) * length, max(length * (count + 0.5) / 6, DAY / 48))


def _first_of(year: int, number: int) -> datetime:
    return datetime(year + (number - 1) // 12, (number - 1) % 12 + 1, 1)  # noqa: DTZ001  # local, without a zone


def months_before(start: datetime, count: int) -> datetime:
    """Return the same day of the month ``count`` months earlier, or the last day of that month if it is shorter."""
    first = _first_of(start.year, start.month - count)
    last_day = (_first_of(first.year, first.month + 1) - DAY).day
    return first.replace(day=min(start.day, last_day))


def _around(middle: datetime, margin: timedelta) -> TimeSpan:
    return TimeSpan(middle - margin, middle + margin)
