"""The two threads that serve every wait of a client: one hears what the board tells, one asks what was missed."""

import copy
import logging
import random
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import uuid4

import redis

from querymill.client.events.waits import Delivery, Heard, Wait
from querymill_shared.board import Seen, StreamedEvent, Subscription, WatchedBoard
from querymill_shared.board.away import BoardRefuses
from querymill_shared.board.replies import is_written_over
from querymill_shared.contracts.errors import ClientClosed

_log = logging.getLogger(__name__)

#: How long one read waits for events, in seconds.
HEAR_S: Final = 5.0
#: A reader that stops wakes its threads this often until they end, in seconds.
WAKE_S: Final = 0.1
#: A job that is waited for is looked at this often, in seconds: it may vanish, and what was told of it may be lost.
CHECK_S: Final = 2.0
#: Each check looks at one part of the waits, so that thousands of looks do not hold up the news.
PARTS: Final = 10
#: After waiting for this long, in seconds, the reader checks whether any worker listens where the job waits.
UNATTENDED_S: Final = 3.0
#: How often that is looked at, in seconds.
LISTENING_EVERY_S: Final = 1.0
#: If nobody has waited for this long, in seconds, the threads end and the connections are closed.
IDLE_S: Final = 10.0
#: If the board is away when a wait begins, the wait fails after this long, in seconds. A later outage is waited out.
PATIENCE_S: Final = 10.0
#: The longest pause between two tries to reach the board, in seconds.
PAUSE_S: Final = 2.0
#: One round trip asks about at most this many jobs.
AT_ONCE: Final = 200
#: Errors that a second try would not fix.
_REFUSED = (redis.AuthenticationError, redis.exceptions.AuthorizationError, redis.ResponseError)


