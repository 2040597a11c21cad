"""What the backlog of a queue means: how long a new step waits, and which bells may still be in their queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.board.pace import QueuePace
from querymill_shared.board.queue_work import QueueWork
from querymill_shared.queues import Queue
from querymill_workers.dispatch.backlog import MIN_WAIT_S, Look, apart, bell_waits, claims_per_s, expected_waits, paces

FOR_EVER = float("inf")


def look(at: float, waiting: int, claimed: float, *, slots: int = 8, free: int = 0) -> Look:
    work = QueueWork(Queue.SEARCH, waiting, slots - free, slots, free=free, claimed=int(claimed))
    return Look(at, {Queue.SEARCH: work})


def test_a_new_step_waits_until_those_before_it_were_claimed() -> None:
    # 100 steps a second are claimed, and 600 wait.
    assert expected_waits([look(10, 800, 0), look(11, 700, 100), look(12, 600, 200)]) == {Queue.SEARCH: 6.0}


def test_a_queue_that_workers_emptied_meanwhile_has_no_backlog() -> None:
    assert expected_waits([look(10, 800, 0), look(11, 0, 800), look(12, 600, 900)]) == {}


def test_two_looks_are_too_few() -> None:
    assert expected_waits([look(10, 800, 0), look(11, 700, 100)]) == {}


def test_of_a_queue_that_nobody_empties_nothing_is_expected() -> None:
    assert expected_waits([look(at, 800, 100) for at in range(5)]) == {}


def test_what_waits_shortly_is_no_backlog() -> None:
    assert expected_waits([look(at, 2, 50 * at) for at in range(5)]) == {}


def test_steps_that_wait_while_most_threads_are_free_are_no_backlog() -> None:
    # Their bells were lost, or only workers of the next release can read them: a new step begins at once.
    assert expected_waits([look(at, 3, at, free=6) for at in range(10)]) == {}


def test_a_thread_that_is_just_free_at_a_look_does_not_hide_a_backlog() -> None:
    looks = [look(at, 60, 10 * at, free=at % 3) for at in range(6)]
    assert expected_waits(looks) == {Queue.SEARCH: 6.0}


def test_what_workers_that_died_since_left_behind_waits_as_long_as_they_would_have_taken() -> None:
    looks = [look(0, 100, 0), look(1, 90, 10), look(2, 90, 10, slots=0)]
    assert expected_waits(looks) == {Queue.SEARCH: 18.0}


@given(
    waiting=st.lists(st.integers(1, 10_000), min_size=3, max_size=10),
    rate=st.integers(1, 5_000),
    start=st.floats(0, 1e6),
)
def test_the_wait_is_the_number_over_the_rate(waiting: list[int], rate: int, start: float) -> None:
    waits = expected_waits([look(start + n, steps, n * rate) for n, steps in enumerate(waiting)])
    expected = waiting[-1] / rate
    if expected >= MIN_WAIT_S * 1.001:
        assert waits[Queue.SEARCH] == pytest.approx(expected, rel=1e-3)
    elif expected < MIN_WAIT_S * 0.999:
        assert waits == {}


def test_workers_claim_what_they_claimed_while_steps_waited() -> None:
    assert claims_per_s([look(10, 800, 0), look(10.25, 700, 25), look(10.5, 600, 50)]) == {Queue.SEARCH: 100.0}


def test_a_queue_is_emptied_as_fast_as_its_threads_did_when_it_was_full() -> None:
    # Each of 8 threads claimed 12.5 steps a second; one of 8 is kept for collections with few.
    work = QueueWork(Queue.SEARCH, 0, 0, 16, free=16, spare=2)
    quiet = [Look(60, {Queue.SEARCH: work})]
    assert paces(quiet, {Queue.SEARCH: 12.5}) == {Queue.SEARCH: QueuePace(0, 200.0, 0.125)}
    assert paces(quiet, {}) == {}


def test_nothing_is_said_of_a_queue_whose_steps_wait_beside_free_threads_or_without_a_worker() -> None:
    assert paces([look(at, 300, 0, free=8) for at in range(3)], {Queue.SEARCH: 12.5}) == {}
    # A thread that is just free at a look says nothing.
    assert paces([look(at, 300, at, free=8 * (at == 2)) for at in range(3)], {Queue.SEARCH: 12.5}) != {}
    assert paces([look(10, 300, 0, slots=0)], {Queue.SEARCH: 12.5}) == {}
    assert paces([look(10, 300, 0)], {Queue.SEARCH: 12.5}) == {Queue.SEARCH: QueuePace(300, 100.0)}


def test_looks_that_tell_whether_bells_were_lost_are_a_second_apart() -> None:
    looks = [look(at / 4, 5, 0) for at in range(9)]
    assert [each.at for each in apart(looks)] == [0.0, 1.0, 2.0]


def test_a_bell_may_be_in_its_queue_for_as_long_as_a_new_step_waits() -> None:
    assert bell_waits([look(10, 800, 0), look(11, 700, 100), look(12, 600, 200)]) == {Queue.SEARCH: 6.0}


@pytest.mark.parametrize("slots", [0, 8], ids=["no worker listens", "long steps keep all threads busy"])
def test_a_bell_that_no_thread_could_take_is_in_its_queue_for_ever(slots: int) -> None:
    assert bell_waits([look(at, 800, 100, slots=slots) for at in range(3)]) == {Queue.SEARCH: FOR_EVER}


def test_bells_are_lost_if_nothing_moves_although_a_thread_is_free() -> None:
    moving = [look(at, 900 - 100 * at, 100 * at) for at in range(4)]
    stuck = [look(4 + at, 600, 300, free=1 if at else 8) for at in range(3)]
    assert bell_waits(moving) == {Queue.SEARCH: 6.0}
    assert bell_waits(moving + stuck) == {}


def test_bells_that_were_lost_while_others_are_taken_at_once_are_not_in_their_queue() -> None:
    assert bell_waits([look(at, 5, 3 * at, free=7) for at in range(5)]) == {}


def test_of_workers_that_have_just_started_nothing_is_known() -> None:
    assert bell_waits([look(0, 5, 0, slots=0), look(1, 5, 0)]) == {}
