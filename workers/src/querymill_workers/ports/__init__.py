"""What the flows need of the world. Adapters satisfy these by shape."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.board import Board, Claim
from querymill_shared.queues import Queue
from querymill_workers.domain.calibration import Calibration
from querymill_workers.domain.file_relevance import FileProfiles
from querymill_workers.domain.references import Near, Reference
from querymill_workers.domain.technical_keywords import TechnicalKeywords
from querymill_workers.ports.answers import Answers, Hear, Judged, Written
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
    ConversationHead,
    ConversationMessage,
    Conversations,
    StoredSession,
    conversation_of,
    head_of,
)
from querymill_workers.ports.files import (
    FileCard,
    FileCounts,
    FileDraft,
    Files,
    FileSymbol,
    FoundChunk,
    KeyedChunk,
    Parsed,
    PatternHit,
    PatternHits,
    PendingChunk,
    SourceParser,
)
from querymill_workers.ports.messages import Messages, Nearest, SessionDraft, Sessions
from querymill_workers.ports.models import (
    Caller,
    Embeddings,
    FormerModel,
    InputType,
    Judge,
    Refused,
    Rewriter,
    Unavailable,
    Unreadable,
    Usage,
    Vectors,
)
from querymill_workers.ports.stores import (
    ContentHash,
    FoundPassage,
    Modules,
    PassageText,
    Reports,
    Revision,
    TextVector,
    TextVectors,
    Vocabulary,
    WordHit,
    Words,
    WordUnit,
)

__all__ = [
    "Answers",
    "Bell",
    "BestPassage",
    "Caller",
    "ContentHash",
    "Conversation",
    "ConversationCaches",
    "ConversationCard",
    "ConversationDraft",
    "ConversationHead",
    "ConversationMessage",
    "ConversationRanks",
    "Conversations",
    "Embeddings",
    "FileCard",
    "FileCounts",
    "FileDraft",
    "FileSymbol",
    "Files",
    "FormerModel",
    "FoundChunk",
    "FoundPassage",
    "Hear",
    "Heartbeat",
    "InputType",
    "Judge",
    "Judged",
    "Kept",
    "KeyedChunk",
    "Messages",
    "Modules",
    "Near",
    "Nearest",
    "Parsed",
    "PassageText",
    "PatternHit",
    "PatternHits",
    "PendingChunk",
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
    "Sessions",
    "SourceParser",
    "StoredSession",
    "TextVector",
    "TextVectors",
    "Unavailable",
    "Unreadable",
    "Usage",
    "Vectors",
    "Vocabulary",
    "WordHit",
    "WordUnit",
    "Words",
    "Written",
    "conversation_of",
    "head_of",
]


class Heartbeat(Protocol):
    """Keeps leases alive while their work is done."""

    def keep(self, claim: Claim) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a flow may touch. ``clock`` gives monotonic seconds; ``former`` is the embedding model before."""

    board: Board
    heartbeat: Heartbeat
    embeddings: Embeddings
    rewriter: Rewriter
    judge: Judge
    answers: Answers
    reports: Reports
    text_vectors: TextVectors
    modules: Modules
    words: Words
    shorthands: Mapping[str, Sequence[str]]
    messages: Messages
    sessions: Sessions
    files: Files
    parser: SourceParser
    conversations: Conversations
    conversation_caches: ConversationCaches
    ranks: ConversationRanks
    technical_keywords: TechnicalKeywords
    file_profiles: FileProfiles
    calibration: Calibration
    glossary: Mapping[str, str]
    count_tokens: Callable[[str], int]
    clock: Callable[[], float]
    max_attempts: int
    former: FormerModel | None = None


@dataclass(frozen=True, slots=True)
class Bell:
    """A doorbell: which step of which job should be looked at, and on which queue it rings."""

    job_id: str
    step: str
    queue: Queue
