"""What the flows need of the world. Adapters satisfy these by shape."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.board import Board, Claim
from querymill_shared.queues import Queue
from querymill_workers.domain.calibration import Calibration
from querymill_workers.domain.file_relevance import FileProfiles
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
    "Caller",
    "ContentHash",
    "Embeddings",
    "FileCard",
    "FileCounts",
    "FileDraft",
    "FileSymbol",
    "Files",
    "FoundChunk",
    "FoundPassage",
    "Heartbeat",
    "InputType",
    "Judge",
    "KeyedChunk",
    "Messages",
    "Modules",
    "Nearest",
    "Parsed",
    "PassageText",
    "PatternHit",
    "PatternHits",
    "PendingChunk",
    "Ports",
    "Refused",
    "Reports",
    "Revision",
    "Rewriter",
    "SessionDraft",
    "SourceParser",
    "TextVector",
    "TextVectors",
    "Unavailable",
    "Usage",
    "Vectors",
    "Vocabulary",
    "WordHit",
    "WordUnit",
    "Words",
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
    files: Files
    parser: SourceParser
    file_profiles: FileProfiles
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
