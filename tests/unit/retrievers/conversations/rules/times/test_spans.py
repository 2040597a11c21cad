"""Spans of the calendar, by hand and as properties."""

from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.times.spans import (
    DAY,
    FEW,
    WEEK,
    YEAR,
    TimeSpan,
    Unit,
    ago,
    day,
    days,
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


def at(text: str) -> datetime:
    """Read a local time, which has no zone."""
    return datetime.fromisoformat(text)


#: A Wednesday.
NOW = at("2026-05-20 10:30")
UNITS: list[Unit] = ["minute", "hour", "day", "week", "month", "quarter", "year"]
moments = st.datetimes(at("1900-01-01"), at("2100-01-01"))


def span(start: str, end: str) -> TimeSpan:
    return TimeSpan(at(start), at(end))


@pytest.mark.parametrize(
    ("unit", "back", "start", "end"),
    [
        ("minute", 10, "2026-05-20 10:15", "2026-05-20 10:25"),  # 5 minutes on either side
        ("minute", 60, "2026-05-20 09:15", "2026-05-20 09:45"),  # a quarter of 60
        ("hour", 2, "2026-05-20 07:30", "2026-05-20 09:30"),  # 1 hour on either side
        ("hour", 8, "2026-05-20 00:30", "2026-05-20 04:30"),  # a quarter of 8
        ("day", 0, "2026-05-20", "2026-05-21"),
        ("day", 3, "2026-05-17", "2026-05-18"),
        ("week", 0, "2026-05-18", "2026-05-25"),
        ("week", 3, "2026-04-27", "2026-05-04"),
        ("month", 0, "2026-05-01", "2026-06-01"),
        ("month", 5, "2025-12-01", "2026-01-01"),
        ("quarter", 0, "2026-04-01", "2026-07-01"),
        ("quarter", 2, "2025-10-01", "2026-01-01"),
        ("year", 1, "2025-01-01", "2026-01-01"),
    ],
)
def test_so_long_ago_is_the_whole_unit_then(unit: Unit, back: int, start: str, end: str) -> None:
    assert ago(NOW, unit, back) == span(start, end)


@pytest.mark.parametrize(
    ("unit", "count", "start"),
    [
        ("minute", 30, "2026-05-20 10:00"),
        ("hour", 2, "2026-05-20 08:30"),
        ("day", 3, "2026-05-17"),
        ("week", 1, "2026-05-13"),
        ("month", 3, "2026-02-20"),
        ("quarter", 1, "2026-02-20"),
        ("year", 1, "2025-05-20"),
    ],
)
def test_the_past_units_end_with_today(unit: Unit, count: int, start: str) -> None:
    assert past(NOW, unit, count) == span(start, "2026-05-21")


@pytest.mark.parametrize(
    ("now", "unit", "count", "start"),
    [
        (at("2026-03-31"), "month", 1, at("2026-02-28")),
        (at("2024-03-31"), "month", 1, at("2024-02-29")),
        (at("2026-05-31"), "month", 3, at("2026-02-28")),
        (at("2024-02-29"), "year", 1, at("2023-02-28")),
    ],
)
def test_a_month_back_from_a_day_that_it_does_not_have_begins_on_its_last(
    now: datetime, unit: Unit, count: int, start: datetime
) -> None:
    assert past(now, unit, count).start == start


def test_an_estimate_spans_from_its_earliest_unit_to_its_latest() -> None:
    assert guessed_ago(NOW, "day", 2, 3) == span("2026-05-17", "2026-05-19")
    assert guessed_ago(NOW, "week", *FEW) == span("2026-04-06", "2026-05-11")
    assert guessed_ago(NOW, "day", 4, 4) == ago(NOW, "day", 4)


@pytest.mark.parametrize(
    ("year", "number", "first"),
    [(2026, 1, date(2026, 1, 1)), (2026, 0, date(2025, 12, 1)), (2026, -11, date(2025, 1, 1)),
     (2026, 12, date(2026, 12, 1)), (2026, 13, date(2027, 1, 1)), (2026, 25, date(2028, 1, 1))],
)  # fmt: skip
def test_months_beyond_a_year_are_of_the_years_around_it(year: int, number: int, first: date) -> None:
    assert month(year, number).start.date() == first


def test_a_leap_year_has_a_longer_february() -> None:
    assert month(2024, 2).end - month(2024, 2).start == timedelta(days=29)
    assert month(2026, 2).end - month(2026, 2).start == timedelta(days=28)
    assert months(2026, 11, 3) == span("2026-11-01", "2027-02-01")


def test_the_latest_weekday_is_today_or_one_of_the_six_days_before() -> None:
    found = [latest_weekday(NOW, number) for number in range(7)]
    assert [found_day.start.day for found_day in found] == [18, 19, 20, 14, 15, 16, 17]
    assert {found_day.every for found_day in found} == {WEEK}


@pytest.mark.parametrize(
    ("now", "saturday"),
    [("2026-05-20", 16), ("2026-05-22", 16), ("2026-05-23", 23), ("2026-05-24", 23), ("2026-05-25", 23)],
)
def test_the_latest_weekend_is_the_one_that_has_begun(now: str, saturday: int) -> None:
    found = latest_weekend(at(now))
    assert (found.start.day, found.end - found.start, found.every) == (saturday, 2 * DAY, WEEK)


def test_a_month_without_a_year_is_the_latest_that_has_begun() -> None:
    assert latest(NOW, lambda year: month(year, 5)) == replace(span("2026-05-01", "2026-06-01"), every=YEAR)
    assert latest(NOW, lambda year: month(year, 6)) == replace(span("2025-06-01", "2025-07-01"), every=YEAR)


def test_a_day_is_narrowed_to_its_hours_and_only_a_whole_day_is_one() -> None:
    evening = day(NOW.date()).hours(18, 24)
    assert evening == span("2026-05-20 18:00", "2026-05-21")
    assert day(NOW.date()).is_a_day
    assert not evening.is_a_day
    assert not days(NOW.date(), 2).is_a_day
    assert not TimeSpan(NOW, NOW + DAY).is_a_day  # 24 hours, from half past ten


@pytest.mark.parametrize("unit", UNITS)
def test_before_the_calendar_begins_there_is_no_span(unit: Unit) -> None:
    with pytest.raises((OverflowError, ValueError)):
        ago(at("0003-01-01"), unit, 10**9)
    with pytest.raises((OverflowError, ValueError)):
        past(at("0003-01-01"), unit, 10**9)


@given(moments, st.sampled_from(UNITS), st.integers(0, 999))
def test_every_span_ago_is_not_empty_and_a_longer_time_ago_is_never_later(now: datetime, unit: Unit, back: int) -> None:
    found, earlier = ago(now, unit, back), ago(now, unit, back + 1)
    assert found.start < found.end
    assert earlier.start <= found.start
    assert earlier.end <= found.end


@given(moments, st.sampled_from(["day", "week", "month", "quarter", "year"]), st.integers(0, 99))
def test_units_of_the_calendar_follow_each_other_without_a_gap(now: datetime, unit: Unit, back: int) -> None:
    assert ago(now, unit, back + 1).end == ago(now, unit, back).start
    assert ago(now, unit, 0).start <= now < ago(now, unit, 0).end


@given(moments, st.sampled_from(UNITS), st.integers(1, 99))
def test_the_past_units_hold_now_and_grow_with_their_number(now: datetime, unit: Unit, count: int) -> None:
    found = past(now, unit, count)
    assert found.start <= now < found.end
    assert past(now, unit, count + 1).start <= found.start
    assert found.end == day(now.date()).end


@given(moments, st.integers(0, 9))
def test_a_weekend_is_the_end_of_its_calendar_week(now: datetime, back: int) -> None:
    found = weekend(now, back)
    assert found.start.weekday() == 5
    assert found.end == week(now.date() - back * WEEK).end
