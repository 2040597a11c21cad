"""Ingesting a code base: comparing it with the stored files, ingesting the changed ones, embedding their chunks."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import to_json

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import Lane, Request, Written, not_blank, without_nul
from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: Files larger than this, in bytes, are skipped.
MAX_FILE_BYTES: Final = 1_000_000
#: Paths longer than this, in characters, are refused.
MAX_PATH_CHARS: Final = 500
#: Characters of one file's metadata, as JSON.
MAX_METADATA_CHARS: Final = 20_000
#: Files in a code base.
MAX_LISTED: Final = 100_000


def _inside_the_root(path: str) -> str:
    if path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError("must be relative, with / between names, and must not leave the root")
    if any(character < " " or character == "\x7f" for character in path):
        raise ValueError("must not contain control characters")
    return path


SourcePath = Annotated[
    str, Field(max_length=MAX_PATH_CHARS), AfterValidator(not_blank), AfterValidator(_inside_the_root)
]
Sha256 = Annotated[str, Written("^[0-9a-f]{64}$", "must be 64 hexadecimal digits in lower case")]


class SourceFile(Described):
    """A file of a code base. Unknown fields are stored as metadata.

    Attributes:
        path: path of the file relative to the root, with / between names; it is the id of the file
        content: the text of the file; NUL characters become blanks
    """

    path: SourcePath
    content: Annotated[str, Field(max_length=MAX_FILE_BYTES), AfterValidator(without_nul)]

    @property
    def document_id(self) -> str:
        """The file's path."""
        return self.path

    @property
    def chars(self) -> int:
        """The length of its content."""
        return len(self.content)

    @property
    def sha256(self) -> str:
        """The hash of the content, and of the metadata if the file has any."""
        metadata = f"\x00{self._metadata}" if self.model_extra else ""
        return hashlib.sha256(f"{self.content}{metadata}".encode()).hexdigest()

    @property
    def _metadata(self) -> str:
        return to_json(self.model_extra).decode()  # as it is sent, so that a Python date and its JSON have one hash

    @model_validator(mode="after")
    def _metadata_is_small(self) -> "SourceFile":
        if len(self._metadata) > MAX_METADATA_CHARS:
            raise ValueError(
                "metadata (all fields other than path and content) must be at most"
                f" {MAX_METADATA_CHARS} characters as JSON"
            )
        return self


def _not_too_many(given: object) -> object:
    """Look at the number before the values, which take their time."""
    if isinstance(given, Mapping) and len(given) > MAX_LISTED:
        raise ValueError(f"must name at most {MAX_LISTED} files, not {len(given)}")
    return given


class CompareFiles(Request, Asks["CompareFilesResult"]):
    """Find out which files of a code base are new or changed.

    Attributes:
        lane: priority under a provider's rate limit: normal or bulk
        files: SHA-256 of each file's content by its path; of one with metadata, of content, NUL and metadata as JSON
        remove: whether the list is the whole code base, so that stored files that are not on it are dropped
        vectors: whether the collection is searched by meaning from now on, as in `IngestFiles`
        deadline: always null: the job has no deadline
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["compare_files"] = "compare_files"
    lane: Lane = Lane.BULK
    files: Annotated[
        Mapping[SourcePath, Sha256], Field(min_length=1, max_length=MAX_LISTED), BeforeValidator(_not_too_many)
    ]
    remove: bool = False
    vectors: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A single step."""
        return ("compare",)


class CompareFilesResult(JobResult):
    """The files to ingest, and the files that were dropped. ``total`` counts the files of the request.

    Attributes:
        collection: name of the collection that the files were compared with
        changed: paths of the files that are new or changed, and have to be ingested
        removed: paths of the stored files that were dropped; empty without `remove`
        pending: number of stored chunks that wait for a vector, which a job embeds; 0 in a collection without vectors
    """

    kind: Literal["compare_files"] = "compare_files"
    collection: str
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    pending: int


class IngestFiles(Ingest, Asks["IngestFilesResult"]):
    """Ingest files of a code base.

    Files are searched by words, names and patterns. A collection of at most 500 chunks, which are its definitions and
    what is outside of them, can be searched by meaning too: a job of its own embeds them. With ``vectors``, so can a
    larger one. This is asked for once. From then on every new or changed file gets its vectors, with or without
    ``vectors``, until the collection is dropped.

    Attributes:
        vectors: whether the whole collection is searched by meaning from now on, however large; true once is enough
    """

    kind: Literal["ingest_files"] = "ingest_files"
    documents: Documents[SourceFile]
    vectors: bool = False


class IngestFilesResult(IngestResult):
    """The outcome of each file. Its ``total`` counts the chunks of one that was stored.

    ``embedding_jobs`` is empty: nobody waits for the vectors of a code base.

    Attributes:
        symbols: number of definitions, imports, calls and types in the files that were stored
        pending: chunks of the collection that waited for a vector when the job ended; 0 in a collection without vectors
    """

    kind: Literal["ingest_files"] = "ingest_files"
    symbols: int
    pending: int
