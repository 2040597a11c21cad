"""What the flows of `files` may touch: the store of code, the parser that reads symbols, and their data."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, Protocol

from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.documents.ports import Documents, LateWritePorts, Samples
from querymill_workers.inference.ports import Judge
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, SymbolRole
from querymill_workers.retrievers.files.rules.relevance import FileProfiles
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vector, VectorPorts, Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Space, Words

#: The space of the files' words: a unit per file, with the path as its id.
SPACE: Final[Space] = "files"
#: The kind of their versions in `versions`, and of their vectors.
KIND: Final[Retriever] = "files"
#: Compared with no other: for the lock of files without a write.
NO_VERSION: Final = Version(0, "")


@value
class FileInfo:
    """A file without its content.

    ``size`` is in bytes; ``tokens`` is the cost of reading the whole file; ``parsed_by`` names the parser of its
    symbols ("tree-sitter" or "words"); ``language`` is "" if unknown; ``metadata`` holds the unknown fields it was
    ingested with.
    """

    path: str
    language: str
    size: int
    lines: int
    tokens: int
    parsed_by: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class KeyedChunk:
    """A chunk under a hash of its embedded text: an unchanged chunk keeps its vector wherever it moves."""

    key: ContentHash
    chunk: CodeChunk


@value
class PreparedFile:
    """A file that is ready to be stored."""

    info: FileInfo
    content: str
    symbols: Sequence[Symbol]
    chunks: Sequence[KeyedChunk]


@value
class FileSymbol:
    """A symbol and the path of its file."""

    path: str
    symbol: Symbol


@value
class PatternHit:
    """A file with matches: their number (counting stops at 100), and the line of the first, cut to 200 bytes."""

    path: str
    times: int
    line: int
    text: str


@value
class PatternHits:
    """The files that match a pattern, most matches first; ``complete`` is false if the search hit its time limit."""

    hits: Sequence[PatternHit]
    complete: bool


@value
class FoundChunk:
    """The chunk of a file that is nearest to a query vector, with its cosine."""

    path: str
    chunk: CodeChunk
    cosine: float


@value
class NearFiles:
    """The files nearest to a vector, and what was not compared, at the same moment.

    ``pending`` counts the chunks of the collection that wait for a vector of the model. ``waiting`` are those of the
    files asked about that have such a chunk.
    """

    found: Sequence[FoundChunk]
    pending: int
    waiting: frozenset[str]


@value
class FileCounts:
    """The size of a collection."""

    files: int
    tokens: int


class Files(Protocol):
    """The files of all code bases. Every call names its collection and sees no other.

    Paths are relative, with ``/``. Names are case-sensitive.
    """

    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        """Return the files that are stored, without their contents, by path."""
        ...

    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Return the contents of the files that are stored, by path."""
        ...

    def glob(self, collection: str, pattern: str, *, limit: int, paths: Collection[str] | None = None) -> Sequence[str]:
        """List the paths that match a pattern of ignore files, in order; with ``paths``, of these.

        ``redis.py`` and ``*.py`` match at any depth, ``/setup.py`` and ``src/*.py`` from the root. ``**`` matches any
        folders, and a folder matches everything below it.

        Raises:
            Refused: The pattern is too long, or is not a path pattern.
        """
        ...

    def matching(
        self, collection: str, pattern: str, *, limit: int, time_s: float, paths: Collection[str] | None = None
    ) -> PatternHits:
        """Find the files that match a regular expression, in time linear in their size; with ``paths``, of these.

        ``^`` and ``$`` match at the ends of lines, and ``.`` matches no line feed. Case matters unless the expression
        says ``(?i)``.

        Raises:
            Unreadable: The expression is not valid in RE2's syntax, or takes too much memory.
            Refused: The expression is too long, or matches an empty text.
        """
        ...

    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        """Return the symbols of files by path, in the order of their lines."""
        ...

    def named(
        self,
        collection: str,
        names: Sequence[str],
        *,
        roles: Sequence[SymbolRole],
        limit: int,
        paths: Collection[str] | None = None,
    ) -> Sequence[FileSymbol]:
        """Find where names are defined, imported, called or used as a type, by path and line; with ``paths``, in these.

        At most ``limit`` places are returned for each name and role.
        """
        ...

    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        """Count the files that have each name in any role; 0 for names that no file has."""
        ...

    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        paths: Sequence[str] | None = None,
        beside: Sequence[str] = (),
    ) -> NearFiles:
        """Find the ``limit`` files nearest to a vector, each with its nearest chunk. Every chunk is compared.

        The nearest file comes first, ties by path. With ``paths``, only those files are searched. A zero vector has a
        cosine of 0. ``beside`` are the files of which is asked whether all their chunks were compared.
        """
        ...

    def counts(self, collection: str) -> FileCounts: ...

    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        """Store files in one transaction, replacing files of the same path. Unchanged chunks keep their vectors.

        Call this, and `drop`, within a versioned change of these files.
        """
        ...

    def drop(self, collection: str, paths: Sequence[str]) -> None:
        """Drop files in one transaction; paths that are not stored are skipped."""
        ...


@value
class Parsed:
    """The symbols of a file in the order of their lines, its language, and the parser that read them."""

    symbols: Sequence[Symbol]
    language: str
    parsed_by: str


class SourceParser(Protocol):
    """Reads symbols from source code."""

    #: Raised with every change that gives other symbols for the same file.
    version: int

    def parse(self, path: str, content: str) -> Parsed:
        """Return the symbols of a file, whose path determines the language. Broken code gives the readable ones."""
        ...


class DropPorts(Protocol):
    """Where something of a file is stored."""

    @property
    def files(self) -> Files: ...

    @property
    def words(self) -> Words: ...

    @property
    def vectors(self) -> Mapping[Retriever, Vectors]: ...

    @property
    def documents(self) -> Mapping[Retriever, Documents]: ...


class FilePorts(VectorPorts, LateWritePorts, Protocol):
    """Everything that a flow of `files` may touch."""

    @property
    def files(self) -> Files: ...

    @property
    def thesauri(self) -> Mapping[str, Thesaurus]: ...

    @property
    def words(self) -> Words: ...

    @property
    def samples(self) -> Samples: ...

    @property
    def parser(self) -> SourceParser: ...

    @property
    def judge(self) -> Judge:
        """The model that judges candidates where a request asks for it."""
        ...

    @property
    def file_profiles(self) -> FileProfiles:
        """What each kind of evidence for a file is worth."""
        ...

    @property
    def count_tokens(self) -> Callable[[str], int]: ...
