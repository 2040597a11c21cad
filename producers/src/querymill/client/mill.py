"""The client, synchronous and asynchronous: it validates a request, writes the job to the board, and rings."""

import asyncio
import copyreg
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cache, partial
from typing import Any, Protocol, Self, TypeVar, cast

from pydantic import ValidationError

from querymill.client.documents import AsyncDocumentCalls, DocumentCalls
from querymill.client.events.watch import Watch
from querymill.client.job import AsyncJob, Job
from querymill.extras import needing
from querymill.ingesting.loading import LoadCalls, OnEvent, Rows, load_async
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import PathOptions
from querymill_shared.board import AsyncValkeyBoard, Board, ValkeyBoard, ValkeyWatchedBoard
from querymill_shared.board.connections import CLIENT_COMMANDS
from querymill_shared.board.jobs_of_batch import BatchShelf
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.errors import InvalidRequest, UnknownCollection
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.search import Search, parts_of, with_branches
from querymill_shared.contracts.submit_options import NO_LABELS, PLAIN, SubmitOptions
from querymill_shared.settings import Settings
from querymill_shared.urls import mask

R = TypeVar("R", bound=JobResult)


class Accepts(Protocol):
    """Puts a job on the board and tells the workers of it."""

    def __call__(self, request: JobRequest, options: SubmitOptions = PLAIN) -> Submitted:
        """Return the job that it led to."""
        ...


class Rings(Protocol):
    """Tells the workers that a job is on the board."""

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def ringing_after(board: Board, doorbell: Rings) -> Accepts:
    """Submit, and then ring elsewhere than on the board."""

    def accept(request: JobRequest, options: SubmitOptions = PLAIN) -> Submitted:
        job_id, is_new = board.submit(request, options)
        if is_new:
            doorbell.ring(job_id, request)
        return Submitted(job_id, starts_work=is_new)

    return accept


