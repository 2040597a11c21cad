"""Jobs of a client that writes to the board itself, and hears from it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence, Set
from contextlib import aclosing, suppress
from typing import Any, Final, Protocol, Self

import redis
from pydantic import ValidationError

from querymill.client.callbacks import check_callback
from querymill.client.events.waits import BEGINNING, Heard
from querymill.client.events.watch import Watch
from querymill.client.transport import RETRIEVERS, Accepted, Collections, by_collection
from querymill.extras import needing
from querymill.presenting.feedback import feedback_on_hit
from querymill_shared.board import (
    CANCELLED,
    AsyncValkeyBoard,
    Picture,
    StreamedEvent,
    ValkeyBoard,
    ValkeyWatchedBoard,
    Verdict,
)
from querymill_shared.board.batch_shelf import BatchShelf
from querymill_shared.board.connections import CLIENT_COMMANDS
from querymill_shared.board.lives import writes_answers
from querymill_shared.board.submitting import Submitted
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.errors import (
    JobCancelled,
    JobFailed,
    UnknownCollection,
    UnknownJob,
    UnreadableJob,
    broken_rules,
)
from querymill_shared.contracts.events import Cancelled, Done, Event, Failed, decode_event
from querymill_shared.contracts.feedback import GiveFeedback
from querymill_shared.contracts.jobs import AnyResult, JobRequest, decode_result
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.results import JobResult
from querymill_shared.contracts.search import Search, parts_of, with_branches
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.settings import Settings
from querymill_shared.urls import mask


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


class BoardTransport:
    """Carries jobs for threads, over a board that ``accept`` puts them on. See `Transport`."""

    is_remote: Final = False

    def __init__(
        self, board: ValkeyBoard, accept: Accepts, watch: Watch, *, place: str, settings: Settings,
        close: Sequence[Callable[[], None]] = (),
    ) -> None:  # fmt: skip
        self.place = place
        self._settings = settings
        self.board = board
        self._accept = accept
        self._watch = watch
        self._close = (watch.close, *close)
        self._shelf: BatchShelf | None = None
        self._known: dict[Any, set[str]] = {}

    @classmethod
    def connect(cls, settings: Settings) -> Self:
        """Connect to the board of the settings, and to its broker if that is another server."""
        board = ValkeyBoard.connect(settings, connections=CLIENT_COMMANDS)
        watch = Watch(lambda: ValkeyWatchedBoard.connect(settings))
        place, doorbell = mask(settings.redis_url), doorbell_of(settings)
        if doorbell is None:
            return cls(board, board.submit_and_ring, watch, place=place, settings=settings, close=(board.close,))
        accept = ringing_after(board, doorbell)
        return cls(board, accept, watch, place=place, settings=settings, close=(board.close, doorbell.close))

    def close(self) -> None:
        """See `Transport.close`."""
        for close in self._close:
            close()

    def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Transport.submit`."""
        check_callback(options, self._settings)
        if isinstance(request, Search):
            if not _knows_branches(request, self._known):
                self._known = {kind: set(names) for kind, names in self.collections().items()}
                request = with_branches(request, by_collection(self._known))
        elif _asks_unknown(request, self._known):
            self._known[request.kind] = self.board.collections(request.kind)
            _refuse_unknown(request, self._known)
        return _accepted(self._accept(request, options))

    def events(self, job_id: str, *, after: str | None, until: float | None) -> Iterator[Event]:
        """See `Transport.events`."""
        if after is not None and self._is_over(job_id):
            known = self.board.events(job_id)
            if not known or known[-1][0] == after:
                return
        for told in self._watch.events(job_id, until=until, after=after or BEGINNING):
            event = _event_of(told)
            if event is not None:  # else only another release knows such events
                yield event

    def _is_over(self, job_id: str) -> bool:
        return self.board.picture(job_id).record.is_over

    def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Transport.result`."""
        return _result(job_id, self._watch.end(job_id, until=until))

    def picture(self, job_id: str) -> Picture:
        """See `Transport.picture`."""
        return self.board.picture(job_id).for_caller()

    def trail(self, job_id: str) -> Picture:
        """See `Transport.trail`."""
        return self.board.trail(job_id).for_caller()

    def cancel(self, job_id: str) -> bool:
        """See `Transport.cancel`."""
        return self.board.settle(job_id, Verdict("cancelled", reason=CANCELLED))

    def release(self, job_id: str) -> bool:
        """See `Transport.release`."""
        return self.board.release(job_id)

    def replay(self, job_id: str) -> bool:
        """See `Transport.replay`."""
        return self.board.replay(job_id)

    def drop(self, job_id: str) -> bool:
        """See `Transport.drop`."""
        return self.board.drop(job_id)

    def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """See `Transport.feedback`."""
        asked, written = self.picture(job_id).asked, self.board.result(job_id)
        kept = _feedback(job_id, asked, written, hit, relevance, comment)
        return self.submit(kept, PLAIN).job_id

    def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """See `Transport.recent`."""
        return self.board.recent(limit=limit, labels=labels, idempotency_key=idempotency_key)

    def past(self, *, until: float, limit: int) -> list[str]:
        """See `Transport.past`."""
        return self.board.past(until=until, limit=limit)

    def dead(self, *, limit: int) -> list[str]:
        """See `Transport.dead`."""
        return self.board.dead(limit=limit)

    def collections(self) -> Collections:
        """See `Transport.collections`."""
        return {retriever: self.board.collections(retriever) for retriever in RETRIEVERS}

    def record(self, batch: str, about: KeptBatch) -> None:
        """See `Transport.record`."""
        with suppress(redis.RedisError):
            self._shelf = self._shelf or self.board.shelf()
            self._shelf.keep(batch, about)


class AsyncBoardTransport:
    """`BoardTransport`, awaitable."""

    is_remote: Final = False

    def __init__(self, settings: Settings, *, connections: int | None = None) -> None:
        self.place = mask(settings.redis_url)
        self._settings = settings
        limits = {} if connections is None else {"connections": connections}
        self.board = AsyncValkeyBoard.connect(settings, **limits)
        self.watch = Watch(lambda: ValkeyWatchedBoard.connect(settings))
        self._doorbell = doorbell_of(settings)
        self._known: dict[Any, set[str]] = {}

    async def close(self) -> None:
        """See `Transport.close`."""
        await asyncio.to_thread(self.watch.close)
        await self.board.close()
        if self._doorbell is not None:
            self._doorbell.close()

    async def submit(self, request: JobRequest, options: SubmitOptions) -> Accepted:
        """See `Transport.submit`."""
        check_callback(options, self._settings)
        if isinstance(request, Search):
            if not _knows_branches(request, self._known):
                self._known = {kind: set(names) for kind, names in (await self.collections()).items()}
                request = with_branches(request, by_collection(self._known))
        elif _asks_unknown(request, self._known):
            self._known[request.kind] = await self.board.collections(request.kind)
            _refuse_unknown(request, self._known)
        submitted = await self.board.submit(request, options, rings=self._doorbell is None)
        if submitted.starts_work and self._doorbell is not None:
            await asyncio.to_thread(self._doorbell.ring, submitted.job_id, request)
        return _accepted(submitted)

    async def events(self, job_id: str, *, after: str | None, until: float | None) -> AsyncGenerator[Event]:
        """See `Transport.events`."""
        if after is not None:
            known = await self.board.summary(job_id)
            if known.record.is_over and (known.last or after) == after:
                return
        async with aclosing(self.watch.events_async(job_id, until=until, after=after or BEGINNING)) as found:
            async for told in found:
                event = _event_of(told)
                if event is not None:
                    yield event

    async def result(self, job_id: str, *, until: float | None) -> JobResult:
        """See `Transport.result`."""
        return _result(job_id, await self.watch.end_async(job_id, until=until))

    async def picture(self, job_id: str) -> Picture:
        """See `Transport.picture`."""
        return (await self.board.picture(job_id)).for_caller()

    async def trail(self, job_id: str) -> Picture:
        """See `Transport.trail`."""
        return (await self.board.trail(job_id)).for_caller()

    async def cancel(self, job_id: str) -> bool:
        """See `Transport.cancel`."""
        return await self.board.settle(job_id, Verdict("cancelled", reason=CANCELLED))

    async def release(self, job_id: str) -> bool:
        """See `Transport.release`."""
        return await self.board.release(job_id)

    async def replay(self, job_id: str) -> bool:
        """See `Transport.replay`."""
        return await self.board.replay(job_id)

    async def drop(self, job_id: str) -> bool:
        """See `Transport.drop`."""
        return await self.board.drop(job_id)

    async def feedback(self, job_id: str, hit: str, relevance: int, comment: str) -> str:
        """See `Transport.feedback`."""
        asked, written = (await self.picture(job_id)).asked, await self.board.result(job_id)
        kept = _feedback(job_id, asked, written, hit, relevance, comment)
        return (await self.submit(kept, PLAIN)).job_id

    async def recent(self, *, limit: int, labels: Mapping[str, str], idempotency_key: str | None) -> list[str]:
        """See `Transport.recent`."""
        return await self.board.recent(limit=limit, labels=labels, idempotency_key=idempotency_key)

    async def past(self, *, until: float, limit: int) -> list[str]:
        """See `Transport.past`."""
        return await self.board.past(until=until, limit=limit)

    async def dead(self, *, limit: int) -> list[str]:
        """See `Transport.dead`."""
        return await self.board.dead(limit=limit)

    async def collections(self) -> Collections:
        """See `Transport.collections`."""
        return {retriever: await self.board.collections(retriever) for retriever in RETRIEVERS}

    async def writes_answers(self) -> bool:
        """See `AsyncTransport.writes_answers`."""
        return writes_answers(await self.board.workers())


def ringing_after(board: ValkeyBoard, doorbell: Rings) -> Accepts:
    """Submit, and then ring elsewhere than on the board."""

    def accept(request: JobRequest, options: SubmitOptions = PLAIN) -> Submitted:
        job_id, is_new = board.submit(request, options)
        if is_new:
            doorbell.ring(job_id, request)
        return Submitted(job_id, starts_work=is_new)

    return accept


def doorbell_of(settings: Settings) -> Rings | None:
    """Return the doorbell of a broker of its own, or None if the broker is the board's own server, which then rings."""
    if settings.broker_url == settings.redis_url:
        return None
    with needing("broker", what="a CELERY_BROKER_URL other than REDIS_URL"):
        from querymill_shared.doorbell import Doorbell
    return Doorbell.connect(settings)


def _accepted(submitted: Submitted) -> Accepted:
    return Accepted(submitted.job_id, starts_work=submitted.starts_work, is_replayed=submitted.is_replayed)


def _knows_branches(search: Search, known: Mapping[str, Set[str]]) -> bool:
    """Whether the branches of a search are given, and each is known to hold something."""
    named = [parts_of(branch) for branch in search.branches]
    return bool(named) and all(collection in known.get(kind, ()) for kind, collection in named)


def _asks_unknown(request: JobRequest, known: Mapping[str, Set[str]]) -> bool:
    searches = isinstance(request, KindSearch)
    return searches and request.collection not in known.get(request.kind, set())


def _refuse_unknown(request: JobRequest, known: Mapping[str, Set[str]]) -> None:
    if _asks_unknown(request, known):
        raise UnknownCollection(request.collection, request.kind, known[request.kind])


def _feedback(
    job_id: str, asked: JobRequest | None, written: str | None, hit: str, relevance: int, comment: str
) -> GiveFeedback:
    result = None if written is None else _read(job_id, written)
    return feedback_on_hit(job_id, asked, result, hit=hit, relevance=relevance, comment=comment)


def _event_of(told: StreamedEvent) -> Event | None:
    event = decode_event(told.body)
    return None if event is None else event.with_id(told.event_id)


def _result(job_id: str, heard: Heard) -> JobResult:
    match decode_event(heard.told[-1].body):
        case Failed(reason=reason, code=code):
            raise JobFailed(job_id, f"failed: {reason}", code=code)
        case Cancelled():
            raise JobCancelled(job_id, "was cancelled")
        case Done():
            pass
        case _:
            raise JobFailed(job_id, "failed: it ended in a way that this release does not know")
    if heard.result is None:
        raise UnknownJob(job_id)
    return _read(job_id, heard.result)


def _read(job_id: str, written: str) -> AnyResult:
    try:
        return decode_result(written)
    except ValidationError as error:
        raise UnreadableJob(job_id, f"this release cannot read its result: {broken_rules(error)}") from error
