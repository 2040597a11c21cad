"""What the flows need of stores: one port per retriever, and the words beside them all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.modules import ModuleDocument
from querymill_shared.contracts.reports import Report
from querymill_workers.domain.bm25 import Scored
from querymill_workers.domain.chunking import Chunk
from querymill_workers.domain.fusion import HitKey
from querymill_workers.domain.lexicon import Lexicon
from querymill_workers.domain.module_scores import ModuleCard, Recalled
from querymill_workers.domain.modules import DocumentId, Match
from querymill_workers.domain.routing import ReportCard
from querymill_workers.ports.models import Vectors

#: Hashes a report's content together with everything that shapes its passages and vectors.
Revision = NewType("Revision", str)


#: Hashes a text together with everything but the model that shapes its vector.
ContentHash = NewType("ContentHash", str)


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
    """Exact BM25 over the units of every (collection, space); a space is a kind of unit, such as messages.

    A space that another version of the tokeniser made is stale: it is not searched, and what is put goes to a new one
    beside it, which is searched once it is whole.
    """

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        """Add units or replace them, all at once, found by every worker from then on.

        Of two units with one id the later counts.
        """
        ...

    def refill(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        """Add those units, all at once, that this version of the tokeniser has not seen."""
        ...

    def publish(self, collection: str, space: str) -> None:
        """Have what this version of the tokeniser made searched from now on, at once, and drop what others made."""
        ...

    def drop(self, collection: str, space: str, ids: Sequence[str]) -> None:
        """Take units away, all at once; ids that are not there are skipped."""
        ...

    def clear(self, collection: str, space: str) -> None:
        """Take everything away, of every version of the tokeniser."""
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

    def near(self, collection: str, space: str, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """List, for each of the terms that no unit has, terms it may be a misspelling of.

        Those of the space that begin with the same letter and are at most two letters shorter or longer. A term
        that some unit has is left out.
        """
        ...

    def stale(self, collection: str, space: str) -> bool:
        """Tell whether another version of the tokeniser made the space, so that it must be made anew."""
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
