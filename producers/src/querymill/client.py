"""The client, synchronous and asynchronous: validate, write to the board, ring, go on."""

import asyncio
from collections.abc import Mapping
from typing import Any, Self, overload

from querymill.broker import Doorbell
from querymill.job import AsyncJob, Job
from querymill_shared.board import AsyncValkeyBoard, ValkeyBoard
from querymill_shared.contracts.conversations import ConversationResult, ConversationSearch
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.errors import UnknownCollection
from querymill_shared.contracts.ingest_conversations import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    UpdateConversation,
)
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages import IngestSession, IngestSessionResult, MessageResult, MessageSearch
from querymill_shared.contracts.modules import (
    IngestModule,
    IngestModuleResult,
    LearnLexicon,
    LexiconResult,
    ModuleResult,
    ModuleSearch,
)
from querymill_shared.contracts.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.reports import IngestReport, IngestResult, ReportResult, ReportSearch
from querymill_shared.contracts.rerank import Rerank, RerankResult
from querymill_shared.settings import Settings


class Querymill:
    """A connection to the board and its doorbells; safe to share between threads."""

    def __init__(self, *, redis_url: str | None = None, settings: Settings | None = None) -> None:
        self._settings = _chosen(redis_url, settings)
        self._board = ValkeyBoard.connect(self._settings)
        self._doorbell = Doorbell(self._settings.broker_url)
        self._known: dict[str, set[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._board.close()
        self._doorbell.close()

    @overload
    def submit(self, request: ReportSearch, *, idempotency_key: str | None = None) -> Job[ReportResult]: ...
    @overload
    def submit(self, request: IngestReport, *, idempotency_key: str | None = None) -> Job[IngestResult]: ...
    @overload
    def submit(self, request: MessageSearch, *, idempotency_key: str | None = None) -> Job[MessageResult]: ...
    @overload
    def submit(self, request: ConversationSearch, *, idempotency_key: str | None = None) -> Job[ConversationResult]: ...
    @overload
    def submit(self, request: IngestSession, *, idempotency_key: str | None = None) -> Job[IngestSessionResult]: ...
    @overload
    def submit(self, request: EmbedTexts, *, idempotency_key: str | None = None) -> Job[EmbedResult]: ...
    @overload
    def submit(self, request: Rerank, *, idempotency_key: str | None = None) -> Job[RerankResult]: ...
    @overload
    def submit(self, request: ModuleSearch, *, idempotency_key: str | None = None) -> Job[ModuleResult]: ...
    @overload
    def submit(self, request: IngestModule, *, idempotency_key: str | None = None) -> Job[IngestModuleResult]: ...
    @overload
    def submit(self, request: LearnLexicon, *, idempotency_key: str | None = None) -> Job[LexiconResult]: ...
    @overload
    def submit(
        self, request: IngestConversation | UpdateConversation | DropConversation, *, idempotency_key: str | None = None
    ) -> Job[IngestConversationResult]: ...
    @overload
    def submit(self, request: RecomputeRanks, *, idempotency_key: str | None = None) -> Job[RanksResult]: ...
    @overload
    def submit(self, request: RankList, *, idempotency_key: str | None = None) -> Job[RankListResult]: ...
    @overload
    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> Job[Any]: ...

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> Job[Any]:
        """Hand a job over; it is on the board when this returns, and will end, whatever dies.

        With an ``idempotency_key`` that was used before, the first job is returned and nothing is started.

        Raises:
            UnknownCollection: Nothing was ever ingested there; nothing is enqueued.
            IdempotencyConflict: The key belongs to another request.
        """
        if _asks_unknown(request, self._known):
            self._known[request.kind] = self._board.collections(request.kind)
            _refuse_unknown(request, self._known)
        job_id, is_new = self._board.submit(request, idempotency_key=idempotency_key)
        if is_new:
            self._doorbell.ring(job_id, request)
        return Job(job_id, self._board, is_new=is_new)

    def job(self, job_id: str) -> Job[Any]:
        """Return to a job that was submitted before, here or elsewhere."""
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

    @overload
    async def submit(self, request: ReportSearch, *, idempotency_key: str | None = None) -> AsyncJob[ReportResult]: ...
    @overload
    async def submit(self, request: IngestReport, *, idempotency_key: str | None = None) -> AsyncJob[IngestResult]: ...
    @overload
    async def submit(
        self, request: MessageSearch, *, idempotency_key: str | None = None
    ) -> AsyncJob[MessageResult]: ...
    @overload
    async def submit(
        self, request: ConversationSearch, *, idempotency_key: str | None = None
    ) -> AsyncJob[ConversationResult]: ...
    @overload
    async def submit(
        self, request: IngestSession, *, idempotency_key: str | None = None
    ) -> AsyncJob[IngestSessionResult]: ...
    @overload
    async def submit(self, request: EmbedTexts, *, idempotency_key: str | None = None) -> AsyncJob[EmbedResult]: ...
    @overload
    async def submit(self, request: Rerank, *, idempotency_key: str | None = None) -> AsyncJob[RerankResult]: ...
    @overload
    async def submit(self, request: ModuleSearch, *, idempotency_key: str | None = None) -> AsyncJob[ModuleResult]: ...
    @overload
    async def submit(
        self, request: IngestModule, *, idempotency_key: str | None = None
    ) -> AsyncJob[IngestModuleResult]: ...
    @overload
    async def submit(self, request: LearnLexicon, *, idempotency_key: str | None = None) -> AsyncJob[LexiconResult]: ...
    @overload
    async def submit(
        self, request: IngestConversation | UpdateConversation | DropConversation, *, idempotency_key: str | None = None
    ) -> AsyncJob[IngestConversationResult]: ...
    @overload
    async def submit(self, request: RecomputeRanks, *, idempotency_key: str | None = None) -> AsyncJob[RanksResult]: ...
    @overload
    async def submit(self, request: RankList, *, idempotency_key: str | None = None) -> AsyncJob[RankListResult]: ...
    @overload
    async def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> AsyncJob[Any]: ...

    async def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> AsyncJob[Any]:
        """See `Querymill.submit`."""
        if _asks_unknown(request, self._known):
            self._known[request.kind] = await self._board.collections(request.kind)
            _refuse_unknown(request, self._known)
        job_id, is_new = await self._board.submit(request, idempotency_key=idempotency_key)
        if is_new:
            await asyncio.to_thread(self._doorbell.ring, job_id, request)
        return AsyncJob(job_id, self._board, is_new=is_new)

    def job(self, job_id: str) -> AsyncJob[Any]:
        """Return to a job that was submitted before, here or elsewhere."""
        return AsyncJob(job_id, self._board)


def _chosen(redis_url: str | None, settings: Settings | None) -> Settings:
    chosen = settings or Settings()
    return chosen if redis_url is None else chosen.model_copy(update={"redis_url": redis_url})


def _asks_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> bool:
    searches = isinstance(request, ReportSearch | ModuleSearch | MessageSearch | ConversationSearch)
    return searches and request.collection not in known.get(request.kind, set())


def _refuse_unknown(request: JobRequest, known: Mapping[str, set[str]]) -> None:
    if _asks_unknown(request, known):
        raise UnknownCollection(request.collection, request.kind, known[request.kind])
