"""What the queues' backlog means: expected waits, and bells that are still queued."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.backlog import QueueState
from querymill_shared.queues import Queue
from querymill_workers.dispatch.backlog import MIN_WAIT_S, QueueSnapshot, expected_waits, still_queued


def look(at: float, length: int, taken: float) -> QueueSnapshot:
    return QueueSnapshot(at, {Queue.SEARCH: QueueState(Queue.SEARCH, length, taken=taken)})


def test_a_new_bell_waits_until_those_before_it_were_taken() -> None:
    # 100 bells a second are taken, and 600 wait.
    assert expected_waits([look(10, 800, 0), look(11, 700, 100), look(12, 600, 200)]) == {Queue.SEARCH: 6.0}


def test_a_queue_that_workers_emptied_meanwhile_has_no_backlog() -> None:
    assert expected_waits([look(10, 800, 0), look(11, 0, 800), look(12, 600, 900)]) == {}


def test_two_looks_are_too_few() -> None:
    assert expected_waits([look(10, 800, 0), look(11, 700, 100)]) == {}


def test_of_a_queue_that_nobody_empties_nothing_is_expected() -> None:
    assert expected_waits([look(at, 800, 100) for at in range(5)]) == {}


def test_what_waits_shortly_is_no_backlog() -> None:
    assert expected_waits([look(at, 2, 50 * at) for at in range(5)]) == {}


@given(
    lengths=st.lists(st.integers(1, 10_000), min_size=3, max_size=10),
    rate=st.floats(0.1, 5_000),
    start=st.floats(0, 1e6),
)
def test_the_wait_is_the_length_over_the_rate(lengths: list[int], rate: float, start: float) -> None:
    waits = expected_waits([look(start + n, length, n * rate) for n, length in enumerate(lengths)])
    expected = lengths[-1] / rate
    if expected >= MIN_WAIT_S * 1.001:
        assert waits[Queue.SEARCH] == pytest.approx(expected, rel=1e-3)
    elif expected < MIN_WAIT_S * 0.999:
        assert waits == {}


def test_a_backlog_lasts_since_its_oldest_bell_was_rung() -> None:
    states = [
        QueueState(Queue.SEARCH, 6_000, rung_at=100.0, oldest_s=30.0),
        QueueState(Queue.EXPAND, 1, rung_at=129.9, oldest_s=0.1),
        QueueState(Queue.INGEST, 0),
        QueueState(Queue.EMBED, 7),
    ]
    # Nothing is known of the oldest bell of `embed`: it is older than any job that the board still has.
    assert still_queued(states, unknown_since=-3470.0) == {"search": 100.0, "embed": -3470.0}
