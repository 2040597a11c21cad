"""What the flows need of a store of code, and of what reads symbols out of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from querymill_workers.inference.ports import Embeddings, Judge, Vectors
from querymill_workers.jobs.ports import Common
from querymill_workers.jobs.revisions import ContentHash, Revision
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol, SymbolRole
from querymill_workers.retrievers.files.rules.relevance import FileProfiles
from querymill_workers.words.ports import Space, Words

#: The words of files, a unit each, known by its path.
SPACE: Final[Space] = "files"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What is known of a file besides its content.

    ``size`` is in bytes; ``tokens`` is what reading the whole file costs; ``parsed_by`` says where its symbols
    are from ("tree-sitter" or "words"); an unknown language is ""; ``metadata`` is what it came with besides.
    """

    path: str
    revision: Revision
    language: str
    size: int
    lines: int
    tokens: int
    parsed_by: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeyedChunk:
    """A chunk under the hash of what is embedded of it: an unchanged one keeps its vector wherever it moves."""

    key: ContentHash
    chunk: CodeChunk


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """A file as it is to be stored."""

    info: FileInfo
    content: str
    symbols: Sequence[Symbol]
    chunks: Sequence[KeyedChunk]


@dataclass(frozen=True, slots=True)
class FileSymbol:
    """A symbol, and the file it is in."""

    path: str
    symbol: Symbol


@dataclass(frozen=True, slots=True)
class PatternHit:
    """A file with matches: how many (counting ends at 100), and the first of them, its line cut to 200 characters."""

    path: str
    times: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class PatternHits:
    """The files that a pattern matches in, most matches first; ``complete`` is false when the time ran out."""

    hits: Sequence[PatternHit]
    complete: bool


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """The chunk of a file that is nearest to a query, with its cosine."""

    path: str
    chunk: CodeChunk
    cosine: float


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk that lacks its vector."""

    path: str
    key: ContentHash
    chunk: CodeChunk


@dataclass(frozen=True, slots=True)
class FileCounts:
    """How much a collection holds; ``pending`` counts the chunks that lack a vector of the model."""

    files: int
    tokens: int
    chunks: int
    pending: int


class Files(Protocol):
    """The files of all code bases; every call names its collection, and sees no other.

    Paths are relative, with ``/``. Names compare as they are written, case included.
    """

    @property
    def kind(self) -> str: ...

    def changing(self, collection: str, paths: Sequence[str]) -> AbstractContextManager[None]:
        """Let nobody else change the files and their words meanwhile, wherever they run.

        Whoever puts or drops files, or changes their words, does it within this.
        """
        ...

    def describe(self, collection: str, paths: Sequence[str]) -> Mapping[str, FileInfo]:
        """Describe those of the files that are there."""
        ...

    def contents(self, collection: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Fetch those of the files that are there, whole."""
        ...

    def glob(self, collection: str, pattern: str, *, limit: int) -> Sequence[str]:
        """List paths that a pattern matches, in order; patterns are those of ignore files.

        ``redis.py`` and ``*.py`` match at any depth, ``/setup.py`` and ``src/*.py`` from the root, ``**`` any
        folders, and a folder stands for all that is below it.

        Raises:
            Refused: It is no pattern, or too long.
        """
        ...

    def matching(self, collection: str, pattern: str, *, limit: int, time_s: float) -> PatternHits:
        """Find the files with a match of a regular expression, which takes time linear in their size.

        ``^`` and ``$`` match at lines; ``.`` does not match a line's end; case counts unless ``(?i)`` says not.

        Raises:
            Unreadable: It is no expression (RE2's syntax), or too large.
            Refused: It is too long, or matches an empty text.
        """
        ...

    def symbols(self, collection: str, paths: Sequence[str]) -> Mapping[str, Sequence[Symbol]]:
        """List the symbols of files, in the order of their lines."""
        ...

    def named(
        self, collection: str, names: Sequence[str], *, roles: Sequence[SymbolRole], limit: int
    ) -> Sequence[FileSymbol]:
        """Find where names are defined, imported, called or stand for a type, by path and line.

        ``limit`` counts for each name and role.
        """
        ...

    def frequencies(self, collection: str, names: Sequence[str]) -> Mapping[str, int]:
        """Count the files that have each name, in whatever role; 0 for one that none has."""
        ...

    def nearest(
        self,
        collection: str,
        vector: npt.NDArray[np.float32],
        *,
        model: str,
        limit: int,
        paths: Sequence[str] | None = None,
    ) -> Sequence[FoundChunk]:
        """Find the ``limit`` files nearest to a vector, each with its nearest chunk; every chunk is compared.

        Best first, ties on the path; only among ``paths`` if they are given. A zero vector's cosine is 0.
        """
        ...

    def counts(self, collection: str, *, model: str) -> FileCounts: ...

    def revisions(self, collection: str) -> Mapping[str, Revision]:
        """Return the revision of every file of a collection."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a file."""
        ...

    def put(self, collection: str, prepared: Sequence[PreparedFile]) -> None:
        """Store files over what is there, all at once; a chunk that is unchanged keeps its vector."""
        ...

    def drop(self, collection: str, paths: Sequence[str]) -> None:
        """Take files away, all at once; paths that are not there are skipped."""
        ...

    def pending(
        self, collection: str, *, model: str, limit: int, paths: Sequence[str] | None = None
    ) -> Sequence[PendingChunk]:
        """List chunks that lack a vector of the model, by path and number; only of ``paths`` if they are given."""
        ...

    def fill(self, collection: str, chunks: Sequence[PendingChunk], vectors: Vectors, *, model: str) -> None:
        """Store vectors, found from then on; one whose chunk is there no more is dropped."""
        ...


@dataclass(frozen=True, slots=True)
class Parsed:
    """The symbols of a file in the order of their lines, and what read them."""

    symbols: Sequence[Symbol]
    language: str
    parsed_by: str


class SourceParser(Protocol):
    """Reads symbols out of source code."""

    #: Changes whenever the same file would give other symbols.
    version: int

    def parse(self, path: str, content: str) -> Parsed:
        """List the symbols of a file; its path tells the language. Broken code gives what can be read of it."""
        ...


class FilePorts(Common, Protocol):
    """Everything that a flow of `files` may touch."""

    @property
    def files(self) -> Files: ...

    @property
    def words(self) -> Words: ...

    @property
    def parser(self) -> SourceParser: ...

    @property
    def embeddings(self) -> Embeddings: ...

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
