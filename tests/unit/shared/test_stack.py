"""What a pool keeps its connections in."""

import queue
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from querymill_shared.board.connections import Stack


def test_the_last_in_is_the_first_out() -> None:
    stack = Stack(3)
    for item in (None, "old", "new"):
        stack.put_nowait(item)
    with pytest.raises(queue.Full):
        stack.put_nowait("one too many")
    assert [stack.get(), stack.get(), stack.get()] == ["new", "old", None]
    with pytest.raises(queue.Empty):
        stack.get(timeout=0.01)


def test_whoever_waits_gets_what_is_put_in() -> None:
    stack = Stack(1)
    with ThreadPoolExecutor(1) as callers:
        waiting = callers.submit(stack.get, timeout=30)
        stack.put_nowait("late")
        assert waiting.result() == "late"


def test_nothing_is_lent_twice_or_lost_among_many_threads() -> None:
    stack, lent, lock = Stack(4), set[int](), threading.Lock()
    for number in range(4):
        stack.put_nowait(number)

    def borrow(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(300):
            number = stack.get(timeout=30)
            with lock:
                assert number not in lent
                lent.add(number)
            if chance.random() < 0.1:
                threading.Event().wait(0.0005)
            with lock:
                lent.remove(number)
            stack.put_nowait(number)

    with ThreadPoolExecutor(16) as callers:
        list(callers.map(borrow, range(16)))
    assert sorted(stack.queue) == [0, 1, 2, 3]
