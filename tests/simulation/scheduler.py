"""One scheduler for all actors of a schedule: it alone decides who goes on, and time passes only as it says.

An actor is a thread of a simulated process, run as a greenlet. It gives way wherever it waits: for a moment, a lock or
a server. All times are whole microseconds since the schedule began.
"""

import heapq
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import greenlet

#: Microseconds of a second.
SECOND: Final = 1_000_000
#: A wait that is no longer than this needs no turn of the scheduler if nobody else would go on before its end.
SHORT: Final = 1_000
#: What `time.time` says when a schedule begins, in seconds: a moment of a day that is not about to end.
EPOCH_S: Final = 1_800_000_000


class Killed(BaseException):
    """Raised in an actor whose process has died: nothing that it does from then on has an effect."""


class OutOfSteps(Exception):
    """Raised if a schedule does not come to an end."""


@dataclass(eq=False)
class Process:
    """A process: it is killed and frozen as a whole, and has clocks of its own."""

    name: str
    is_dead: bool = False
    is_stopping: bool = False
    frozen_until: int = 0
    #: By how much its clock is ahead: the one that can be set, and the monotonic one, which has a beginning of its own.
    clock_ahead: int = 0
    monotonic_ahead: int = 0
    actors: "list[Actor]" = field(default_factory=list)
    #: The kind of request that its release does not know.
    unknown: str = ""
    on_death: list[Callable[[], None]] = field(default_factory=list)
    #: What it does when it is told to stop: SIGTERM. A process that has nothing to do ends at once.
    on_stop: list[Callable[[], object]] = field(default_factory=list)


@dataclass(eq=False)
class Actor:
    """A thread of a process."""

    process: Process
    name: str
    let: greenlet.greenlet
    #: The number of its present wait. An entry of the agenda with another number is void.
    wait: int = 0
    is_over: bool = False
    was_woken: bool = False


class Scheduler:
    """Runs actors one at a time, in the order of their times. The same seed runs them in the same order."""

    def __init__(self, seed: int, *, most_steps: int = 20_000, keeps_trace: bool = False) -> None:
        self.chances = random.Random(seed)
        self.now = 0
        self.steps = 0
        self.digest = 0
        self.trace: list[str] = []
        self._keeps_trace = keeps_trace
        self._most_steps = most_steps
        self._agenda: list[tuple[int, int, Actor, int]] = []
        self._entries = 0
        self._hub = greenlet.getcurrent()
        self._current: Actor | None = None
        self._actors: list[Actor] = []

    @property
    def current(self) -> Actor:
        """The actor that runs."""
        assert self._current is not None
        return self._current

    @property
    def is_within(self) -> bool:
        """Whether an actor runs, and not what sets the scene."""
        return self._current is not None

    def note(self, what: bytes, told: Callable[[], str] | None = None) -> None:
        """Add what happens to the trace. Its digest tells apart runs that differ. ``told`` puts it in words."""
        actor = self._current
        name = "-" if actor is None else f"{actor.process.name}/{actor.name}"
        self.digest = zlib.crc32(b"%d %s %s" % (self.now, name.encode(), what), self.digest)
        if self._keeps_trace:
            self.trace.append(f"{self.now / SECOND:11.6f} {name:24} {told() if told else what.decode()}")

    def spawn(self, process: Process, work: Callable[[], object], name: str, *, after: int = 0) -> Actor:
        """Begin an actor."""

        def run() -> None:
            try:
                if not process.is_dead:
                    work()
            except Killed:
                pass
            finally:
                actor.is_over = True

        actor = Actor(process, name, greenlet.greenlet(run, self._hub))
        process.actors.append(actor)
        self._actors.append(actor)
        self._enter(actor, self.now + after)
        return actor

    def pass_time(self, microseconds: int) -> None:
        """Have the current actor wait."""
        self._give_way(self.now + max(0, microseconds))

    def park(self, microseconds: int | None = None) -> bool:
        """Have the current actor wait until somebody wakes it, but no longer than that. Return whether it was woken."""
        actor = self.current
        actor.was_woken = False
        self._give_way(None if microseconds is None else self.now + max(0, microseconds))
        return actor.was_woken

    def wake(self, actor: Actor, *, after: int = 0) -> None:
        """End the wait of an actor."""
        actor.was_woken = True
        self._enter(actor, self.now + after)

    def kill(self, process: Process) -> None:
        """End a process: its actors go on no more."""
        if process.is_dead:
            return
        process.is_dead = True
        for ended in process.on_death:
            ended()

    def check_alive(self) -> None:
        """Raise `Killed` in an actor of a dead process."""
        if self._current is not None and self._current.process.is_dead:
            raise Killed

    def freeze(self, process: Process, microseconds: int) -> None:
        """Stop a process for some time: SIGSTOP."""
        process.frozen_until = max(process.frozen_until, self.now + microseconds)

    def run(self, until: int, is_over: Callable[[], bool]) -> None:
        """Run the actors until a time, or until it is over.

        Raises:
            OutOfSteps: They take more steps than a schedule has.
        """
        while self._agenda and not is_over():
            at, _, actor, wait = heapq.heappop(self._agenda)
            if actor.is_over or wait != actor.wait:
                continue
            if at > until:
                self.now = until
                return
            self.now = max(self.now, at)
            if actor.process.is_dead:
                continue
            if actor.process.frozen_until > self.now:
                self._enter(actor, actor.process.frozen_until + self.chances.randrange(2_000), is_new=False)
                continue
            self._go_on(actor)

    def close(self) -> None:
        """End all actors, without effect: what they held is let go at once, and not when it happens to be collected."""
        for actor in self._actors:
            actor.process.is_dead = True
        for actor in self._actors:
            if not actor.is_over and actor.let:
                self._current = actor
                actor.let.throw(Killed)
        self._current = None
        self._agenda.clear()
        self._actors.clear()

    def _go_on(self, actor: Actor) -> None:
        self._count()
        actor.wait += 1
        self._current = actor
        actor.let.switch()
        self._current = None

    def _give_way(self, at: int | None) -> None:
        actor = self.current
        if actor.process.is_dead:
            raise Killed
        if at is not None:
            is_next = not self._agenda or self._agenda[0][0] > at
            if is_next and at - self.now <= SHORT and actor.process.frozen_until <= at:
                self.now = max(self.now, at)  # nobody else would have gone on before
                self._count()
                return
            self._enter(actor, at)
        self._hub.switch()
        if actor.process.is_dead:
            raise Killed

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            raise OutOfSteps(f"{self.steps} steps, at {self.now / SECOND:.1f} s")

    def _enter(self, actor: Actor, at: int, *, is_new: bool = True) -> None:
        if is_new:
            actor.wait += 1
        self._entries += 1
        heapq.heappush(self._agenda, (at, self._entries, actor, actor.wait))
