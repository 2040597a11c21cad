"""Watching jobs on the board in memory."""

import threading
from collections.abc import Sequence

from querymill_shared.board import lives
from querymill_shared.board.memory import MemoryBoard
from querymill_shared.board.watching import Look, Seen, Told
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import LAST, Event


class MemoryListener:
    """`Listener` in this process."""

    def __init__(self) -> None:
        self._told: list[Told] = []
        self._changed = threading.Condition()
        self._closed = False

    def tell(self, told: Told) -> None:
        """Append an event."""
        with self._changed:
            self._told.append(told)
            self._changed.notify_all()

    def close(self) -> None:
        """Wake the one that waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def hear(self, *, wait_s: float) -> list[Told]:
        """See `Listener.hear`."""
        with self._changed:
            self._changed.wait_for(lambda: self._told or self._closed, timeout=wait_s)
            found, self._told = self._told, []
            return found


class MemoryWatchedBoard:
    """`WatchedBoard` over a `MemoryBoard`."""

    def __init__(self, board: MemoryBoard) -> None:
        self._board = board
        self._listeners: dict[str, MemoryListener] = {}
        board.listeners.append(self._pass_on)

    def close(self) -> None:
        """See `WatchedBoard.close`."""
        if self._pass_on in self._board.listeners:
            self._board.listeners.remove(self._pass_on)
        for listener in self._listeners.values():
            listener.close()

    def listen(self, watcher: str) -> MemoryListener:
        """See `WatchedBoard.listen`."""
        self._listeners[watcher] = MemoryListener()
        return self._listeners[watcher]

    def watch(self, looks: Sequence[Look], watcher: str) -> list[Seen | Exception]:
        """See `WatchedBoard.watch`."""
        return [self._watch(look, watcher) for look in looks]

    def _watch(self, look: Look, watcher: str) -> Seen | Exception:
        known = self._board.watched[look.job_id]
        # First registered, then read: what comes in between is told twice, not never.
        known[watcher] = look.every_event or known.get(watcher, False)
        events = self._board.events(look.job_id)
        if not events:
            return UnknownJob(look.job_id)
        told = tuple(_told(look.job_id, number, event) for number, (_, event) in enumerate(events, 1))
        if look.every_event:
            return Seen(told[int(look.after.split("-")[0]) :], len(told))
        return Seen(told[-1:] if told[-1].is_last else (), 0, self._board.result(look.job_id))

    def overlooked(self, looks: Sequence[Look]) -> list[Look]:
        """See `WatchedBoard.overlooked`."""
        return [look for look in looks if self._has_gone_on(look)]

    def _has_gone_on(self, look: Look) -> bool:
        events = self._board.events(look.job_id)
        new = self._board.events(look.job_id, after=look.after)
        return not events or isinstance(events[-1][1], LAST) or (look.every_event and bool(new))

    def results(self, job_ids: Sequence[str]) -> list[str | None]:
        """See `WatchedBoard.results`."""
        return [self._board.result(job_id) for job_id in job_ids]

    def unattended(self, job_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """See `WatchedBoard.unattended`."""
        heard = lives.listening(self._board.workers())
        waiting = {job_id: self._board.waiting_queues(job_id) for job_id in job_ids}
        found = {job_id: tuple(queue for queue in queues if not heard[queue]) for job_id, queues in waiting.items()}
        return {job_id: queues for job_id, queues in found.items() if queues}

    def _pass_on(self, job_id: str, number: int, event: Event) -> None:
        told = _told(job_id, number, event)
        for watcher, every_event in tuple(self._board.watched.get(job_id, {}).items()):
            if watcher in self._listeners and (every_event or told.is_last):
                self._listeners[watcher].tell(told)


def _told(job_id: str, number: int, event: Event) -> Told:
    return Told(job_id, f"{number}-0", number, event.type, event.model_dump_json())
