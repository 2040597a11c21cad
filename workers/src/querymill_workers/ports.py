"""What the flows need of the world. Adapters satisfy these by shape."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, NewType, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.board import Board, Claim
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.messages import ChatSession
from querymill_shared.contracts.reports import Report
from querymill_shared.queues import Queue
from querymill_workers.domain.bm25 import Scored
from querymill_workers.domain.calibration import Calibration
from querymill_workers.domain.chunking import Chunk
from querymill_workers.domain.fusion import HitKey
from querymill_workers.domain.routing import ReportCard
from querymill_workers.domain.sessions import Message, MessageFilter, MessagePassage, MessageRow, PendingPassage

#: One vector per row, float32.
Vectors = npt.NDArray[np.float32]
#: Hashes a report's content together with everything that shapes its passages and vectors.
Revision = NewType("Revision", str)
InputType = Literal["query", "passage"]
#: Hashes a text together with everything but the model that shapes its vector.
ContentHash = NewType("ContentHash", str)


class Unavailable(Exception):
    """Something outside did not answer as it should; trying again later may help."""


class Refused(Exception):
    """Something outside gave an answer that trying again would not better."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a step asked of the providers."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens)


@dataclass(frozen=True, slots=True)
class Caller:
    """On whose behalf a model is asked: which collection, in which lane, and until when.

    ``expires_at`` is in monotonic seconds; None has no end.
    """

    collection: str
    lane: Lane
    expires_at: float | None = None


class Embeddings(Protocol):
    """Turns texts into vectors of one model, checked: right number, right dimension, all finite."""

    @property
    def model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, input_type: InputType, caller: Caller) -> tuple[Vectors, Usage]:
        """Embed texts, one row each.

        Raises:
            Unavailable: The provider is away or slow.
            Refused: It answered with something that must not be stored or searched with, or its limit
                leaves no call before the caller's time is up.
        """
        ...


class Rewriter(Protocol):
    """Asks a chat model to reword a question by a method (hyde, synonym, subquestion, variant)."""

    def rewrite(self, method: str, question: str, *, terms: Mapping[str, str], caller: Caller) -> tuple[str, Usage]:
        """Return the model's reply as it came.

        Raises:
            Unavailable: No reply in time, or none that could be read.
            Refused: The provider's limit leaves no call before the caller's time is up.
        """
        ...


class Judge(Protocol):
    """Says how relevant passages are to a query, each from 0 to 1."""

    def judge(self, query: str, passages: Mapping[str, str], *, caller: Caller) -> tuple[Mapping[str, float], Usage]:
        """Judge passages by their ids; a passage that is left out was not judged. At least one passage.

        Raises:
            Unavailable: No answer in time, or none that could be read.
            Refused: An answer that asking again would not better, or no call before the caller's time is up.
        """
        ...


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a query found: where it stands, and its inner product with the query."""

    query: str
    document: str
    page: int
    number: int
    inner_product: float


@dataclass(frozen=True, slots=True)
class PassageText:
    """What a hit shows: the text behind its key, and the report it is from."""

    key: HitKey
    page: int
    text: str
    card: ReportCard


class Reports(Protocol):
    """The reports of all collections; every call names its collection, and sees no other."""

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """List the searchable reports of a collection whose vectors are this model's."""
        ...

    def search(
        self,
        collection: str,
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
        documents: Sequence[str],
        depth: int,
        per_document: bool,
        pages: bool,
    ) -> list[FoundPassage]:
        """Find, for each query text, the ``depth`` passages with the largest inner product.

        With ``pages`` only the best passage of each page counts, so that ``depth`` pages are found.

        In each of the documents if ``per_document``, else over all of them at once.
        """
        ...

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """Fetch what the keys stand for."""
        ...

    def revision(self, collection: str, document: str) -> Revision | None:
        """Return the revision of a report that is searchable now."""
        ...

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """Return the chunk numbers of a revision that are stored already."""
        ...

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """Store chunks of a revision, not searchable yet; storing one twice changes nothing."""
        ...

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """Make a revision the searchable one, whole and at once, and drop the others.

        Raises:
            Unavailable: Another revision was published meanwhile and dropped passages of this one.
        """
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a report."""
        ...


@dataclass(frozen=True, slots=True)
class TextVector:
    """A text's vector, and the hash of what was embedded."""

    text_id: str
    content: ContentHash
    embedding: npt.NDArray[np.float32]


