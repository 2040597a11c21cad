"""Numbers as people read them."""

from datetime import UTC, datetime

import pytest

from querymill.presenting.numbers import day_or_time, laps, quantity


@pytest.mark.parametrize(
    ("number", "units", "said"),
    [
        (1, "pages", "1 page"),
        (2, "pages", "2 pages"),
        (0, "pages", "0 pages"),
        (1, "bytes", "1 byte"),
        (1_284, "provider calls", "1,284 provider calls"),
    ],
)
def test_one_of_something_is_singular(number: int, units: str, said: str) -> None:
    assert quantity(number, units) == said


def test_times_of_a_result_are_told_in_words() -> None:
    assert laps({"queued_ms": 2, "first_branch_ms": 1_228.4}) == "queued 2 ms, first branch 1,228 ms"


def test_a_time_at_midnight_is_a_day() -> None:
    assert day_or_time(datetime(2024, 2, 11, tzinfo=UTC)) == "2024-02-11"
    assert day_or_time(datetime(2024, 2, 11, 9, 5, tzinfo=UTC)) == "2024-02-11 09:05"
