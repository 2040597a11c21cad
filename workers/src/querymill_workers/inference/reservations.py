"""Reservations: how far ahead one collection may reserve calls under a provider's limit.

A limit grants calls in the order in which they are reserved. So a collection that reserves all its calls at once would
have everybody else wait for all of them. Each process books only a few calls of a collection ahead; the others of that
collection stand behind them, and a call of another collection is booked next.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable

from querymill_shared.contracts.fields import Lane

#: So many calls of a collection and lane, of one process, may be booked further ahead than this, in seconds.
MAX_AHEAD, AHEAD_S = 2, 0.1
#: While a call waits to be booked, it looks this often whether anybody still wants it, in seconds.
LOOK_EVERY_S = 0.5


class Reservations:
    """The calls that this process has booked ahead. ``clock`` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._booked: defaultdict[tuple[Lane, str], list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def wait_for_room(self, lane: Lane, collection: str, *, go_on: Callable[[], object]) -> None:
        """Wait until another call may be booked. ``go_on`` is called now and then, and raises to leave."""
        while (wait_s := self._wait_s((lane, collection))) > 0:
            time.sleep(min(wait_s, LOOK_EVERY_S))
            go_on()

    def add(self, lane: Lane, collection: str, at: float) -> None:
        """Note that a call may start at a time, in monotonic seconds."""
        with self._lock:
            self._booked[lane, collection].append(at)

    def _wait_s(self, whose: tuple[Lane, str]) -> float:
        near = self._clock() + AHEAD_S
        with self._lock:
            far = sorted(at for at in self._booked.pop(whose, ()) if at > near)
            if far:
                self._booked[whose] = far
        return far[-MAX_AHEAD] - near if len(far) >= MAX_AHEAD else 0.0
