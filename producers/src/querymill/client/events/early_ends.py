"""The ends of jobs that were heard before anybody waited for them.

A process that waits for jobs can have itself told of a job's end in the call that submits it. Then the end may come
before the caller asks for it, and the caller need not ask the board. An end is kept for seconds only: its job may be
released, and what its result quotes may be forgotten.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from querymill.client.events.waits import Heard

#: So many ends are kept, each with a result of up to 16 KB.
MOST: Final = 256
#: For so long an end is kept, in seconds.
KEEP_S: Final = 5.0


@dataclass(slots=True)
class Registration:
    """A job that is being submitted, whose end a watcher will be told. ``next_end`` is the number of its next end.

    One wait uses it: an end is told once.
    """

    watcher: str
    next_end: int
    is_used: bool = False


class EarlyEnds:
    """The latest ends that nobody waited for. They are numbered; not safe to share between threads."""

    def __init__(self) -> None:
        self._ends: OrderedDict[str, tuple[int, float, Heard]] = OrderedDict()
        self._next = 0
        #: All ends before this one are dropped.
        self._kept_from = 0

    def register(self, watcher: str) -> Registration:
        """Begin to submit a job."""
        return Registration(watcher, self._next)

    def has_all_since(self, registration: Registration) -> bool:
        """Whether no end was dropped since a job began to be submitted."""
        return self._kept_from <= registration.next_end

    def keep(self, job_id: str, heard: Heard, *, now: float) -> None:
        """Keep an end that was heard ``now`` (s). If there are too many, the oldest is dropped."""
        self._ends.pop(job_id, None)
        self._ends[job_id] = self._next, now, heard
        self._next += 1
        if len(self._ends) > MOST:
            self._drop_oldest()

    def drop_old(self, now: float) -> None:
        """Drop the ends that were heard more than `KEEP_S` ago."""
        while self._ends and now - next(iter(self._ends.values()))[1] > KEEP_S:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, (number, _, _) = self._ends.popitem(last=False)
        self._kept_from = number + 1

    def take(self, job_id: str) -> Heard | None:
        """Return the end of a job if it was heard, and keep it no longer."""
        _, _, heard = self._ends.pop(job_id, (0, 0.0, None))
        return heard

    def drop_all(self) -> None:
        """Drop all ends, because some may not have been heard."""
        self._ends.clear()
        self._next += 1
        self._kept_from = self._next
