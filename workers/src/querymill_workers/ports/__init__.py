"""What the flows need of the world. Adapters satisfy these by shape."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.board import Board, Claim
from querymill_shared.queues import Queue
from querymill_workers.domain.calibration import Calibration
from querymill_workers.domain.references import Near, Reference
from querymill_workers.domain.technical_keywords import TechnicalKeywords
from querymill_workers.ports.conversation_caches import (
    BestPassage,
    ConversationCaches,
    ConversationCard,
    Kept,
    Recalled,
)
from querymill_workers.ports.conversation_ranks import (
    ConversationRanks,
    Published,
    RankMode,
    RankRow,
    ReferenceGraph,
)
from querymill_workers.ports.conversations import (
    Conversation,
    ConversationDraft,
    ConversationMessage,
    Conversations,
    StoredSession,
    conversation_of,
)
from querymill_workers.ports.models import (
    Caller,
    Embeddings,
    InputType,
    Judge,
    Refused,
    Rewriter,
    Unavailable,
    Usage,
    Vectors,
)
from querymill_workers.ports.stores import (
    ContentHash,
    FoundPassage,
    Messages,
    Modules,
    Nearest,
    PassageText,
    Reports,
    Revision,
    SessionDraft,
    TextVector,
    TextVectors,
    Vocabulary,
    WordHit,
    Words,
    WordUnit,
)

__all__ = [
    "Bell",
    "BestPassage",
    "Caller",
    "ContentHash",
    "Conversation",
    "ConversationCaches",
    "ConversationCard",
    "ConversationDraft",
    "ConversationMessage",
    "ConversationRanks",
    "Conversations",
    "Embeddings",
    "FoundPassage",
    "Heartbeat",
    "InputType",
    "Judge",
    "Kept",
    "Messages",
    "Modules",
    "Near",
    "Nearest",
    "PassageText",
    "Ports",
    "Published",
    "RankMode",
    "RankRow",
    "Recalled",
    "Reference",
    "ReferenceGraph",
    "Refused",
    "Reports",
    "Revision",
    "Rewriter",
    "SessionDraft",
    "StoredSession",
    "TextVector",
    "TextVectors",
    "Unavailable",
    "Usage",
    "Vectors",
    "Vocabulary",
    "WordHit",
    "WordUnit",
    "Words",
    "conversation_of",
]


class Heartbeat(Protocol):
    """Keeps leases alive while their work is done."""

    def keep(self, claim: Claim) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a flow may touch. ``clock`` gives monotonic seconds."""

    board: Board
    heartbeat: Heartbeat
    embeddings: Embeddings
    rewriter: Rewriter
    judge: Judge
    reports: Reports
    text_vectors: TextVectors
    modules: Modules
    words: Words
    shorthands: Mapping[str, Sequence[str]]
    messages: Messages
    conversations: Conversations
    conversation_caches: ConversationCaches
    ranks: ConversationRanks
    technical_keywords: TechnicalKeywords
    calibration: Calibration
    glossary: Mapping[str, str]
    count_tokens: Callable[[str], int]
    clock: Callable[[], float]
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Bell:
    """A doorbell: which step of which job should be looked at, and on which queue it rings."""

    job_id: str
    step: str
    queue: Queue
