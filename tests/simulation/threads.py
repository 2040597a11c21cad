"""What the product takes from `threading`, `queue` and `time`, on the scheduler: its threads become actors."""

import math
import queue
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Self

from tests.simulation.scheduler import EPOCH_S, SECOND, Actor, Scheduler

_scheduler: list[Scheduler] = []


def running() -> Scheduler:
    """Return the scheduler of the schedule that runs."""
    return _scheduler[-1]


@contextmanager
def under(scheduler: Scheduler) -> Iterator[None]:
    """Have what is simulated go by a scheduler."""
    _scheduler.append(scheduler)
    try:
        yield
    finally:
        _scheduler.pop()


class Thread:
    """A thread of the process of whoever starts it."""

    def __init__(
        self, *, target: Callable[..., object], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
        name: str = "thread", daemon: bool = True,
    ) -> None:  # fmt: skip
        self._work: Callable[[], object] = partial(target, *args, **(kwargs or {}))
        self.name = name
        self.daemon = daemon
        self.ident = 0
        self._actor: Actor | None = None
        self._joining = Waiters()

    def start(self) -> None:
        """Begin it."""
        scheduler = running()
        self._actor = scheduler.spawn(scheduler.current.process, self._run, self.name)

    def is_alive(self) -> bool:
        """Tell whether it runs."""
        return self._actor is not None and not self._actor.is_over

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        self._joining.wait_while(self.is_alive, timeout)

    def _run(self) -> None:
        try:
            self._work()
        finally:
            if self._actor is not None:
                self._actor.is_over = True
            self._joining.wake_all()


class Waiters:
    """The actors that wait for something, the first one first."""

    def __init__(self) -> None:
        self._waiting: deque[Actor] = deque()

    def wait_while(self, is_so: Callable[[], bool], timeout: float | None) -> bool:
        """Wait while something is so, but no longer than ``timeout`` seconds. Return whether it is so no more."""
        scheduler = running()
        until = None if timeout is None else scheduler.now + int(timeout * SECOND)
        while is_so():
            left = None if until is None else until - scheduler.now
            if left is not None and left <= 0:
                return False
            self.wait_once(None if left is None else left / SECOND)
        return True

    def wait_once(self, timeout: float | None) -> bool:
        """Wait to be woken, but no longer than ``timeout`` seconds. Return whether that happened."""
        scheduler = running()
        actor = scheduler.current
        self._waiting.append(actor)
        try:
            return scheduler.park(None if timeout is None else int(timeout * SECOND))
        finally:
            if actor in self._waiting:
                self._waiting.remove(actor)

    def wake_one(self) -> None:
        """Wake the first that lives."""
        while self._waiting:
            actor = self._waiting.popleft()
            if not actor.process.is_dead:
                running().wake(actor)
                return

    def wake_all(self) -> None:
        """Wake them all."""
        for actor in self._waiting:
            if not actor.process.is_dead:
                running().wake(actor)
        self._waiting.clear()


class Lock:
    """A lock, which its holder may take again if it ``nests``."""

    nests = False

    def __init__(self) -> None:
        self._holder: Actor | None = None
        self._depth = 0
        self._waiters = Waiters()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it."""
        me = running().current if running().is_within else None
        if self._depth and not (self.nests and self._holder is me):
            if not blocking:
                return False
            if not self._waiters.wait_while(lambda: self._depth > 0, None if timeout < 0 else timeout):
                return False
        self._holder = me
        self._depth += 1
        return True

    def release(self) -> None:
        """Let it go."""
        self._depth -= 1
        if not self._depth:
            self._holder = None
            self._waiters.wake_one()

    def locked(self) -> bool:
        """Tell whether it is taken."""
        return self._depth > 0

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class RLock(Lock):
    """A lock that its holder may take again."""

    nests = True


class Condition:
    """A condition over a lock."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiters = Waiters()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait to be notified."""
        self._lock.release()
        try:
            return self._waiters.wait_once(timeout)
        finally:
            self._lock.acquire()

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until something is so."""
        scheduler = running()
        until = None if timeout is None else scheduler.now + int(timeout * SECOND)
        while not (found := predicate()):
            left = None if until is None else (until - scheduler.now) / SECOND
            if left is not None and left <= 0:
                break
            self.wait(left)
        return found

    def notify(self, n: int = 1) -> None:
        """Wake some."""
        for _ in range(n):
            self._waiters.wake_one()

    def notify_all(self) -> None:
        """Wake all."""
        self._waiters.wake_all()


class Future(futures.Future[Any]):
    """A result to wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._condition: Any = Condition()


class Event:
    """A flag to wait for."""

    def __init__(self) -> None:
        self._is_set = False
        self._waiters = Waiters()

    def is_set(self) -> bool:
        """Tell whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it."""
        self._is_set = True
        self._waiters.wake_all()

    def clear(self) -> None:
        """Set it back."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set."""
        self._waiters.wait_while(lambda: not self._is_set, timeout)
        return self._is_set


class BoundedSemaphore:
    """So many may be in at once."""

    def __init__(self, value: int = 1) -> None:
        self._free = value
        self._waiters = Waiters()

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Go in."""
        if not self._free and not blocking:
            return False
        if not self._waiters.wait_while(lambda: self._free <= 0, timeout):
            return False
        self._free -= 1
        return True

    def release(self) -> None:
        """Go out."""
        self._free += 1
        self._waiters.wake_one()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class SimpleQueue:
    """A queue without a bound."""

    def __init__(self) -> None:
        self._held: deque[Any] = deque()
        self._waiters = Waiters()

    def put(self, item: Any) -> None:
        """Add something."""
        self._held.append(item)
        self._waiters.wake_one()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the first. Raises `queue.Empty`."""
        if not self._held and (not block or not self._waiters.wait_while(lambda: not self._held, timeout)):
            raise queue.Empty
        return self._held.popleft()

    def get_nowait(self) -> Any:
        """Take the first. Raises `queue.Empty`."""
        return self.get(block=False)

    def empty(self) -> bool:
        """Tell whether it holds nothing."""
        return not self._held


#: What stands for the module of this name in the modules of Querymill.
OF_THREADING: Final = {
    "Thread": Thread, "Lock": Lock, "RLock": RLock, "Condition": Condition, "Event": Event,
    "BoundedSemaphore": BoundedSemaphore, "Semaphore": BoundedSemaphore,
}  # fmt: skip


def monotonic() -> float:
    """Return the monotonic seconds of the process that runs."""
    scheduler = running()
    ahead = scheduler.current.process.monotonic_ahead if scheduler.is_within else 0
    return (scheduler.now + ahead) / SECOND


def wall() -> float:
    """Return the seconds since the epoch by the clock of the process that runs."""
    scheduler = running()
    ahead = scheduler.current.process.clock_ahead if scheduler.is_within else 0
    return EPOCH_S + (scheduler.now + ahead) / SECOND


def sleep(seconds: float) -> None:
    """Have the actor that runs wait, a microsecond at least: time that stands still would be waited for in vain."""
    running().pass_time(max(1, math.ceil(seconds * SECOND)))


def thread_time() -> float:
    """Return no seconds: what a thread computes takes no time here."""
    return 0.0


def random_bytes(count: int) -> bytes:
    """Return chance bytes, the same ones for the same seed."""
    return random.randbytes(count)
