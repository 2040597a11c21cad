"""How long a step waits before its next attempt, and when it gets none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board import Cause, SetbackCounts
from querymill_workers.jobs.backoff import DURABLE_WAITS_S, JITTER, WAITS_S, is_used_up, wait_s, within

causes = st.sampled_from(["failure", "outage", "conflict", "pause"])
chances = st.floats(0, 1)


@given(causes, st.integers(0, 10_000), st.booleans(), chances)
def test_a_wait_is_cut_by_chance_and_never_longer_than_the_longest(
    cause: Cause, before: int, is_durable: bool, chance: float
) -> None:
    waits = (DURABLE_WAITS_S if is_durable else WAITS_S)[cause]
    full = waits[min(before, len(waits) - 1)]
    assert full * (1 - JITTER) <= wait_s(cause, before, is_durable=is_durable, chance=chance) <= full


@given(causes, st.integers(0, 100), st.booleans())
def test_waits_never_shrink(cause: Cause, before: int, is_durable: bool) -> None:
    first, second = (wait_s(cause, n, is_durable=is_durable, chance=0.0) for n in (before, before + 1))
    assert first <= second


def test_an_outage_of_hours_costs_an_attempt_a_minute() -> None:
    assert wait_s("outage", 500, is_durable=True, chance=0.0) == 60.0


@pytest.mark.parametrize(("wait", "left_s", "not_before_s", "fitted"), [
    (2.0, 10.0, 0.0, 2.0),
    (5.0, 6.0, 0.0, 3.0),
    (5.0, 6.0, 7.0, None),
    (5.0, 6.0, 4.0, 4.0),
    (0.1, 0.1, 0.0, None),
    (5.0, None, 25.0, 25.0),
])  # fmt: skip
def test_a_wait_fits_before_the_deadline(
    wait: float, left_s: float | None, not_before_s: float, fitted: float | None
) -> None:
    assert within(wait, left_s, not_before_s=not_before_s) == fitted


@given(st.floats(0, 100), st.floats(0, 100), st.floats(0, 100))
def test_another_attempt_never_begins_after_the_deadline(wait: float, left_s: float, not_before_s: float) -> None:
    fitted = within(wait, left_s, not_before_s=not_before_s)
    assert fitted is None or not_before_s <= fitted < left_s


@given(st.builds(SetbackCounts, *[st.integers(0, 5)] * 5), st.integers(1, 6), st.floats(0, 100))
def test_only_deaths_and_failures_use_attempts_up(counts: SetbackCounts, max_attempts: int, age_s: float) -> None:
    def gives_up(cause: Cause) -> bool:
        return is_used_up(cause, counts, max_attempts=max_attempts, age_s=age_s, patience_s=60.0)

    assert gives_up("failure") == (counts.deaths + counts.failures + 1 >= max_attempts)
    assert gives_up("outage") == gives_up("conflict") == (age_s >= 60.0)
