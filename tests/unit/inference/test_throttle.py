import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.throttle import REQUESTS_AT_ONCE, TOKENS_AT_ONCE, WINDOW_MS, Pace, pace


def test_the_worked_example_of_six_hundred_a_minute() -> None:
    paced = pace(600, at_once=REQUESTS_AT_ONCE)
    assert paced.burst == 3
    assert paced.interval_ms == pytest.approx(100.9, abs=0.05)


def test_no_limit_paces_nothing() -> None:
    assert pace(None, at_once=REQUESTS_AT_ONCE) == Pace(0.0, 0.0)


@given(st.integers(2, 10_000_000), st.sampled_from([REQUESTS_AT_ONCE, TOKENS_AT_ONCE]))
def test_burst_and_what_flows_in_never_exceed_the_limit(limit: int, at_once: float) -> None:
    paced = pace(limit, at_once=at_once)
    assert paced.burst + WINDOW_MS / paced.interval_ms <= limit
    assert paced.burst >= 1


@given(st.integers(300, 10_000_000))
def test_nearly_the_whole_limit_is_used(limit: int) -> None:
    paced = pace(limit, at_once=REQUESTS_AT_ONCE)
    assert WINDOW_MS / paced.interval_ms >= 0.985 * limit