class EventReader:
    """Serves waits until it is stopped, or until it has been idle for `IDLE_S`."""

    def __init__(self, board: WatchedBoard) -> None:
        self._board = board
        self._watcher = _new_watcher()
        self._changed = threading.Condition()
        self._waits: dict[str, set[Wait]] = {}
        self._asked: list[Wait] = []
        self._is_listening = False
        self._is_stopped = False
        self._check_at = time.monotonic() + CHECK_S / PARTS
        self._taken = self._checked = 0
        self._listening_at = time.monotonic() + UNATTENDED_S
        self._warned: set[str] = set()
        self._idle_at = time.monotonic() + IDLE_S
        self._threads = [
            threading.Thread(target=self._listen, name="querymill-listen", daemon=True),
            threading.Thread(target=self._look, name="querymill-look", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def take(self, wait: Wait) -> bool:
        """Begin to serve a wait. Return False if the threads have ended."""
        with self._changed:
            if self._is_stopped:
                return False
            self._waits.setdefault(wait.job_id, set()).add(wait)
            self._taken += 1
            wait.part = self._taken % PARTS
            self._ask([wait])
            return True

    def drop(self, wait: Wait) -> None:
        """Serve a wait no longer."""
        with self._changed:
            of_job = self._waits.get(wait.job_id)
            if of_job is None:
                return
            of_job.discard(wait)
            if not of_job:
                del self._waits[wait.job_id]
            self._idle_at = time.monotonic() + IDLE_S

    def stop(self) -> None:
        """End every wait with `ClientClosed`, then the threads."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            for wait in self._all():
                self._deliver(wait, ClientClosed(wait.job_id))
        ends = time.monotonic() + HEAR_S
        for thread in self._threads:
            while thread.is_alive() and time.monotonic() < ends:
                # Closing wakes a thread that waits for the board. One that was about to wait is woken the next time.
                self._board.close()
                thread.join(timeout=WAKE_S)
        self._board.close()

    # What both threads use, holding the lock.

    def _all(self) -> list[Wait]:
        return [wait for of_job in self._waits.values() for wait in of_job]

    def _is_open(self, wait: Wait) -> bool:
        return wait in self._waits.get(wait.job_id, ())

    def _ask(self, waits: Iterable[Wait]) -> None:
        new = [wait for wait in waits if not wait.is_asked]
        for wait in new:
            wait.is_asked = True
        if new:
            self._asked += new
            self._changed.notify_all()

    def _deliver(self, wait: Wait, delivery: Delivery) -> None:
        try:
            wait.deliver(delivery)
        except RuntimeError:  # its event loop is closed
            self.drop(wait)

    def _deliver_events(self, wait: Wait, told: Sequence[StreamedEvent]) -> None:
        if told:
            self._deliver(wait, Heard(told))
        if told and told[-1].is_last:
            self.drop(wait)
        elif not wait.order.is_caught_up:
            self._ask([wait])

    def _finish(self, wait: Wait, delivery: Delivery) -> None:
        if self._is_open(wait):
            self._deliver(wait, delivery)
            self.drop(wait)

    def _lost(self, error: Exception) -> None:
        """Fail the waits for which there is no hope, or that the board has never known and for too long."""
        refused = isinstance(error, _REFUSED)
        gone = time.monotonic() - PATIENCE_S
        with self._changed:
            if self._is_stopped:
                return
            for wait in self._all():
                if not wait.is_registered and (refused or wait.since <= gone):
                    self._finish(wait, copy.copy(error))

    # The thread that listens.

    def _listen(self) -> None:
        listener, tries = None, 0
        while not self._is_stopped:
            try:
                if listener is None:
                    listener = self._board.listen(self._watcher)
                    self._begin()
                self._hear(listener.hear(wait_s=HEAR_S))
                tries = 0
            except Exception as error:  # noqa: BLE001  # whatever breaks, the waits are served again
                listener, tries = None, tries + 1
                if is_written_over(error):  # by another program, a stream that the former name stands in
                    self._watcher = _new_watcher()
                if not self._is_stopped:
                    if tries == 1:
                        _log.warning("the reader of events begins again: %s", type(error).__name__)
                    self._is_listening = False
                    self._lost(error)
                    self._pause(tries)

    def _begin(self) -> None:
        """Look at everything once the listener hears: what was told before is found, what comes later is heard."""
        with self._changed:
            self._is_listening = True
            for wait in self._all():
                wait.order.is_caught_up = wait.is_asked = False
            self._ask(self._all())
            self._changed.notify_all()

    def _hear(self, heard: Sequence[StreamedEvent]) -> None:
        ended: dict[Wait, StreamedEvent] = {}
        with self._changed:
            for told in heard:
                for wait in tuple(self._waits.get(told.job_id, ())):
                    if wait.every_event:
                        self._deliver_events(wait, wait.order.told(told))
                    elif told.is_last:
                        ended[wait] = told
        if not ended:
            return
        job_ids = list({told.job_id for told in ended.values() if told.type == "done" and told.result is None})
        results = dict(zip(job_ids, self._board.results(job_ids), strict=True)) if job_ids else {}
        with self._changed:
            for wait, told in ended.items():
                self._finish(wait, Heard((told,), told.result or results.get(told.job_id)))

    def _pause(self, tries: int) -> None:
        longest = min(PAUSE_S, 0.05 * 2 ** min(tries, 10))
        with self._changed:
            self._changed.wait_for(lambda: self._is_stopped, timeout=random.uniform(0.02, longest))  # noqa: S311

    # The thread that looks.

    def _look(self) -> None:
        tries = 0
        while (asked := self._next()) is not None:
            try:
                if asked:
                    self._look_at(asked)
                else:
                    self._check()
                    self._check_listening(time.monotonic())
                tries = 0
            except Exception as error:  # noqa: BLE001  # as in `_listen`
                tries += 1
                with self._changed:
                    for wait in asked:
                        wait.is_asked = False
                    self._ask(wait for wait in asked if self._is_open(wait))
                if isinstance(error, BoardRefuses):
                    self._board.close()  # the next connection may lead to the server that took over
                self._lost(error)
                self._pause(tries)

    def _next(self) -> list[Wait] | None:
        """Wait for looks to make: some waits, or [] for a check of all, or None to end."""
        with self._changed:
            while not self._is_stopped:
                now = time.monotonic()
                if self._asked and self._is_listening:
                    asked, self._asked = self._asked[:AT_ONCE], self._asked[AT_ONCE:]
                    return asked
                if self._waits and self._is_listening and now >= self._check_at:
                    self._check_at = now + CHECK_S / PARTS
                    return []
                if not self._waits and now >= self._idle_at:
                    self._is_stopped = True
                    self._changed.notify_all()
                    break
                until = self._idle_at if not self._waits else self._check_at if self._is_listening else now + CHECK_S
                self._changed.wait(max(until - now, 0.01))
        self._board.close()
        return None

    def _look_at(self, asked: Sequence[Wait]) -> None:
        with self._changed:
            waits = [wait for wait in asked if self._is_open(wait)]
            looks = [wait.look for wait in waits]
        replies = self._board.watch(looks, self._watcher) if looks else []
        with self._changed:
            for wait, reply in zip(waits, replies, strict=True):
                wait.is_asked = False
                if self._is_open(wait):
                    self._answer(wait, reply)

    def _answer(self, wait: Wait, reply: Seen | Exception) -> None:
        if isinstance(reply, Exception):
            self._finish(wait, reply)
            return
        wait.is_registered = True
        if wait.every_event:
            self._deliver_events(wait, wait.order.seen(reply))
            return
        wait.order.is_caught_up = True
        if reply.told:
            self._finish(wait, Heard(reply.told, reply.result))

    def _check(self) -> None:
        """Look for what nobody told: jobs that vanished, and events whose news was lost."""
        with self._changed:
            self._checked += 1
            waits: dict[Subscription, list[Wait]] = {}
            for wait in self._all():
                if wait.part == self._checked % PARTS and wait.order.is_caught_up:
                    waits.setdefault(wait.look, []).append(wait)
        for look in self._board.overlooked(list(waits)) if waits else ():
            with self._changed:
                self._ask(wait for wait in waits[look] if self._is_open(wait))

    def _check_listening(self, now: float) -> None:
        """Note which jobs wait where no worker listens, and log each such queue once."""
        if now < self._listening_at:
            return
        self._listening_at = now + LISTENING_EVERY_S
        with self._changed:
            long = [wait for wait in self._all() if now - wait.since >= UNATTENDED_S]
        found = self._board.unattended(list({wait.job_id: wait for wait in long})) if long else {}
        for wait in long:
            wait.unattended = found.get(wait.job_id, ())
        queues = {queue for of_job in found.values() for queue in of_job}
        for queue in sorted(queues - self._warned):
            _log.warning("no worker listens on `%s`", queue)
        self._warned = queues


def _new_watcher() -> str:
    """Return a name in the streams of this process."""
    return uuid4().hex[:16]
