"""What the sweeper must not wait for: work that needs a store runs in threads of its own, with a time limit."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import structlog

from querymill_workers.jobs.bell import Bell

_log = structlog.get_logger(__name__)

#: An errand that takes longer than this is given up, in seconds.
LIMIT_S = 3.0
#: So many errands run at once.
AT_ONCE = 8
#: An errand that still runs after this long no longer counts among those, in seconds: its thread may hang for good.
FORGOTTEN_AFTER_S = 60.0


@dataclass(slots=True, eq=False)
class Errand:
    """Work that needs a store; ``give_up`` touches the board only. Times are in monotonic seconds."""

    name: Hashable
    run: Callable[[], Sequence[Bell]]
    give_up: Callable[[], object]
    asked_at: float
    begun_at: float | None = None
    is_given_up: bool = field(default=False)


def is_late(now: float, *, asked_at: float, begun_at: float | None, last_ended_at: float) -> bool:
    """Return whether an errand is to be given up.

    One that has begun has `LIMIT_S` seconds. One that waits has that long from when any errand last ended: as long as
    others end, the store responds, and there is merely much to do.
    """
    since = begun_at if begun_at is not None else max(asked_at, last_ended_at)
    return now - since >= LIMIT_S


class Errands:
    """Runs errands aside. ``clock`` returns monotonic seconds."""

    def __init__(self, ring: Callable[[Bell], None], clock: Callable[[], float]) -> None:
        self._ring = ring
        self._clock = clock
        self._waiting: deque[Errand] = deque()
        self._running: set[Errand] = set()
        self._last_ended_at = clock()
        self._lock = threading.Lock()

    def ask(self, name: Hashable, run: Callable[[], Sequence[Bell]], *, give_up: Callable[[], object]) -> None:
        """Have work done, unless work of this name waits or runs. The bells that it returns are rung."""
        with self._lock:
            if all(errand.name != name for errand in (*self._waiting, *self._running)):
                self._waiting.append(Errand(name, run, give_up, self._clock()))
        self._begin()

    def tend(self) -> None:
        """Give up what is late, and begin what waits. To be called often."""
        now = self._clock()
        with self._lock:
            late = [errand for errand in (*self._running, *self._waiting) if self._is_late(errand, now)]
            for errand in late:
                errand.is_given_up = True
            self._waiting = deque(errand for errand in self._waiting if not errand.is_given_up)
            self._running = {errand for errand in self._running if now - (errand.begun_at or now) < FORGOTTEN_AFTER_S}
        for errand in late:
            _log.warning("a store did not respond in time", errand=str(errand.name))
            errand.give_up()
        self._begin()

    def _is_late(self, errand: Errand, now: float) -> bool:
        return not errand.is_given_up and is_late(
            now, asked_at=errand.asked_at, begun_at=errand.begun_at, last_ended_at=self._last_ended_at
        )

    def _begin(self) -> None:
        with self._lock:
            while self._waiting and len(self._running) < AT_ONCE:
                errand = self._waiting.popleft()
                errand.begun_at = self._clock()
                self._running.add(errand)
                threading.Thread(target=self._run, args=(errand,), name="errand", daemon=True).start()

    def _run(self, errand: Errand) -> None:
        try:
            for bell in errand.run():
                self._ring(bell)
        except Exception as error:  # noqa: BLE001  # what the sweeper asked for becomes due again
            _log.warning("could not process a due entry", errand=str(errand.name), exc_info=error)
        finally:
            with self._lock:
                self._running.discard(errand)
                self._last_ended_at = self._clock()
