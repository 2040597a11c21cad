"""The stores of all workers: those that the product has in memory, with transactions, locks and failures.

What a transaction writes is seen by others from its commit on, all at once; one that is not committed leaves nothing.
Whoever writes outside one writes in one of its own. One transaction writes at a time: the others wait for their locks.
"""

import copy
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, Final

from querymill_shared.board import Board
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.faults import Conflict, Unavailable
from querymill_workers.stores import with_bodies
from querymill_workers.wiring import ports_in_memory
from tests.simulation.scheduler import SECOND, Actor, Scheduler
from tests.simulation.threads import Waiters

#: How long a transaction waits for its locks, as in `postgres.connection`, and how long the server lets one be silent.
LOCK_LIMIT_S: Final = 10.0
SILENCE: Final = 15 * SECOND
#: The ports that hold something, by the names of their fields.
_PORTS: Final = (
    "reports", "report_life", "text_vectors", "judgements", "words", "versions", "modules", "descriptions", "messages",
    "sessions", "files", "conversations", "conversation_passages", "ranks",
)  # fmt: skip
_OF_EACH_KIND: Final = ("documents", "vectors")
#: The beginnings of the names of what changes nothing.
_READS: Final = (
    "stored", "holds", "whole", "ids", "list", "count", "revisions", "collections", "cards", "search", "waiting",
    "unembedded", "measured", "texts", "indexed", "chunks", "pending", "still_", "lacking", "worth", "is_", "refused",
    "sample", "retriever", "kind", "largest_version", "now", "ranked", "rank", "find", "length", "statistics", "look",
    "known", "show", "titles", "get", "of", "vectors", "bm25", "has",
)  # fmt: skip
_PURE: Final = ("retriever", "kind", "dimensions", "model")

Point = Callable[[str], None]
States = list[dict[str, Any]]


class _NoLock:
    """Stands for the locks of the stores: a call of theirs is one moment here."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def acquire(self, *_: object, **__: object) -> bool:
        return True

    def release(self) -> None: ...


@dataclasses.dataclass(eq=False)
class Transaction:
    """What one actor has written and not committed yet."""

    actor: Actor
    states: States
    heard_at: int
    depth: int = 1
    is_lost: bool = False


class Stores:
    """The stores, empty at first. ``written`` is told of each version under which a job writes."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._raw, self._objects, nothing = _empty()
        self._states = _copied(nothing)
        self._installed: States = []
        self._open: Transaction | None = None
        self._own: dict[Actor, Transaction] = {}
        self._pinned: dict[Actor, States] = {}
        self._waiters = Waiters()

    def ports_of(self, board: Board, point: Point, **own: Any) -> Ports:
        """Return the ports of a worker: each call of a store is a ``point``."""
        changed: dict[str, Any] = {name: StorePort(self, getattr(self._raw, name), name, point) for name in _PORTS}
        changed |= {
            name: {
                kind: StorePort(self, port, f"{name}/{kind}", point) for kind, port in getattr(self._raw, name).items()
            }
            for name in _OF_EACH_KIND
        }
        return with_bodies(replace(self._raw, board=board, **changed, **own))

    def look(self) -> Ports:
        """Return the ports of one who looks on at what is committed."""
        self._install(self._states)
        return self._raw

    def texts(self) -> dict[str, str]:
        """Return the text of each document that is committed."""
        raw: Any = self.look()  # the ports are those in memory
        reports = {key[1]: each.report.pages[0].text for key, each in raw.reports.stored.items()}
        sessions = {key[1]: each.session.messages[0].text for key, each in raw.sessions.sessions.items()}
        conversations = {key[1]: each.session.messages[0].text for key, each in raw.conversations.prepared.items()}
        return reports | sessions | conversations

    # What `StorePort` asks.

    def call(self, method: Callable[..., Any], name: str, args: Any, kwargs: Any) -> Any:
        """Call a method of a store: within the caller's transaction, or in one of its own if it writes."""
        actor = self._scheduler.current
        mine = self._mine(actor)
        if mine is not None:
            self._install(mine.states)
            return method(*args, **kwargs)
        if name.startswith(_READS):
            self._install(self._pinned.get(actor, self._states))
            return method(*args, **kwargs)
        with self.transaction():
            mine = self._mine(actor)
            assert mine is not None
            self._install(mine.states)
            return method(*args, **kwargs)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a transaction of the current actor, or join the one that it has.

        Raises:
            Conflict: Another one held the lock for too long.
            Unavailable: The server has ended it: its worker was silent for too long.
        """
        actor = self._scheduler.current
        joined = self._mine(actor)
        if joined is not None:
            joined.depth += 1
            try:
                yield
            finally:
                joined.depth -= 1
            return
        self._wait_for_turn()
        self._open = self._own[actor] = mine = Transaction(actor, _copied(self._states), self._scheduler.now)
        try:
            yield
            self._check(mine)
            self._states = mine.states
        finally:
            del self._own[actor]
            if self._open is mine:
                self._open = None
                self._waiters.wake_all()

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Show the current actor what was committed when the block began."""
        actor = self._scheduler.current
        self._pinned[actor] = self._states
        try:
            yield
        finally:
            del self._pinned[actor]

    def _mine(self, actor: Actor) -> Transaction | None:
        mine = self._own.get(actor)
        if mine is None:
            return None
        self._check(mine)
        mine.heard_at = self._scheduler.now
        return mine

    def _check(self, mine: Transaction) -> None:
        if mine.is_lost:
            raise Unavailable("PostgreSQL: IdleInTransactionSessionTimeout", code="store_down")

    def _wait_for_turn(self) -> None:
        until = self._scheduler.now + int(LOCK_LIMIT_S * SECOND)
        while self._open is not None:
            self._end_what_is_silent()
            if self._open is None:
                return
            left = until - self._scheduler.now
            if left <= 0:
                raise Conflict("another worker holds the document")
            silent_at = self._open.heard_at + SILENCE - self._scheduler.now
            self._waiters.wait_once(max(0.001, min(left, silent_at) / SECOND))

    def _end_what_is_silent(self) -> None:
        held = self._open
        if held is None:
            return
        if held.actor.process.is_dead or self._scheduler.now - held.heard_at >= SILENCE:
            held.is_lost = True
            self._open = None

    def _install(self, states: States) -> None:
        if states is not self._installed:
            for each, state in zip(self._objects, states, strict=True):
                each.__dict__ = state
            self._installed = states


