"""PostgreSQL or the board's server is away, or takes bytes and never answers."""

import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from querymill import Overloaded
from tests.fixtures.faults import Ground
from tests.fixtures.tallies import Tally, until

#: A deadline is held if the job ends at most this many seconds after it, on a busy machine.
LATE_S = 5.0
RECOVERY_S = 30.0


def begin(ground: Ground) -> None:
    """Make the collection known, and open the connections of the workers. The vectors follow the ingestion."""
    ground.mill.job(ground.ingest_report()).result(timeout=30)
    until(ground.answers, within_s=30)


def work_until_well(ground: Ground, *, within_s: float) -> float:
    """Ingest and search until a fresh search is answered in full; returns the seconds that it took."""
    begun = time.monotonic()
    deadlines: dict[str, float] = {}
    for number in count():
        ground.ingest_report()
        with suppress(Overloaded):
            deadlines[ground.search(deadline=4)] = time.monotonic() + 4
        if number % 2 and ground.answers():
            break
        assert time.monotonic() - begun < within_s, f"no complete answer within {within_s:.0f} s"
    well_after_s = time.monotonic() - begun
    for job_id, deadline in deadlines.items():
        record = ground.mill.job(job_id).picture().record
        if not record.is_over:
            time.sleep(max(0.0, deadline + LATE_S - time.monotonic()))
            record = ground.mill.job(job_id).picture().record
        assert record.is_over, "a search was not settled at its deadline"
        assert record.ended is not None
        assert record.ended - record.created <= 4 + LATE_S
    return well_after_s


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("away_s", [75, 300])
def test_no_ingestion_is_lost_while_postgres_is_away(
    ground: Ground, tally_of: Callable[..., Tally], away_s: int
) -> None:
    tally = tally_of(f"PostgreSQL away for {away_s} s")
    with ground.fleet(2):
        begin(ground)
        for _ in range(99):
            ground.ingest_report()
        ground.server.cut()
        time.sleep(away_s)
        ground.server.mend()
        mended = ground.now()
        # The waits between tries grow to a minute.
        tally.recovery_s = max(0.0, ground.settle(tally, within_s=180) - mended)
    assert (tally.lost, tally.doubled, tally.dead_lettered) == (0, 0, 0), tally.losses


@pytest.mark.nightly
def test_a_half_open_postgres_stops_nobody(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("half-open PostgreSQL")
    with ground.fleet(2):
        begin(ground)
        for _ in range(20):
            ground.ingest_report()
        began = ground.now()
        ground.server.swallow()
        well_after_s = work_until_well(ground, within_s=60)
        tally.recovery_s = max(well_after_s, ground.settle(tally, within_s=60) - began)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert tally.recovery_s <= RECOVERY_S


@pytest.mark.nightly
def test_a_half_open_board_stops_nobody(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("half-open Valkey")
    with ground.fleet(2):
        begin(ground)
        for _ in range(20):
            ground.ingest_report()
        began = ground.now()
        ground.board.swallow()
        well_after_s = until(ground.answers, within_s=60)
        tally.recovery_s = max(well_after_s, ground.settle(tally, within_s=60) - began)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert tally.recovery_s <= RECOVERY_S


@pytest.mark.nightly
def test_a_board_that_is_away_for_a_while_loses_nothing(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("Valkey away for 20 s")
    with ground.fleet(2):
        begin(ground)
        for _ in range(20):
            ground.ingest_report()
        ground.board.cut()
        time.sleep(20)
        ground.board.mend()
        mended = ground.now()
        tally.recovery_s = max(0.0, ground.settle(tally, within_s=60) - mended)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert tally.recovery_s <= RECOVERY_S
