"""A worker that hangs as a whole, in the middle of a transaction, as a machine that lost its disk would."""

import time
from collections.abc import Callable

import psycopg
import pytest

from tests.fixtures.faults import WAITING, Ground, freeze, thaw
from tests.fixtures.tallies import Tally, until


@pytest.mark.nightly
def test_a_frozen_worker_blocks_its_collection_for_seconds_only(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("worker frozen inside a transaction")
    with ground.fleet(2):
        frozen, other = ground.workers
        ground.mill.job(ground.ingest_session()).result(timeout=30)
        freeze(other)  # so that the one to be frozen has the transaction
        with psycopg.connect(ground.settings.database_url.get_secret_value()) as barrier:
            barrier.execute("LOCK TABLE word_entries IN ACCESS EXCLUSIVE MODE")
            ground.ingest_session()
            until(lambda: bool(ground.database.execute(WAITING).fetchone()[0]), within_s=20)  # type: ignore[index]
            freeze(frozen)
        began = ground.now()
        thaw(other)
        for _ in range(10):
            ground.ingest_session()
        try:
            tally.recovery_s = ground.settle(tally, within_s=120) - began
        finally:
            thaw(frozen)
        # What the frozen worker still does when it goes on must change nothing.
        time.sleep(3)
        ground.effects.count(tally, done=ground.durable)
    assert (tally.lost, tally.doubled, tally.dead_lettered) == (0, 0, 0), tally.losses
    assert tally.recovery_s <= 30
