"""What the flows need of the world. Adapters satisfy these by shape."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NewType, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.board import Board, Claim
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.modules import ModuleDocument
from querymill_shared.contracts.reports import Report
from querymill_shared.queues import Queue
from querymill_workers.domain.chunking import Chunk
from querymill_workers.domain.fusion import HitKey
from querymill_workers.domain.lexicon import Lexicon
from querymill_workers.domain.module_scores import ModuleCard, Recalled
from querymill_workers.domain.modules import DocumentId, Match
from querymill_workers.domain.routing import ReportCard

#: One vector per row, float32.
Vectors = npt.NDArray[np.float32]
#: Hashes a report's content together with everything that shapes its passages and vectors.
Revision = NewType("Revision", str)
InputType = Literal["query", "passage"]


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
class Vocabulary:
    """What a collection knows of modules: their names, and its lexicon (version 0: none was learned yet).

    ``changes`` counts what was stored so far; ``learned_changes`` is what the lexicon has seen of it.
    """

    names: tuple[str, ...]
    lexicon: Lexicon
    version: int
    changes: int
    learned_changes: int


class Modules(Protocol):
    """The code documents of all collections; every call names its collection, and sees no other.

    Raises, whatever is called:
        Unavailable: The store is away or slow.
        Refused: It will not take what it was given.
    """

    def revision(self, collection: str, document: DocumentId) -> Revision | None:
        """Return the revision of a document that is searchable now."""
        ...

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]]) -> None:
        """Store documents under their ids, in place of what was there; storing one twice changes nothing."""
        ...

    def vocabulary(self, collection: str) -> Vocabulary: ...

    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, Recalled]:
        """Find, for each module key, every document that has it, through the index over reversed names."""
        ...

    def cards(self, collection: str, documents: Sequence[DocumentId]) -> list[ModuleCard]:
        """Fetch what scoring looks at; a document that is not there is left out."""
        ...

    def every_card(self, collection: str) -> Iterable[ModuleCard]: ...

    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        """Fetch whole documents."""
        ...

    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """Make a lexicon the one that everybody uses, whole and at once; return its version.

        Raises:
            Unavailable: The version it was to replace was replaced meanwhile.
        """
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a document."""
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
    reports: Reports
    modules: Modules
    words: "Words"
    shorthands: Mapping[str, Sequence[str]]
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


@dataclass(frozen=True, slots=True)
class WordUnit:
    """What BM25 ranks: a text under an id, in a group (a session, a document) to filter by."""

    id: str
    text: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class WordHit:
    """A unit whose words were found, with its BM25 score."""

    id: str
    score: float


class Words(Protocol):
    """Exact BM25 over units of text, one space per kind of unit; every call names its collection."""

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None: ...

    def drop(self, collection: str, space: str, ids: Sequence[str]) -> None: ...

    def search(
        self, collection: str, space: str, text: str, *, most: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]: ...

    def stale(self, collection: str, space: str) -> bool: ...
