"""Places: how many calls may be under way at a provider for which no limit is set.

The number of places and whose turn it is are decided in Redis for the whole fleet (``lua/places.lua``). This module is
a process's side of it: who asks, who waits, and the leases of the places that the process holds.
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis
import structlog

from querymill_shared.board.clock import read_clock
from querymill_shared.contracts.fields import Lane

_log = structlog.get_logger(__name__)

#: A place whose process does not renew it for this long is given to another call.
LEASE_MS = 4_000
RENEW_EVERY_S = 1.0
#: A call is renewed for at most this long. It is longer than any call takes.
RENEW_FOR_S = 120.0
#: While a call waits behind others of its process, it looks this often whether anybody still wants it.
LOOK_EVERY_S = 0.5


class CallQueue:
    """Where the calls of a process wait: of each lane and collection, the first asks and the others stand behind it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: dict[tuple[Lane, str], deque[threading.Event]] = {}

    @contextmanager
    def first(self, lane: Lane, collection: str, *, go_on: Callable[[], object]) -> Iterator[None]:
        """Wait to be the first of a lane and collection. ``go_on`` is called now and then, and raises to leave."""
        turn, key = threading.Event(), (lane, collection)
        with self._lock:
            standing = self._standing.setdefault(key, deque())
            standing.append(turn)
            if standing[0] is turn:
                turn.set()
        try:
            while not turn.wait(LOOK_EVERY_S):
                go_on()
            yield
        finally:
            with self._lock:
                standing.remove(turn)
                if standing:
                    standing[0].set()
                else:
                    self._standing.pop(key, None)


class CallSlots:
    """The places that this process holds. A thread renews their leases, so that a dead process's places come back."""

    def __init__(self, client: redis.Redis, key: str) -> None:
        self.key = key
        self._client = client
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()
        self._freed = threading.Condition()
        self._renewer: threading.Thread | None = None

    @staticmethod
    def new_call(lane: Lane, collection: str) -> str:
        """Return a name for a call."""
        return f"{lane.value}|{collection}|{secrets.token_hex(6)}"

    def hold(self, call: str) -> None:
        """Keep the place of a call until it is left."""
        with self._lock:
            self._held[call] = time.monotonic()
            if self._renewer is None:
                self._renewer = threading.Thread(target=self._renew_while_held, name="places", daemon=True)
                self._renewer.start()

    def leave(self, call: str) -> None:
        """Renew the place of a call no longer."""
        with self._lock:
            self._held.pop(call, None)

    def wake(self) -> None:
        """Let those who wait ask again, because a place has become free."""
        with self._freed:
            self._freed.notify_all()

    def wait(self, seconds: float) -> None:
        """Wait until a place becomes free in this process, or some seconds."""
        with self._freed:
            self._freed.wait(seconds)

    def _renew_while_held(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(RENEW_EVERY_S)
            now = time.monotonic()
            with self._lock:
                held = [call for call, since in self._held.items() if now - since < RENEW_FOR_S]
                if not held:
                    self._renewer = None
                    return
            try:
                self._renew(held)
            except redis.RedisError as error:
                _log.warning("places were not renewed", error=type(error).__name__)

    def _renew(self, held: list[str]) -> None:
        until = int(read_clock(self._client) * 1000) + LEASE_MS
        self._client.zadd(self.key, dict.fromkeys(held, until), xx=True)
