"""Taking a code base in: which files changed, the files themselves, and the vectors that follow."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import to_json

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import Lane, Request, not_blank, without_nul
from querymill_shared.contracts.results import Asks, JobResult

#: A larger file, in bytes, is not taken in.
LARGEST_FILE: Final = 1_000_000
#: A longer path, in characters, is refused.
LONGEST_PATH: Final = 500
#: Files, and the characters of their contents together, that one job may hold.
MOST_FILES, MOST_CHARACTERS = 200, 2_000_000
#: Characters of one file's metadata, as JSON.
MOST_METADATA: Final = 20_000
#: Files of a whole code base.
MOST_LISTED: Final = 100_000


def _inside_the_root(path: str) -> str:
    if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError("must be relative, with / between names, and must not leave the root")
    if any(character < " " or character == "\x7f" for character in path):
        raise ValueError("must not contain control characters")
    return path


SourcePath = Annotated[str, Field(max_length=LONGEST_PATH), AfterValidator(not_blank), AfterValidator(_inside_the_root)]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


class SourceFile(Described):
    """A file of a code base; its path is relative to the root. Fields we do not know are kept as metadata."""

    path: SourcePath
    content: Annotated[str, Field(max_length=LARGEST_FILE), AfterValidator(without_nul)]

    @property
    def sha256(self) -> str:
        """The hash of the content, and of the metadata if there is any."""
        metadata = f"\x00{self._metadata}" if self.model_extra else ""
        return hashlib.sha256(f"{self.content}{metadata}".encode()).hexdigest()

    @property
    def _metadata(self) -> str:
        return to_json(self.model_extra).decode()  # as it is sent: a time given in Python has the same hash behind it

    @model_validator(mode="after")
    def _metadata_is_small(self) -> "SourceFile":
        if len(self._metadata) > MOST_METADATA:
            raise ValueError(f"unknown fields are kept, and must have at most {MOST_METADATA} characters as JSON")
        return self


def _fit_one_job(files: tuple[SourceFile, ...]) -> tuple[SourceFile, ...]:
    if len({file.path for file in files}) != len(files):
        raise ValueError("every path must occur once")
    if sum(len(file.content) for file in files) > MOST_CHARACTERS:
        raise ValueError(f"contents must have at most {MOST_CHARACTERS} characters together")
    return files


class CompareFiles(Request, Asks["CompareFilesResult"]):
    """Tell which of the files, given by the hash of their content, are new or changed.

    With ``remove`` the list is the whole code base: files that are not on it are taken away.
    """

    kind: Literal["compare_files"] = "compare_files"
    lane: Lane = Lane.BULK
    files: Annotated[Mapping[SourcePath, Sha256], Field(min_length=1, max_length=MOST_LISTED)]
    remove: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Comparing is one step."""
        return ("compare",)


class CompareFilesResult(JobResult):
    """What is to be ingested, and what was taken away. ``total`` counts the files that were given.

    ``pending`` counts the chunks that lack their vector; they are being embedded.
    """

    kind: Literal["compare_files"] = "compare_files"
    collection: str
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    pending: int


class IngestFiles(Request, Asks["IngestFilesResult"]):
    """Take files of a code base in. Idempotent by content; their vectors follow in a job of their own."""

    kind: Literal["ingest_files"] = "ingest_files"
    lane: Lane = Lane.BULK
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1, max_length=MOST_FILES), AfterValidator(_fit_one_job)]
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step, resumed where it was cut."""
        return ("ingest",)


class IngestFilesResult(JobResult):
    """What ingestion did. ``total`` counts the files; after a kill ``unchanged`` has what was ingested before it.

    ``symbols`` and ``chunks`` are those of the files that were ingested now; ``pending`` counts the chunks of the
    whole collection that lacked their vector when this ended.
    """

    kind: Literal["ingest_files"] = "ingest_files"
    collection: str
    outcome: Literal["ingested", "unchanged"]
    ingested: int
    unchanged: int
    symbols: int
    chunks: int
    pending: int


class EmbedFiles(Request, Asks["EmbedFilesResult"]):
    """Embed the chunks that lack a vector: of the files at ``paths``, or without any of the whole collection."""

    kind: Literal["embed_files"] = "embed_files"
    lane: Lane = Lane.BULK
    paths: Annotated[tuple[SourcePath, ...], Field(max_length=MOST_FILES)] = ()
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Embedding is one step, resumed where it was cut."""
        return ("embed",)


class EmbedFilesResult(JobResult):
    """How many chunks got their vector (``total``), and how many of the whole collection lack theirs still."""

    kind: Literal["embed_files"] = "embed_files"
    collection: str
    pending: int