class TextVectors(Protocol):
    """Vectors of single texts, one row per collection, text and model."""

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """Return, for those texts that have a vector of this model, the hash of what was embedded."""
        ...

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """Write rows, over those of the same text and model; storing one twice changes nothing."""
        ...


@dataclass(frozen=True, slots=True)
class WordUnit:
    """What is found by its words. ``group`` is a session or a document, to filter by."""

    id: str
    text: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class WordHit:
    """A unit that has words of the query; ``scored`` is what the score came from."""

    id: str
    score: float
    scored: Scored | None = field(default=None, compare=False, repr=False)


class Words(Protocol):
    """Exact BM25 over the units of every (collection, space); a space is a kind of unit, such as messages."""

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        """Add units or replace them, all at once, found by every worker from then on.

        Of two units with one id the later counts.

        Raises:
            Refused: The space is stale; clear it and put everything again.
        """
        ...

    def drop(self, collection: str, space: str, ids: Sequence[str]) -> None:
        """Take units away, all at once; ids that are not there are skipped."""
        ...

    def clear(self, collection: str, space: str) -> None:
        """Take everything away; the space is then no longer stale."""
        ...

    def search(
        self, collection: str, space: str, text: str, *, most: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]:
        """Find the ``most`` best units, best first, ties on the id; statistics are those of the whole space.

        Only units with at least one word of the text; with ``groups`` only units of these.

        Raises:
            Refused: The space is stale; its words are not those of the query.
        """
        ...

    def stale(self, collection: str, space: str) -> bool:
        """Tell whether another version of the tokeniser made the space, so that it must be made anew."""
        ...


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest rows, the nearest first, whatever their cosine; ``passed`` counts those at or above the floor.

    With ``exact`` every row was examined, else ``passed`` is a lower bound.
    """

    rows: Sequence[MessageRow]
    passed: int
    exact: bool


@dataclass(frozen=True, slots=True)
class SessionDraft:
    """A session as it is to be stored, with what is found of it."""

    session: ChatSession
    messages: Sequence[Message]
    passages: Sequence[MessagePassage]
    revision: Revision


class Messages(Protocol):
    """The messages of all chats; every call names its collection, and sees no other."""

    def nearest(
        self, where: MessageFilter, vector: npt.NDArray[np.float32], *, model: str, most: int, floor: float
    ) -> Nearest:
        """Find the ``most`` rows with the greatest cosine, ties on the id; a zero vector's cosine is 0.

        Never fewer rows than there are, up to ``most``; only rows with a vector of the model.
        """
        ...

    def without_vector(self, where: MessageFilter, *, model: str) -> int:
        """Count the rows without a vector of the model; counting ends at 10,000."""
        ...

    def containing(self, where: MessageFilter, text: str, *, most: int) -> tuple[Sequence[MessageRow], int]:
        """Find rows that contain a text, whatever its case, the newest first; and count them all."""
        ...

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: npt.NDArray[np.float32] | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """Fetch those of the rows that the filter lets through, with their cosine to the vector if one is given."""
        ...

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """Return the revision of a session whose words and vectors are all there."""
        ...

    def leaving(self, collection: str, draft: SessionDraft) -> Sequence[PendingPassage]:
        """List what is stored of the session and is not part of the draft."""
        ...

    def put(self, collection: str, draft: SessionDraft, *, model: str) -> None:
        """Store a session over what is there of it; a passage whose content is unchanged keeps its vector."""
        ...

    def unindexed(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """List the passages that are not among the words."""
        ...

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> None:
        """Note that passages are among the words."""
        ...

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """List the passages that lack their vector, messages before contexts."""
        ...

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """Store vectors, searchable from then on; one whose content has changed meanwhile is dropped."""
        ...

    def complete(self, collection: str, session_id: str, revision: Revision, *, model: str) -> None:
        """Note that all is there of a revision, and drop the session's rows of other models."""
        ...


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
    words: Words
    messages: Messages
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
