"""What carries the jobs of a client: the board itself, or a gateway over HTTP. Both do the same for it."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Set
from typing import Final, Protocol, get_args

from querymill_shared.board.picture import Picture
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.events import Event
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.values import value

RETRIEVERS: Final[tuple[Retriever, ...]] = get_args(Retriever)
#: The names of collections by kind.
Collections = Mapping[Retriever, Set[str]]


@value
class Accepted:
    """The job that a submission led to.

    It ``starts_work`` unless an idempotency key led to an earlier job (``is_replayed``), or identical work was in
    flight.
    """

    job_id: str
    starts_work: bool = False
    is_replayed: bool = False


class Transport(Protocol):
    """Carries jobs for threads. ``until`` is a time on the monotonic clock (s), None for ever; see `Job` for errors."""

    @property
    def place(self) -> str:
        """Where it leads to, without secrets."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether it asks a gateway, and not the board of the settings."""
        ...

    def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Querymill.submit`."""
        ...

    def events(self, job_id: str, *, after: str | None, until: float | None) -> Iterator[Event]:
        """See `Job.events`."""
        ...

    def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Job.result`."""
        ...

    def picture(self, job_id: str) -> Picture:
        """See `Job.picture`."""
        ...

    def trail(self, job_id: str) -> Picture:
        """See `Job.trail`."""
        ...

    def cancel(self, job_id: str) -> bool:
        """See `Job.cancel`."""
        ...

    def release(self, job_id: str) -> bool:
        """See `Job.release`."""
        ...

    def replay(self, job_id: str) -> bool:
        """See `Job.replay`."""
        ...

    def drop(self, job_id: str) -> bool:
        """See `Job.drop`."""
        ...

    def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """Return the id of the job that keeps what is said of a hit; see `Job.feedback`."""
        ...

    def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """Return the ids of the latest jobs that have these labels and the key, if one is given, newest first."""
        ...

    def past(self, *, until: float, limit: int) -> list[str]:
        """Return the ids of the latest jobs that have ended, submitted until a time (s since the epoch)."""
        ...

    def dead(self, *, limit: int) -> list[str]:
        """Return the ids of dead jobs, the latest first."""
        ...

    def collections(self) -> Collections:
        """Return the collections that can be searched."""
        ...

    def record(self, batch: str, about: KeptBatch) -> None:
        """Keep how far an ingestion is, so that the console shows it. What cannot be kept is no reason to stop."""
        ...

    def close(self) -> None:
        """Close the connections. Callers that still wait get `ClientClosed`."""
        ...


class AsyncTransport(Protocol):
    """`Transport`, awaitable."""

    @property
    def place(self) -> str:
        """Where it leads to, without secrets."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether it asks a gateway, and not the board of the settings."""
        ...

    async def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Querymill.submit`."""
        ...

    def events(self, job_id: str, *, after: str | None, until: float | None) -> AsyncGenerator[Event]:
        """See `Job.events`."""
        ...

    async def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Job.result`."""
        ...

    async def picture(self, job_id: str) -> Picture:
        """See `Job.picture`."""
        ...

    async def trail(self, job_id: str) -> Picture:
        """See `Job.trail`."""
        ...

    async def cancel(self, job_id: str) -> bool:
        """See `Job.cancel`."""
        ...

    async def release(self, job_id: str) -> bool:
        """See `Job.release`."""
        ...

    async def replay(self, job_id: str) -> bool:
        """See `Job.replay`."""
        ...

    async def drop(self, job_id: str) -> bool:
        """See `Job.drop`."""
        ...

    async def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """Return the id of the job that keeps what is said of a hit; see `Job.feedback`."""
        ...

    async def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """See `Transport.recent`."""
        ...

    async def past(self, *, until: float, limit: int) -> list[str]:
        """See `Transport.past`."""
        ...

    async def dead(self, *, limit: int) -> list[str]:
        """Return the ids of dead jobs, the latest first."""
        ...

    async def collections(self) -> Collections:
        """Return the collections that can be searched."""
        ...

    async def writes_answers(self) -> bool:
        """Return whether a chat model writes answers. A gateway does not tell: False."""
        ...

    async def close(self) -> None:
        """Close the connections. Callers that still wait get `ClientClosed`."""
        ...


def by_collection(of: Collections) -> dict[str, tuple[Retriever, ...]]:
    """Return the kinds that each collection holds."""
    names = sorted(set().union(*of.values()))
    return {name: tuple(retriever for retriever, held in of.items() if name in held) for name in names}
