"""What `modules` may touch: its store, the text index, and a chat model that splits requests."""

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

#: The words of code documents, a unit each.
SPACE: Final[Space] = "modules"


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

    @property
    def kind(self) -> str: ...

    def revision(self, collection: str, document: DocumentId) -> Revision | None:
        """Return the revision of a document that is searchable now."""
        ...

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]]) -> None:
        """Store documents under their ids, in place of what was there; storing one twice changes nothing."""
        ...

    def vocabulary(self, collection: str) -> Vocabulary: ...

    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        """Find, for each module key, every document that has it, through the index over reversed names."""
        ...

    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        """Fetch what scoring looks at; a document that is not there is left out."""
        ...

    def describe_all(self, collection: str) -> Iterable[DocumentSummary]: ...

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
