"""The part of the world that `modules` may touch: its store, the text index, and the model that splits requests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.inference.ports import Rewriter
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import Lexicon
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall
from querymill_workers.words.ports import Space, Words

#: The index of the text of code documents, one entry each.
SPACE: Final[Space] = "modules"


@dataclass(frozen=True, slots=True)
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

    @property
    def kind(self) -> str: ...

    def revision(self, collection: str, document: DocumentId) -> Revision | None:
        """Return the revision of a stored document, or None if it is not stored completely."""
        ...

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]]) -> None:
        """Store documents under their ids and replace earlier versions. Storing a document twice changes nothing."""
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

    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """Make a lexicon the one that every worker uses, in one step, and return its version.

        Raises:
            Unavailable: Another lexicon has replaced version ``replacing`` since.
        """
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold documents."""
        ...


class ModulePorts(Common, Protocol):
    """What every flow of `modules` may touch."""

    @property
    def modules(self) -> Modules: ...

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
