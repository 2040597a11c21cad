"""Workers that are killed again and again while the broker forgets its messages: nothing lost, nothing doubled."""

import time
from collections.abc import Callable

import pytest

from tests.fixtures.faults import Ground
from tests.fixtures.tallies import Tally

WITHOUT_SWEEPER = "tests.fakes.worker_without_sweeper"


def churn(ground: Ground, *, rounds: int) -> float:
    """Submit jobs in rounds. After each, kill a worker or lose all bells. Returns when the last fault was."""
    fault = 0.0
    for number in range(rounds):
        for _ in range(4):
            ground.ingest_report()
            ground.ingest_session()
        ground.search()
        time.sleep(ground.chances.uniform(0.0, 0.3))
        fault = ground.now()
        if number % 3 == 2:
            ground.wipe_bells()
        else:
            victim = ground.chances.choice(ground.workers)
            victim.kill()
            victim.start()
    return fault


def begin(ground: Ground) -> None:
    """Make the collection known, so that it can be searched."""
    ground.mill.job(ground.ingest_report()).result(timeout=30)


def test_the_counts_of_a_calm_fleet_are_zero(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("calm")
    with ground.fleet(1):
        begin(ground)
        for _ in range(10):
            ground.ingest_report()
            ground.ingest_session()
            ground.search()
        ground.settle(tally, within_s=60)
    assert (tally.submitted, tally.lost, tally.doubled, tally.degraded, tally.dead_lettered) == (31, 0, 0, 0, 0)


def churned(ground: Ground, tally: Tally, *, workers: int, rounds: int) -> None:
    with ground.fleet(workers):
        begin(ground)
        last_fault = churn(ground, rounds=rounds)
        tally.recovery_s = max(0.0, ground.settle(tally, within_s=90) - last_fault)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert tally.recovery_s <= 30


def test_nothing_is_lost_or_doubled_under_churn(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    churned(ground, tally_of("churn"), workers=2, rounds=3)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_nothing_is_lost_or_doubled_under_long_churn_of_many(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    churned(ground, tally_of("long churn"), workers=4, rounds=30)


@pytest.mark.nightly
def test_the_counts_see_what_a_fleet_without_a_sweeper_loses(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("churn without a sweeper", is_control=True)
    with ground.fleet(1, app=WITHOUT_SWEEPER):
        begin(ground)
        ground.workers[0].kill()
        for _ in range(5):
            ground.ingest_report()
            ground.ingest_session()
        ground.wipe_bells()
        ground.workers[0].start()
        ground.settle(tally, within_s=5, quiet_within_s=0)
    assert (tally.lost, tally.doubled) == (10, 0)