class Querymill(DocumentCalls, LoadCalls):
    """A connection to the board and its doorbells; safe to share between threads."""

    #: Where the records of ingestions are kept.
    shelf: BatchShelf
    _labels: Mapping[str, str] = NO_LABELS

    def __init__(self, *, redis_url: str | None = None, settings: Settings | None = None) -> None:
        chosen = _chosen(redis_url, settings)
        board = ValkeyBoard.connect(chosen, connections=CLIENT_COMMANDS)
        watch = Watch(lambda: ValkeyWatchedBoard.connect(chosen))
        doorbell = _doorbell_of(chosen)
        place = mask(chosen.redis_url)
        if doorbell is None:
            self._use(board, board.submit_and_ring, watch, place=place, close=(board.close,))
        else:
            self._use(board, ringing_after(board, doorbell), watch, place=place, close=(board.close, doorbell.close))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._place}>"

    def _use(
        self, board: ValkeyBoard, accept: Accepts, watch: Watch, *, place: str, close: Sequence[Callable[[], None]]
    ) -> None:
        self._place = place
        self._board: Board = board
        self.shelf = board.shelf()
        self._accept = accept
        self._watch = watch
        self._close = (watch.close, *close)
        self._known: dict[str, set[str]] = {}

    def telling(self, sent: Callable[[JobRequest, str], None]) -> Self:
        """Return this client as one that also tells of each job that it submits: the request, and the job's id."""
        accept = self._accept

        def told(request: JobRequest, options: SubmitOptions = PLAIN) -> Submitted:
            submitted = accept(request, options)
            sent(request, submitted.job_id)
            return submitted

        other = copy(self)
        other._accept = told  # noqa: SLF001  # of this class
        return other

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return this client as one that gives these labels to each job that it submits, whatever it is about.

        Raises:
            InvalidRequest: A label breaks a rule; the error names both.
        """
        other = copy(self)
        other._labels = _labelled(PLAIN, {**self._labels, **labels}).labels  # noqa: SLF001  # of this class
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. Callers that still wait get `ClientClosed`."""
        for close in self._close:
            close()

    def submit(
        self, request: Asks[R], *, idempotency_key: str | None = None, labels: Mapping[str, str] = NO_LABELS,
        supersedes: Mapping[str, str] = NO_LABELS,
    ) -> Job[R]:  # fmt: skip
        """Submit a job. When this returns, the job is on the board and is certain to end, even if workers die.

        If the ``idempotency_key`` was used before, the first job is returned and nothing is started. Once that job was
        released, or its result has expired, the work starts again.

        If an identical search is in flight and nothing was stored since, both are worked once. The job still has an id,
        events, a result and an end of its own.

        ``labels`` are up to ten names with values of your own, such as ``{"user": "ada", "session": "42"}``. They are
        in the result, in logs, traces and metrics, and the job is found by them; they change nothing in what is found.
        ``supersedes`` is one label, which the job gets too: the jobs of the collection with that label, submitted
        before by the same caller and not ended, are cancelled once this one is accepted.

        Raises:
            InvalidRequest: What accompanies the request breaks a rule; the error names both.
            UnknownCollection: Nothing was ever ingested into the collection; nothing is enqueued.
            IdempotencyConflict: The key belongs to another request.
            Overloaded: So much work waits that no worker could begin the job before its deadline; nothing is enqueued.
            Unavailable: The board is away.
        """
        return self.submit_with(request, _beside(idempotency_key, labels, supersedes))

    def submit_with(self, request: Asks[R], options: SubmitOptions) -> Job[R]:
        """Submit a job with what accompanies it as one value; see `submit`."""
        asked = cast("JobRequest", request)
        if isinstance(asked, Search):
            if not _knows_branches(asked, self._known):
                held = self.collections()
                asked, self._known = with_branches(asked, held), _by_kind(held)
        elif _asks_unknown(asked, self._known):
            self._known[asked.kind] = self._board.collections(asked.kind)
            _refuse_unknown(asked, self._known)
        submitted = self._accept(asked, _labelled(options, self._labels))
        return Job(submitted.job_id, self._board, self._watch, asked=asked, is_new=submitted.starts_work)

    def job(self, job_id: str) -> Job[Any]:
        """Return a job that was submitted before, by this process or another."""
        return Job(job_id, self._board, self._watch)

    def recent(self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS) -> list[Job[Any]]:
        """List the latest jobs, newest first: all, or those that have all of these labels."""
        return [Job(job_id, self._board, self._watch) for job_id in self._board.recent(limit=limit, labels=labels)]

    def past(self, *, until: datetime | None = None, limit: int = 20) -> list[Job[Any]]:
        """List the latest jobs that have ended, also those that are gone, newest first: see `Job.trail`.

        Only those that were submitted ``until`` a time, if that is given.
        """
        at = time.time() + 3600 if until is None else until.timestamp()
        return [Job(job_id, self._board, self._watch) for job_id in self._board.past(until=at, limit=limit)]

    def dead(self, *, limit: int = 20) -> list[Job[Any]]:
        """List the dead jobs, the latest first: given up for good, and kept for a week to be replayed or dropped."""
        return [Job(job_id, self._board, self._watch) for job_id in self._board.dead(limit=limit)]


