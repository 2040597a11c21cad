"""Upkeep runs in one thread at a time until nothing is left, and survives its failures."""

import threading

import pytest

from querymill_workers.words import upkeep
from querymill_workers.words.upkeep import Upkeep


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "WAIT_S", 0)


def test_work_goes_on_until_nothing_is_left_in_one_thread() -> None:
    left, ended, threads = [3], threading.Event(), set()

    def work() -> bool:
        threads.add(threading.get_ident())
        left[0] -= 1
        if not left[0]:
            ended.set()
        return left[0] > 0

    waking = Upkeep(work)
    for _ in range(3):
        waking.wake()
    assert ended.wait(20)
    assert len(threads) == 1


def test_after_a_failure_it_can_be_woken_again() -> None:
    calls = threading.Semaphore(0)

    def fail() -> bool:
        calls.release()
        raise OSError("away")

    waking = Upkeep(fail)
    waking.wake()
    assert calls.acquire(timeout=20)
    while not calls.acquire(timeout=0.01):
        waking.wake()
