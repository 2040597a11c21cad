"""What the sweeper does not wait for."""

import threading
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.queues import Queue
from querymill_workers.dispatch.background_tasks import AT_ONCE, FORGOTTEN_AFTER_S, LIMIT_S, BackgroundTasks, is_late
from querymill_workers.jobs.bell import Bell
from tests.fakes.jobs import Clock

times = st.floats(0, 1_000)


class Hall:
    """Errands that take as long as a test says, and what became of them."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.rung: list[Bell] = []
        self.given_up: list[str] = []
        self.begun: list[str] = []
        self.opened = threading.Event()
        self.changed = threading.Condition()
        self.tasks = BackgroundTasks(self.rung.append, self.clock)

    def ask(self, name: str, *, hangs: bool = False) -> None:
        def run() -> Sequence[Bell]:
            with self.changed:
                self.begun.append(name)
                self.changed.notify_all()
            if hangs:
                assert self.opened.wait(10)
            return [Bell(name, "step", Queue.SEARCH)]

        self.tasks.ask(name, run, give_up=lambda: self.given_up.append(name))

    def until(self, begun: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.begun) >= begun, timeout=20)

    def until_idle(self, *, but: int = 0) -> None:
        until = time.monotonic() + 20
        while sum(thread.name == "task" for thread in threading.enumerate()) > but:
            assert time.monotonic() < until
            time.sleep(0.005)


@pytest.fixture
def hall() -> Hall:
    return Hall()


def test_a_task_rings_its_bells(hall: Hall) -> None:
    hall.ask("a")
    hall.until_idle()
    assert [bell.job_id for bell in hall.rung] == ["a"]
    assert hall.given_up == []


def test_what_hangs_is_given_up_once_and_holds_up_nobody(hall: Hall) -> None:
    hall.ask("hangs", hangs=True)
    hall.until(1)
    hall.ask("quick")
    hall.until_idle(but=1)
    hall.clock.now += LIMIT_S
    hall.tasks.tend()
    hall.tasks.tend()
    assert hall.given_up == ["hangs"]
    hall.opened.set()
    hall.until_idle()
    assert {bell.job_id for bell in hall.rung} == {"hangs", "quick"}


def test_the_same_is_not_asked_twice_while_it_is_under_way(hall: Hall) -> None:
    hall.ask("a", hangs=True)
    hall.ask("a", hangs=True)
    hall.opened.set()
    hall.until_idle()
    hall.ask("a")
    hall.until_idle()
    assert hall.begun == ["a", "a"]


def test_if_all_hang_those_who_wait_are_given_up_as_well(hall: Hall) -> None:
    for number in range(AT_ONCE + 1):
        hall.ask(str(number), hangs=True)
    hall.until(AT_ONCE)
    hall.clock.now += LIMIT_S
    hall.tasks.tend()
    assert len(hall.given_up) == AT_ONCE + 1
    hall.opened.set()
    hall.until_idle()
    assert len(hall.begun) == AT_ONCE


def test_threads_that_hang_for_good_are_forgotten(hall: Hall) -> None:
    for number in range(AT_ONCE):
        hall.ask(str(number), hangs=True)
    hall.until(AT_ONCE)
    hall.clock.now += FORGOTTEN_AFTER_S
    hall.tasks.tend()
    hall.ask("next")
    hall.until(AT_ONCE + 1)
    hall.opened.set()
    hall.until_idle()


def test_a_task_that_raises_leaves_room_for_others(hall: Hall) -> None:
    def fail() -> Sequence[Bell]:
        raise ZeroDivisionError

    for number in range(2 * AT_ONCE):
        hall.tasks.ask(number, fail, give_up=lambda: None)
        hall.until_idle()
    hall.ask("a")
    hall.until(1)


@given(now=times, asked_at=times, last_ended_at=times)
def test_one_that_waits_is_late_only_if_none_ended_for_long(now: float, asked_at: float, last_ended_at: float) -> None:
    late = is_late(now, asked_at=asked_at, begun_at=None, last_ended_at=last_ended_at)
    assert late == (now - asked_at >= LIMIT_S and now - last_ended_at >= LIMIT_S)


@given(now=times, begun_at=times, last_ended_at=times)
def test_one_that_runs_is_late_by_its_own_time(now: float, begun_at: float, last_ended_at: float) -> None:
    assert is_late(now, asked_at=0.0, begun_at=begun_at, last_ended_at=last_ended_at) == (now - begun_at >= LIMIT_S)