class AsyncQuerymill(AsyncDocumentCalls):
    """`Querymill`, awaitable."""

    _labels: Mapping[str, str] = NO_LABELS

    def __init__(self, *, redis_url: str | None = None, settings: Settings | None = None) -> None:
        self._settings = _chosen(redis_url, settings)
        self._board = AsyncValkeyBoard.connect(self._settings)
        self._doorbell = _doorbell_of(self._settings)
        self._watch = Watch(lambda: ValkeyWatchedBoard.connect(self._settings))
        self._known: dict[str, set[str]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {mask(self._settings.redis_url)}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Callers that still wait get `ClientClosed`."""
        await asyncio.to_thread(self._watch.close)
        await self._board.close()
        if self._doorbell is not None:
            self._doorbell.close()

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """See `Querymill.labelled`."""
        other = copy(self)
        other._labels = _labelled(PLAIN, {**self._labels, **labels}).labels  # noqa: SLF001  # of this class
        return other

    async def submit(
        self, request: Asks[R], *, idempotency_key: str | None = None, labels: Mapping[str, str] = NO_LABELS,
        supersedes: Mapping[str, str] = NO_LABELS,
    ) -> AsyncJob[R]:  # fmt: skip
        """See `Querymill.submit`."""
        return await self.submit_with(request, _beside(idempotency_key, labels, supersedes))

    async def submit_with(self, request: Asks[R], options: SubmitOptions) -> AsyncJob[R]:
        """See `Querymill.submit_with`."""
        asked = cast("JobRequest", request)
        if isinstance(asked, Search):
            if not _knows_branches(asked, self._known):
                held = await self.collections()
                asked, self._known = with_branches(asked, held), _by_kind(held)
        elif _asks_unknown(asked, self._known):
            self._known[asked.kind] = await self._board.collections(asked.kind)
            _refuse_unknown(asked, self._known)
        submitted = await self._board.submit(asked, _labelled(options, self._labels), rings=self._doorbell is None)
        if submitted.starts_work and self._doorbell is not None:
            await asyncio.to_thread(self._doorbell.ring, submitted.job_id, asked)
        return AsyncJob(
            submitted.job_id,
            self._board,
            self._watch,
            asked=asked,
            is_new=submitted.starts_work,
            is_replayed=submitted.is_replayed,
        )

    def job(self, job_id: str) -> AsyncJob[Any]:
        """Return a job that was submitted before, by this process or another."""
        return AsyncJob(job_id, self._board, self._watch)

    async def ingest(
        self,
        kind: Retriever,
        rows: Rows,
        *,
        collection: str,
        options: PathOptions | None = None,
        on_event: OnEvent = lambda _: None,
        labels: Mapping[str, str] = NO_LABELS,
    ) -> Ingestion:
        """See `Querymill.ingest`. The rows are read in a thread; ``on_event`` is called in the loop."""
        given = {**self._labels, **labels}
        connected = partial(Querymill, settings=self._settings)
        return await load_async(connected, kind, rows, collection, on_event, options, given)

    async def recent(self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS) -> list[AsyncJob[Any]]:
        """See `Querymill.recent`."""
        found = await self._board.recent(limit=limit, labels=labels)
        return [AsyncJob(job_id, self._board, self._watch) for job_id in found]

    async def dead(self, *, limit: int = 20) -> list[AsyncJob[Any]]:
        """See `Querymill.dead`."""
        return [AsyncJob(job_id, self._board, self._watch) for job_id in await self._board.dead(limit=limit)]


@cache
def _own_client() -> Querymill:
    return Querymill()


@cache
def _own_async_client() -> AsyncQuerymill:
    return AsyncQuerymill()


def _job_of(job_id: str) -> Job[Any]:
    """Return a job that was pickled."""
    return _own_client().job(job_id)


def _async_job_of(job_id: str) -> AsyncJob[Any]:
    return _own_async_client().job(job_id)


copyreg.pickle(Job, lambda job: (_job_of, (job.id,)))
copyreg.pickle(AsyncJob, lambda job: (_async_job_of, (job.id,)))


def _chosen(redis_url: str | None, settings: Settings | None) -> Settings:
    chosen = settings or Settings()
    return chosen if redis_url is None else chosen.model_copy(update={"redis_url": redis_url})


def _doorbell_of(settings: Settings) -> Rings | None:
    """Return the doorbell of a broker of its own, or None if the broker is the board's own server, which then rings."""
    if settings.broker_url == settings.redis_url:
        return None
    with needing("broker", what="a CELERY_BROKER_URL other than REDIS_URL"):
        from querymill_shared.doorbell import Doorbell
    return Doorbell.connect(settings)


def _beside(idempotency_key: str | None, labels: Mapping[str, str], supersedes: Mapping[str, str]) -> SubmitOptions:
    try:
        return SubmitOptions(idempotency_key=idempotency_key, labels=dict(labels), supersedes=dict(supersedes))
    except ValidationError as error:
        raise InvalidRequest.of(error) from None


def _labelled(options: SubmitOptions, labels: Mapping[str, str]) -> SubmitOptions:
    try:
        return options.labelled(labels)
    except ValidationError as error:
        raise InvalidRequest.of(error) from None


def _knows_branches(search: Search, known: Mapping[str, set[str]]) -> bool:
    """Whether the branches of a search are given, and each is known to hold something."""
    named = [parts_of(branch) for branch in search.branches]
    return bool(named) and all(collection in known.get(kind, ()) for kind, collection in named)


def _by_kind(held: Mapping[str, Sequence[Retriever]]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for collection, kinds in held.items():
        for kind in kinds:
            known.setdefault(kind, set()).add(collection)
    return known


def _asks_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> bool:
    searches = isinstance(request, KindSearch)
    return searches and request.collection not in known.get(request.kind, set())


def _refuse_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> None:
    if _asks_unknown(request, known):
        raise UnknownCollection(request.collection, request.kind, known[request.kind])
