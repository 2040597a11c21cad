"""The client, synchronous and asynchronous: it validates a request, writes the job to the board, and rings."""

import copyreg
import time
from collections.abc import Callable, Mapping
from copy import copy
from datetime import datetime
from functools import cache
from typing import Any, Self, TypeVar, cast

from pydantic import ValidationError

from querymill.client.documents import AsyncDocumentCalls, DocumentCalls
from querymill.client.job import AsyncJob, Job
from querymill.client.transport import AsyncTransport, Transport
from querymill.extras import needing
from querymill.ingesting.loading import LoadCalls, OnEvent, Rows, load_async
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import PathOptions
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.callbacks import Callback
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.submit_options import NO_LABELS, PLAIN, SubmitOptions
from querymill_shared.settings import Settings

R = TypeVar("R", bound=JobResult)
#: Called with each request that is submitted, and the job's id.
Sent = Callable[[JobRequest, str], None]


class Querymill(DocumentCalls, LoadCalls):
    """A connection to the board and its doorbells, or to a gateway; safe to share between threads.

    Args:
        redis_url: The board. Without it, and without a ``url``, it is that of the settings.
        settings: The settings, if not those of the environment.
        url: A gateway, such as https://mill.example.org, to call over HTTP instead of the board.
        api_key: The key that the gateway asks for. It is sent to no other address.

    Raises:
        InvalidRequest: ``url`` or ``api_key`` breaks a rule.
        NotInstalled: The extra ``http`` or ``board`` is not installed.
    """

    _labels: Mapping[str, str] = NO_LABELS

    def __init__(
        self,
        *,
        redis_url: str | None = None,
        settings: Settings | None = None,
        url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        self._use(_transport(redis_url, settings, url, api_key))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._transport.place}>"

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self._sent: Sent = _nobody

    def telling(self, sent: Sent) -> Self:
        """Return this client as one that also tells of each job that it submits: the request, and the job's id."""
        other = copy(self)
        other._sent = sent  # noqa: SLF001  # of this class
        return other

    def record_batch(self, batch: str, about: KeptBatch) -> None:
        """Keep how far an ingestion is, for the console to show. What cannot be kept is no reason to stop."""
        self._transport.record(batch, about)

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
        self._transport.close()

    def submit(
        self, request: Asks[R], *, idempotency_key: str | None = None, labels: Mapping[str, str] = NO_LABELS,
        supersedes: Mapping[str, str] = NO_LABELS, callback: Callback | None = None,
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

        The address of a ``callback`` is told of the end of the job by a signed POST, at least once;
        `querymill.webhooks.verify` reads it.

        Raises:
            InvalidRequest: What accompanies the request breaks a rule; the error names both.
            UnknownCollection: Nothing was ever ingested into the collection; nothing is enqueued.
            IdempotencyConflict: The key belongs to another request.
            Overloaded: So much work waits that no worker could begin the job before its deadline; nothing is enqueued.
            Unavailable: The board is away.
        """
        return self.submit_with(request, _beside(idempotency_key, labels, supersedes, callback))

    def submit_with(self, request: Asks[R], options: SubmitOptions) -> Job[R]:
        """Submit a job with what accompanies it as one value; see `submit`."""
        asked = cast("JobRequest", request)
        accepted = self._transport.submit(asked, _labelled(options, self._labels))
        self._sent(asked, accepted.job_id)
        return Job(accepted.job_id, self._transport, asked=asked, is_new=accepted.starts_work)

    def job(self, job_id: str) -> Job[Any]:
        """Return a job that was submitted before, by this process or another."""
        return Job(job_id, self._transport)

    def recent(
        self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS, idempotency_key: str | None = None
    ) -> list[Job[Any]]:
        """List the latest jobs, newest first: all, or those with all of these labels and the idempotency key."""
        found = self._transport.recent(limit=limit, labels=labels, idempotency_key=idempotency_key)
        return [self.job(job_id) for job_id in found]

    def past(self, *, until: datetime | None = None, limit: int = 20) -> list[Job[Any]]:
        """List the latest jobs that have ended, also those that are gone, newest first: see `Job.trail`.

        Only those that were submitted ``until`` a time, if that is given.
        """
        return [self.job(job_id) for job_id in self._transport.past(until=_moment(until), limit=limit)]

    def dead(self, *, limit: int = 20) -> list[Job[Any]]:
        """List the dead jobs, the latest first: given up for good, and kept for a week to be replayed or dropped."""
        return [self.job(job_id) for job_id in self._transport.dead(limit=limit)]


class AsyncQuerymill(AsyncDocumentCalls):
    """`Querymill`, awaitable."""

    _labels: Mapping[str, str] = NO_LABELS

    def __init__(
        self,
        *,
        redis_url: str | None = None,
        settings: Settings | None = None,
        url: str | None = None,
        api_key: str | None = None,
    ) -> None:
        self._use(
            _async_transport(redis_url, settings, url, api_key),
            in_threads=lambda: Querymill(redis_url=redis_url, settings=settings, url=url, api_key=api_key),
        )

    def _use(self, transport: AsyncTransport, *, in_threads: Callable[[], Querymill]) -> None:
        self._transport = transport
        # What reads rows and files does so in a thread, with a client of its own.
        self._in_threads = in_threads

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._transport.place}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Callers that still wait get `ClientClosed`."""
        await self._transport.close()

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """See `Querymill.labelled`."""
        other = copy(self)
        other._labels = _labelled(PLAIN, {**self._labels, **labels}).labels  # noqa: SLF001  # of this class
        return other

    async def submit(
        self, request: Asks[R], *, idempotency_key: str | None = None, labels: Mapping[str, str] = NO_LABELS,
        supersedes: Mapping[str, str] = NO_LABELS, callback: Callback | None = None,
    ) -> AsyncJob[R]:  # fmt: skip
        """See `Querymill.submit`."""
        return await self.submit_with(request, _beside(idempotency_key, labels, supersedes, callback))

    async def submit_with(self, request: Asks[R], options: SubmitOptions) -> AsyncJob[R]:
        """See `Querymill.submit_with`."""
        asked = cast("JobRequest", request)
        accepted = await self._transport.submit(asked, _labelled(options, self._labels))
        return AsyncJob(
            accepted.job_id,
            self._transport,
            asked=asked,
            is_new=accepted.starts_work,
            is_replayed=accepted.is_replayed,
        )

    def job(self, job_id: str) -> AsyncJob[Any]:
        """Return a job that was submitted before, by this process or another."""
        return AsyncJob(job_id, self._transport)

    async def writes_answers(self) -> bool:
        """Return whether a chat model writes answers, as all workers that ask one say. Through a gateway: False."""
        return await self._transport.writes_answers()

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
        return await load_async(self._in_threads, kind, rows, collection, on_event, options, given)

    async def recent(
        self, *, limit: int = 20, labels: Mapping[str, str] = NO_LABELS, idempotency_key: str | None = None
    ) -> list[AsyncJob[Any]]:
        """See `Querymill.recent`."""
        found = await self._transport.recent(limit=limit, labels=labels, idempotency_key=idempotency_key)
        return [self.job(job_id) for job_id in found]

    async def past(self, *, until: datetime | None = None, limit: int = 20) -> list[AsyncJob[Any]]:
        """See `Querymill.past`."""
        return [self.job(job_id) for job_id in await self._transport.past(until=_moment(until), limit=limit)]

    async def dead(self, *, limit: int = 20) -> list[AsyncJob[Any]]:
        """See `Querymill.dead`."""
        return [self.job(job_id) for job_id in await self._transport.dead(limit=limit)]


def _moment(until: datetime | None) -> float:
    """Return a time in seconds since the epoch. Without one it is later than the board's clock can be ahead."""
    return time.time() + 3600 if until is None else until.timestamp()


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


def _written(rebuild: Callable[[str], Any], job: Job[Any] | AsyncJob[Any]) -> tuple[Callable[[str], Any], tuple[str]]:
    """Return what is pickled of a job.

    Raises:
        TypeError: It belongs to a gateway, whose key must not be pickled with it.
    """
    if job.needs_key:
        raise TypeError(f"{job!r} cannot be pickled: keep its id, and call job(id) of a client with the same url")
    return rebuild, (job.id,)


copyreg.pickle(Job, lambda job: _written(_job_of, job))
copyreg.pickle(AsyncJob, lambda job: _written(_async_job_of, job))


def _transport(redis_url: str | None, settings: Settings | None, url: str | None, api_key: str | None) -> Transport:
    if url is None:
        chosen = _of_board(redis_url, settings, api_key)
        with needing("board", what="Querymill() on the board"):
            from querymill.client.board_transport import BoardTransport
        return BoardTransport.connect(chosen)
    _refuse_both(redis_url)
    with needing("http", what="Querymill(url=…)"):
        from querymill.client.http.blocking import HttpTransport
    return HttpTransport(url, api_key)


def _async_transport(
    redis_url: str | None, settings: Settings | None, url: str | None, api_key: str | None
) -> AsyncTransport:
    if url is None:
        chosen = _of_board(redis_url, settings, api_key)
        with needing("board", what="AsyncQuerymill() on the board"):
            from querymill.client.board_transport import AsyncBoardTransport
        return AsyncBoardTransport(chosen)
    _refuse_both(redis_url)
    with needing("http", what="AsyncQuerymill(url=…)"):
        from querymill.client.http.transport import AsyncHttpTransport
    return AsyncHttpTransport(url, api_key)


def _of_board(redis_url: str | None, settings: Settings | None, api_key: str | None) -> Settings:
    if api_key is not None:
        raise InvalidRequest(("api_key", "needs the url of a gateway"))
    chosen = settings or Settings()
    return chosen if redis_url is None else chosen.model_copy(update={"redis_url": redis_url})


def _refuse_both(redis_url: str | None) -> None:
    if redis_url is not None:
        raise InvalidRequest(("url", "must not be given beside redis_url"))


def _nobody(request: JobRequest, job_id: str) -> None:
    """Tell nobody of a job."""


def _beside(
    idempotency_key: str | None, labels: Mapping[str, str], supersedes: Mapping[str, str], callback: Callback | None
) -> SubmitOptions:
    try:
        return SubmitOptions(
            idempotency_key=idempotency_key, labels=dict(labels), supersedes=dict(supersedes), callback=callback
        )
    except ValidationError as error:
        raise InvalidRequest.of(error) from None


def _labelled(options: SubmitOptions, labels: Mapping[str, str]) -> SubmitOptions:
    try:
        return options.labelled(labels)
    except ValidationError as error:
        raise InvalidRequest.of(error) from None
