"""The queues: one per resource that can run short."""

from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.conversations.ingest import DropConversation, IngestConversation, UpdateConversation
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.files.ingest import CompareFiles, EmbedFiles, IngestFiles
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.life import EmbedMessages, ForgetSession, ReembedMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.ingest import IngestModule
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import SPLIT, ModuleSearch
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.search import ORIGINAL, ReportSearch
from querymill_shared.contracts.rerank import Rerank


class Queue(StrEnum):
    """Where a doorbell waits."""

    SEARCH = "search"  # the stores
    EXPAND = "expand"  # the chat model
    INGEST = "ingest"  # documents: chunking, the embedding model, the stores
    EMBED = "embed"  # the embedding model alone, in bulk
    RERANK = "rerank"  # the judge of relevance: a chat model, or a rerank endpoint
    RANKS = "ranks"  # the processor: how conversations refer to each other


def queue_of(request: JobRequest, step: str) -> Queue:  # noqa: C901  # one arm for each kind, and nothing else
    """Name the queue on which the bell of one step of a job is rung."""
    match request:
        case ReportSearch():
            return Queue.SEARCH if step == ORIGINAL else Queue.EXPAND
        case ModuleSearch():
            return Queue.EXPAND if step == SPLIT else Queue.SEARCH
        case MessageSearch() | ConversationSearch() | RankList():
            return Queue.SEARCH
        case FileSearch():
            is_judged = request.evaluator == "judge" and step.startswith("evaluate")
            return Queue.RERANK if is_judged else Queue.SEARCH
        case IngestReport() | IngestModule() | LearnLexicon() | IngestSession() | ForgetSession() | Reindex():
            return Queue.INGEST
        case IngestConversation() | UpdateConversation() | DropConversation() | CompareFiles() | IngestFiles():
            return Queue.INGEST
        case RecomputeRanks():
            return Queue.RANKS
        case EmbedTexts() | EmbedMessages() | ReembedMessages() | EmbedFiles():
            return Queue.EMBED
        case Rerank():
            return Queue.RERANK
        case AnswerQuestion():
            return Queue.EXPAND
        case _:
            assert_never(request)


def task_of(queue: Queue) -> str:
    """Name the Celery task that listens on a queue; the version changes when the message does."""
    return f"querymill.{queue}.v1"


#: How producers and workers hold on to a Redis broker; the library's defaults hang on a half-open connection.
_REDIS_TRANSPORT: Mapping[str, float | bool] = {
    # A message of a worker that was killed comes back after this; the board's lease is quicker anyway.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}


def transport_options(broker_url: str) -> Mapping[str, float | bool]:
    """Give the broker transport's options; RabbitMQ confirms what it took, or a killed one loses it."""
    return _REDIS_TRANSPORT if broker_url.startswith("redis") else {"confirm_publish": True}
