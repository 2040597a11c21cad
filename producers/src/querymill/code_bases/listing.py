"""What a code base holds: files to ingest, files that are skipped, and what else there is to say."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from querymill_shared.contracts.files.ingest import SourceFile


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file to ingest; a ``remark`` says what is changed in it before."""

    path: str
    sha256: str
    size: int
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that is not ingested; ``failed`` if it should have been."""

    path: str
    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class NotedFolder:
    """A folder whose files are read by rules of their own."""

    path: str
    remark: str


Entry = ListedFile | Skipped | NotedFolder


class CodeBase(Protocol):
    """Where files are read from: once to compare them, and again to send those that changed."""

    def listed(self) -> Iterator[Entry]:
        """List the files to ingest, and those that are skipped."""
        ...

    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        """Read those of the files that can still be read."""
        ...
