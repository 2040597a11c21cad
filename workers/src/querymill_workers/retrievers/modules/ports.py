"""The part of the world that `modules` may touch: its stores, the text index, and its models."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.values import value
from querymill_workers.documents.ports import LateWritePorts
from querymill_workers.inference.ports import Rewriter
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import Lexicon
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vector, VectorPorts
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Space, Words

#: The index of the text of code documents, one entry each.
SPACE: Final[Space] = "modules"
#: The kind of their versions in `versions`, and of their vectors.
KIND: Final[Retriever] = "modules"
#: Compared with no other: for the lock of a document without a write.
NO_VERSION: Final = Version(0, "")


@value
class Vocabulary:
    """A collection's module names and its lexicon. Version 0 means that none was learned yet.

    ``changes`` counts how often a document was stored; ``learned_changes`` is that count when the lexicon was learned.
    """

    names: tuple[str, ...]
    lexicon: Lexicon
    version: int
    changes: int
    learned_changes: int


class Modules(Protocol):
    """The code documents of all collections. Each call names one collection and sees no other.

    Raises, from every method:
        Unavailable: The store does not respond, or responds too slowly.
        Refused: The store rejects the query or the document.
    """

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]], *, record: str) -> None:
        """Write versions of documents under the name of a record; the same again changes nothing.

        Call it within a versioned change of these documents. From the end of its transaction on, these versions are
        found in place of earlier ones; before, and if it fails, none of them is.

        Raises:
            Conflict: Another writer was first.
        """
        ...

    def settle(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """Clear away what the versions that are found have replaced. Until then they do not teach the lexicon."""
        ...

    def unsettled(self, collection: str) -> Sequence[DocumentId]:
        """List the documents that a writer has changed without settling them: it is at work, or it died."""
        ...

    def repair(self, collection: str, document: DocumentId) -> None:
        """Put right what a writer that died has left of a document, within a versioned change of it."""
        ...

    def drop(self, collection: str, document: DocumentId) -> bool:
        """Drop a document within a versioned change of it, and return whether there was anything to drop."""
        ...

    def vocabulary(self, collection: str) -> Vocabulary: ...

    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        """Return, by module key, every document that has the module. An index over reversed names finds them."""
        ...

    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        """Return what scoring reads of each document, without those that do not exist."""
        ...

    def describe_all(self, collection: str) -> Iterable[DocumentSummary]: ...

    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        """Return whole documents by id, without those that do not exist."""
        ...

    def drop_remains(self, collection: str) -> None:
        """Drop the vocabulary and the lexicon of a collection without documents."""
        ...

    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """Make a lexicon the one that every worker uses, in one step, and return its version.

        Raises:
            Unavailable: Another lexicon has replaced version ``replacing`` since.
        """
        ...


@value
class NearDescriptions:
    """The documents with the nearest descriptions, each with its best cosine, best first.

    ``pending`` counts the passages of the collection that wait for a vector.
    """

    found: Sequence[tuple[DocumentId, float]]
    pending: int


class Descriptions(Protocol):
    """The descriptions of code documents, in passages. Every call names its collection."""

    def put(self, collection: str, passages: Mapping[DocumentId, Sequence[str]]) -> None:
        """Replace the passages of documents, within a versioned change of them. Equal ones keep their vectors."""
        ...

    def drop(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """Drop the passages of documents and their vectors."""
        ...

    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> NearDescriptions:
        """Compare a vector with all passages, or with those of some documents. Ties break on the encoded id."""
        ...


class ModulePorts(VectorPorts, LateWritePorts, Protocol):
    """What every flow of `modules` may touch."""

    @property
    def modules(self) -> Modules: ...

    @property
    def descriptions(self) -> Descriptions: ...

    @property
    def thesauri(self) -> Mapping[str, Thesaurus]: ...

    @property
    def words(self) -> Words: ...

    @property
    def rewriter(self) -> Rewriter: ...

    @property
    def shorthands(self) -> Mapping[str, Sequence[str]]:
        """Return the configured shorthands, each with the modules it stands for."""
        ...

    @property
    def count_tokens(self) -> Callable[[str], int]: ...
