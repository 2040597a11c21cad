import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.inference.throttle import REQUESTS_AT_ONCE, TOKENS_AT_ONCE, WINDOW_MS, TokenBucket, bucket_for


def test_the_worked_example_of_six_hundred_a_minute() -> None:
    bucket = bucket_for(600, at_once=REQUESTS_AT_ONCE)
    assert bucket.burst == 3
    assert bucket.interval_ms == pytest.approx(100.9, abs=0.05)


def test_no_limit_paces_nothing() -> None:
    assert bucket_for(None, at_once=REQUESTS_AT_ONCE) == TokenBucket(0.0, 0.0)


@given(st.integers(2, 10_000_000), st.sampled_from([REQUESTS_AT_ONCE, TOKENS_AT_ONCE]))
def test_burst_and_what_flows_in_never_exceed_the_limit(limit: int, at_once: float) -> None:
    bucket = bucket_for(limit, at_once=at_once)
    assert bucket.burst + WINDOW_MS / bucket.interval_ms <= limit
    assert bucket.burst >= 1


@given(st.integers(300, 10_000_000))
def test_nearly_the_whole_limit_is_used(limit: int) -> None:
    bucket = bucket_for(limit, at_once=REQUESTS_AT_ONCE)
    assert WINDOW_MS / bucket.interval_ms >= 0.985 * limit
