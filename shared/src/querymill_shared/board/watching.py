"""Watching jobs: what a process asks of the board and hears from it, so that one reader serves all its waiters."""

from collections.abc import Sequence
from typing import Final, Protocol

from querymill_shared.values import value

#: The types of event that end a job.
LAST_TYPES: Final = frozenset(("done", "failed", "cancelled"))


@value
class Subscription:
    """What a caller wants to know of a job: every event after an event id, or its end only."""

    job_id: str
    every_event: bool
    after: str = "0-0"


@value
class StreamedEvent:
    """An event of a job: its id in the job's own stream, the length of that stream then, its type, its JSON.

    The end of a job may come with the ``result`` as JSON.
    """

    job_id: str
    event_id: str
    count: int
    type: str
    body: str
    result: str | None = None

    @property
    def is_last(self) -> bool:
        """Whether it ends the job."""
        return self.type in LAST_TYPES


@value
class Seen:
    """What a look found: the events so far, or only the last one, if there is one; then with the result as JSON.

    ``count`` is the length of the job's own stream.
    """

    told: tuple[StreamedEvent, ...]
    count: int
    result: str | None = None


class Listener(Protocol):
    """Hears what happens to the jobs that one watcher watches, from its creation on."""

    def hear(self, *, wait_s: float) -> Sequence[StreamedEvent]:
        """Return what was told since the last call, waiting up to ``wait_s`` for the first. Nothing comes twice.

        Something may be missing, when the listener was slow or an old release wrote it.
        """
        ...


class WatchedBoard(Protocol):
    """What a process that waits for jobs asks of the board. A watcher is one reader of one process, by a random id.

    Made for two threads: one that listens, and one that does all else.
    """

    def listen(self, watcher: str) -> Listener:
        """Start to receive the events for a watcher."""
        ...

    def watch(self, looks: Sequence[Subscription], watcher: str) -> list[Seen | Exception]:
        """Register a watcher of each job, and return what has happened so far. The watcher receives everything later.

        An exception stands in the place of a job that cannot be watched: `UnknownJob` if there is none.
        """
        ...

    def overlooked(self, looks: Sequence[Subscription]) -> list[Subscription]:
        """Return the looks at jobs that have gone on, ended or vanished since."""
        ...

    def results(self, job_ids: Sequence[str]) -> list[str | None]:
        """Return the results as JSON, None for each that is not there."""
        ...

    def unattended(self, job_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the jobs with a step that waits on a queue on which no worker listens, and these queues."""
        ...

    def close(self) -> None:
        """Close the connections. A listener that waits returns or raises at once."""
        ...
