"""Lines of JSON: each is a document, or says which rule it breaks and where."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, Literal, Protocol, Self, TypeVar

from pydantic_core import to_json

from querymill.broken_rules import PassedOver, rule_broken
from querymill_shared.contracts.ingest import Extend, Ingest, Ingestible, SessionExtension

#: The path that stands for standard input.
STDIN: Final = Path("-")
#: A longer line is not read into memory.
MAX_LINE_BYTES: Final = 64 << 20


class Document(Ingestible, Protocol):
    """The contract of a document, or of what is added to one."""

    @classmethod
    def model_validate(cls, obj: Any) -> Self:
        """Check what a line holds.

        Raises:
            pydantic.ValidationError: It breaks a rule.
        """
        ...


D = TypeVar("D", bound=Document)
#: What makes the request of one job.
Ask = Callable[[Sequence[Any]], Ingest | Extend]


class Ingested(Protocol):
    """What the results of every kind of ingestion say."""

    @property
    def outcome(self) -> str:
        """What became of the document, such as "ingested" or "unchanged"."""
        ...

    @property
    def total(self) -> int:
        """How many parts of the document are stored."""
        ...


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not loaded, and the rule it breaks. ``left_out`` is the id of a document that was passed over."""

    number: int
    reason: str
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class GoodLine(Generic[D]):
    """A line, or another ``unit``, that can be loaded; ``size`` is its length in bytes, ``document`` what it holds.

    Lines of documents with the same id are loaded one after the other.
    """

    number: int
    size: int
    document: D
    unit: str = "line"

    @property
    def name(self) -> str:
        """The id of the document."""
        return self.document.document_id


@dataclass(frozen=True, slots=True)
class GrowthRules:
    """How the new messages of a session are sent, without those that are stored.

    ``extension_of`` makes what is sent of a session and the number of its messages that are stored. ``is_in`` tells by
    the result whether all of them are stored now: else the session is sent whole.
    """

    retriever: Literal["messages", "conversations"]
    extension_of: Callable[[Mapping[str, Any], int], SessionExtension]
    is_in: Callable[[Ingested, Mapping[str, Any]], bool]

    def asking(self, collection: str) -> Ask:
        """Return what makes the request that extends sessions of a collection."""
        return lambda documents: Extend(collection=collection, retriever=self.retriever, documents=tuple(documents))


@dataclass(frozen=True, slots=True)
class Lines(Generic[D]):
    """JSON lines, each of which is one ``document``, and the ``request`` that ingests as many as one job holds.

    ``counted`` names what the ``total`` of a result counts. ``growth`` tells how a document grows that is a session.
    ``prepare`` is given what a line holds before it is checked, ``refuse`` returns why a document is left out by rule,
    or "". With ``vectors``, requests ask for them.
    """

    request: type[Ingest]
    document: type[D]
    counted: str
    growth: GrowthRules | None = None
    prepare: Callable[[Any], Any] | None = None
    refuse: Callable[[D], str] | None = None
    vectors: bool = False

    def leaving_nothing_out(self) -> "Lines[D]":
        """Return lines of which none is left out by rule."""
        return replace(self, refuse=None)

    @property
    def makes_vectors_if_asked(self) -> bool:
        """Whether the documents of this kind get vectors only if they are asked for."""
        return "vectors" in self.request.model_fields

    def asking_for_vectors(self) -> "Lines[D]":
        """Return lines whose documents get vectors, of a kind that `makes_vectors_if_asked`."""
        return replace(self, vectors=True)

    def asking(self, collection: str) -> Ask:
        """Return what makes the request that ingests documents into a collection."""
        asked: dict[str, Any] = {"collection": collection} | ({"vectors": True} if self.vectors else {})
        return lambda documents: self.request.model_validate({**asked, "documents": tuple(documents)})

    def read(self, path: Path) -> Iterator[GoodLine[D] | BadLine]:
        """Read a file; blank lines are skipped.

        Raises:
            OSError: The file cannot be read.
        """
        with path.open("rb") as stream:
            yield from self.read_stream(stream)

    def read_stream(self, stream: BinaryIO) -> Iterator[GoodLine[D] | BadLine]:
        """Read what comes, line by line; blank lines are skipped."""
        for number, line in numbered_lines(stream):
            if line is None:
                yield BadLine(number, f"longer than {MAX_LINE_BYTES} bytes")
            elif line.strip():
                yield self.parse(number, line)

    def read_rows(self, rows: Iterable[Any]) -> Iterator[GoodLine[D] | BadLine]:
        """Read rows: mappings, contracts such as `Report`, or lines of JSON. They are numbered from 1."""
        for number, row in enumerate(rows, 1):
            try:
                line = row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else to_json(row)
            except ValueError as error:
                yield BadLine(number, f"not JSON: {error}")
            else:
                yield self.parse(number, line)

    def parse(self, number: int, line: bytes) -> GoodLine[D] | BadLine:
        """Read one line, with its number in its file."""
        try:
            return GoodLine(number, len(line), self.document_of(line))
        except PassedOver as error:
            return BadLine(number, error.reason, left_out=error.document)
        except (ValueError, RecursionError) as error:
            return BadLine(number, rule_broken(error))

    def document_of(self, line: bytes) -> D:
        """Return the document of one line.

        Raises:
            ValueError: It breaks a rule; `rule_broken` says which.
            PassedOver: It is left out by rule.
            RecursionError: It is nested too deeply.
        """
        given = json.loads(line)
        document = self.document.model_validate(given if self.prepare is None else self.prepare(given))
        if self.refuse is not None and (reason := self.refuse(document)):
            raise PassedOver(document.document_id, reason)
        return document


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Read lines with their numbers, from 1; None stands for a line that is too long."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) <= MAX_LINE_BYTES:
            yield number, line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)
        yield number, None
