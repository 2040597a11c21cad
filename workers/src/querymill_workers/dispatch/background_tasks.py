"""What the sweeper must not wait for: work that needs a store runs in threads of its own, with a time limit."""

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import structlog

from querymill_workers.jobs.bell import Bell

_log = structlog.get_logger(__name__)

#: A task that takes longer than this is given up, in seconds.
LIMIT_S = 3.0
#: So many tasks run at once.
AT_ONCE = 8
#: A task that still runs after this long no longer counts among those, in seconds: its thread may hang for good.
FORGOTTEN_AFTER_S = 60.0


@dataclass(slots=True, eq=False)
class BackgroundTask:
    """Work that needs a store; ``give_up`` touches the board only. Times are in monotonic seconds."""

    name: Hashable
    run: Callable[[], Sequence[Bell]]
    give_up: Callable[[], object]
    asked_at: float
    begun_at: float | None = None
    is_given_up: bool = field(default=False)


def is_late(now: float, *, asked_at: float, begun_at: float | None, last_ended_at: float) -> bool:
    """Return whether a task is to be given up.

    One that has begun has `LIMIT_S` seconds. One that waits has that long from when any task last ended: as long as
    others end, the store responds, and there is merely much to do.
    """
    since = begun_at if begun_at is not None else max(asked_at, last_ended_at)
    return now - since >= LIMIT_S


class BackgroundTasks:
    """Runs tasks aside. ``clock`` returns monotonic seconds."""

    def __init__(self, ring: Callable[[Bell], None], clock: Callable[[], float]) -> None:
        self._ring = ring
        self._clock = clock
        self._waiting: dict[Hashable, BackgroundTask] = {}
        self._running: dict[Hashable, BackgroundTask] = {}
        self._last_ended_at = clock()
        self._lock = threading.Lock()

    def ask(self, name: Hashable, run: Callable[[], Sequence[Bell]], *, give_up: Callable[[], object]) -> None:
        """Have work done, unless work of this name waits or runs. The bells that it returns are rung."""
        with self._lock:
            if name not in self._waiting and name not in self._running:
                self._waiting[name] = BackgroundTask(name, run, give_up, self._clock())
        self._begin()

    def tend(self) -> None:
        """Give up what is late, and begin what waits. To be called often."""
        now = self._clock()
        with self._lock:
            late = [task for task in (*self._running.values(), *self._waiting.values()) if self._is_late(task, now)]
            for task in late:
                task.is_given_up = True
            self._waiting = {name: task for name, task in self._waiting.items() if not task.is_given_up}
            self._running = {
                name: task for name, task in self._running.items() if now - (task.begun_at or now) < FORGOTTEN_AFTER_S
            }
        for task in late:
            _log.warning("a store did not respond in time", task=str(task.name))
            task.give_up()
        self._begin()

    def _is_late(self, task: BackgroundTask, now: float) -> bool:
        return not task.is_given_up and is_late(
            now, asked_at=task.asked_at, begun_at=task.begun_at, last_ended_at=self._last_ended_at
        )

    def _begin(self) -> None:
        with self._lock:
            while self._waiting and len(self._running) < AT_ONCE:
                task = self._waiting.pop(next(iter(self._waiting)))
                task.begun_at = self._clock()
                self._running[task.name] = task
                threading.Thread(target=self._run, args=(task,), name="task", daemon=True).start()

    def _run(self, task: BackgroundTask) -> None:
        try:
            for bell in task.run():
                self._ring(bell)
        except Exception as error:  # noqa: BLE001  # what the sweeper asked for becomes due again
            _log.warning("could not process a due entry", task=str(task.name), exc_info=error)
        finally:
            with self._lock:
                if self._running.get(task.name) is task:  # else it was forgotten, and another may run
                    del self._running[task.name]
                self._last_ended_at = self._clock()
