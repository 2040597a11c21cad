"""The client, synchronous and asynchronous: it validates a request, writes the job to the board, and rings."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar, cast

from querymill.broker import Doorbell
from querymill.job import AsyncJob, Job
from querymill_shared.board import AsyncValkeyBoard, Board, ValkeyBoard
from querymill_shared.contracts.errors import UnknownCollection
from querymill_shared.contracts.jobs import JobRequest, Search
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.settings import Settings

R = TypeVar("R", bound=JobResult)


class Rings(Protocol):
    """Tells the workers that a job is on the board."""

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job."""
        ...


class Querymill:
    """A connection to the board and its doorbells; safe to share between threads."""

    def __init__(self, *, redis_url: str | None = None, settings: Settings | None = None) -> None:
        chosen = _chosen(redis_url, settings)
        board, doorbell = ValkeyBoard.connect(chosen), Doorbell(chosen.broker_url)
        self._use(board, doorbell, close=(board.close, doorbell.close))

    def _use(self, board: Board, doorbell: Rings, *, close: Sequence[Callable[[], None]]) -> None:
        self._board = board
        self._doorbell = doorbell
        self._close = close
        self._known: dict[str, set[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        for close in self._close:
            close()

    def submit(self, request: Asks[R], *, idempotency_key: str | None = None) -> Job[R]:
        """Submit a job. When this returns, the job is on the board and is certain to end, even if workers die.

        If the ``idempotency_key`` was used before, the first job is returned and nothing is started.

        Raises:
            UnknownCollection: Nothing was ever ingested into the collection; nothing is enqueued.
            IdempotencyConflict: The key belongs to another request.
        """
        asked = cast("JobRequest", request)
        if _asks_unknown(asked, self._known):
            self._known[asked.kind] = self._board.collections(asked.kind)
            _refuse_unknown(asked, self._known)
        job_id, is_new = self._board.submit(asked, idempotency_key=idempotency_key)
        if is_new:
            self._doorbell.ring(job_id, asked)
        return Job(job_id, self._board, is_new=is_new)

    def job(self, job_id: str) -> Job[Any]:
        """Return a job that was submitted before, by this process or another."""
        return Job(job_id, self._board)

    def recent(self, *, most: int = 20) -> list[Job[Any]]:
        """List the latest jobs, newest first."""
        return [Job(job_id, self._board) for job_id in self._board.recent(most=most)]


class AsyncQuerymill:
    """`Querymill`, awaitable."""

    def __init__(self, *, redis_url: str | None = None, settings: Settings | None = None) -> None:
        self._settings = _chosen(redis_url, settings)
        self._board = AsyncValkeyBoard.connect(self._settings)
        self._doorbell = Doorbell(self._settings.broker_url)
        self._known: dict[str, set[str]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._board.close()
        self._doorbell.close()

    async def submit(self, request: Asks[R], *, idempotency_key: str | None = None) -> AsyncJob[R]:
        """See `Querymill.submit`."""
        asked = cast("JobRequest", request)
        if _asks_unknown(asked, self._known):
            self._known[asked.kind] = await self._board.collections(asked.kind)
            _refuse_unknown(asked, self._known)
        job_id, is_new = await self._board.submit(asked, idempotency_key=idempotency_key)
        if is_new:
            await asyncio.to_thread(self._doorbell.ring, job_id, asked)
        return AsyncJob(job_id, self._board, is_new=is_new)

    def job(self, job_id: str) -> AsyncJob[Any]:
        """Return a job that was submitted before, by this process or another."""
        return AsyncJob(job_id, self._board)


def _chosen(redis_url: str | None, settings: Settings | None) -> Settings:
    chosen = settings or Settings()
    return chosen if redis_url is None else chosen.model_copy(update={"redis_url": redis_url})


def _asks_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> bool:
    searches = isinstance(request, Search)
    return searches and request.collection not in known.get(request.kind, set())


def _refuse_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> None:
    if _asks_unknown(request, known):
        raise UnknownCollection(request.collection, request.kind, known[request.kind])