class StorePort:
    """A port to a store, for one worker: it may fail, and what it does is one moment."""

    def __init__(self, stores: Stores, target: Any, name: str, point: Point) -> None:
        self._stores = stores
        self._target = target
        self._name = name
        self._point = point

    def __getattr__(self, name: str) -> Any:
        if name in _PURE:
            return getattr(self._target, name)
        method = getattr(self._target, name)
        if not callable(method):
            return method
        asked = f"{self._name}.{name}"
        stores, point = self._stores, self._point

        def call(*args: Any, **kwargs: Any) -> Any:
            point(asked)
            return stores.call(method, name, args, kwargs)

        if name == "reading":
            call = stores.pinned
        elif name in ("changing", "dropping", "alone"):
            call = self._change(method, asked)
        self.__dict__[name] = call
        return call

    def _change(self, method: Callable[..., Any], asked: str) -> Any:
        stores, point = self._stores, self._point

        @contextmanager
        def change(*args: Any, **kwargs: Any) -> Iterator[Any]:
            point(f"{asked} begins")
            with stores.transaction():
                changing = stores.call(method, "", args, kwargs)
                found = stores.call(changing.__enter__, "", (), {})
                yield found
                point(f"{asked} commits")
                stores.call(changing.__exit__, "", (None, None, None), {})
            point(f"{asked} is committed")

        return change


@cache
def _empty() -> tuple[Ports, list[Any], States]:
    """Return the ports of all schedules, what of them holds something, and what that is at first."""
    ports = ports_in_memory(None)  # type: ignore[arg-type]  # each worker has its own board
    objects = _state_of(ports)
    return ports, objects, _copied([vars(each) for each in objects])


def _state_of(ports: Ports) -> list[Any]:
    found: dict[int, Any] = {}
    for name in _PORTS:
        found[id(getattr(ports, name))] = getattr(ports, name)
    for name in _OF_EACH_KIND:
        for port in getattr(ports, name).values():
            found[id(port)] = port
    for each in found.values():
        for name, value in vars(each).items():
            if type(value).__name__ in ("RLock", "Lock", "lock"):
                setattr(each, name, _NoLock())
    return list(found.values())


def _copied(states: States) -> States:
    return [{name: _copy(value) for name, value in state.items()} for state in states]


def _copy(value: Any) -> Any:
    """Copy containers and what can be changed in them. What is immutable is shared."""
    kind = type(value)
    copier = _COPIERS.get(kind)
    if copier is None:
        copier = _COPIERS[kind] = _copier_of(kind)
    return copier(value)


def _shared(value: Any) -> Any:
    return value


def _copy_fields(value: Any) -> Any:
    copied = copy.copy(value)
    for each in dataclasses.fields(value):
        setattr(copied, each.name, _copy(getattr(value, each.name)))
    return copied


def _copier_of(kind: type) -> Callable[[Any], Any]:
    can_change = dataclasses.is_dataclass(kind) and not kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return _copy_fields if can_change else _shared


_COPIERS: Final[dict[type, Callable[[Any], Any]]] = {
    dict: lambda value: {name: _copy(part) for name, part in value.items()},
    defaultdict: lambda value: defaultdict(value.default_factory, {name: _copy(part) for name, part in value.items()}),
    Counter: Counter,
    list: lambda value: [_copy(part) for part in value],
    set: set,
}
