"""Lines of JSON: each is a document, or says which rule it breaks and where."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar, cast

from pydantic_core import to_json

from querymill.broken_rules import PassedOver, rule_broken
from querymill_shared.contracts.fields import Request

Q = TypeVar("Q", bound=Request)
#: The path that stands for standard input.
STDIN: Final = Path("-")
#: A longer line is not read into memory.
MAX_LINE_BYTES: Final = 64 << 20


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
class GoodLine(Generic[Q]):
    """A line, or another ``unit``, that can be loaded; ``size`` is its length in bytes.

    ``document`` is the id of what is ingested: lines with the same id are loaded one after the other. Without an id
    a line is known by its number.
    """

    number: int
    size: int
    request: Q
    unit: str = "line"
    document: str = ""

    @property
    def name(self) -> str:
        """The id of the document, or the place of the line."""
        return self.document or f"{self.unit} {self.number}"


@dataclass(frozen=True, slots=True)
class Packing:
    """How documents are packed: the request that holds many in the field ``many``, and one's own field ``one``.

    ``shared`` names the other fields that the requests of all lines have in common.
    """

    request: type[Request]
    many: str
    one: str
    shared: Sequence[str] = ()

    def request_of(self, lines: "Sequence[GoodLine[Any]]") -> Request:
        """Make the request for a few lines. A single document has a job of the old kind, which every release knows."""
        if len(lines) == 1:
            return cast("Request", lines[0].request)
        held = [getattr(line.request, self.one) for line in lines]
        documents = tuple(chain.from_iterable(each if isinstance(each, tuple) else (each,) for each in held))
        first = lines[0].request
        shared = {name: getattr(first, name) for name in ("collection", "lane", *self.shared)}
        return self.request.model_validate({**shared, self.many: documents})


@dataclass(frozen=True, slots=True)
class Growth:
    """How the new messages of a session are sent, without those that are stored.

    ``request_of`` makes the request of a collection, a session and the number of its messages that are stored.
    ``is_in`` tells by the result whether all of them are stored now: else the session is sent whole.
    """

    request_of: Callable[[str, Mapping[str, Any], int], Request]
    is_in: Callable[[Ingested, Mapping[str, Any]], bool]
    packing: Packing | None = None


@dataclass(frozen=True, slots=True)
class Lines(Generic[Q]):
    """JSON lines, each of which is one document: what a ``request`` of ingestion holds in this ``field``.

    ``document_of`` returns the document's own id; ``counted`` names what the ``total`` of a result counts; ``packing``
    tells how many of them become one job. With ``in_list`` the field is a list, of which the document is the only one.
    ``growth`` tells how a document grows that is a session. ``prepare`` is given what a line holds before it is
    checked, ``refuse`` returns why a document is left out by rule, or "". With ``vectors``, requests ask for
    them.
    """

    request: type[Q]
    field: str
    document_of: Callable[[Q], str]
    counted: str
    packing: Packing | None = None
    in_list: bool = False
    growth: Growth | None = None
    prepare: Callable[[Any], Any] | None = None
    refuse: Callable[[Q], str] | None = None
    vectors: bool = False

    def leaving_nothing_out(self) -> "Lines[Q]":
        """Return lines of which none is left out by rule."""
        return replace(self, refuse=None)

    @property
    def makes_vectors_if_asked(self) -> bool:
        """Whether the documents of this kind get vectors only if they are asked for."""
        return "vectors" in self.request.model_fields

    def asking_for_vectors(self) -> "Lines[Q]":
        """Return lines whose documents get vectors, of a kind that `makes_vectors_if_asked`."""
        return replace(self, vectors=True)

    def read(self, path: Path, collection: str) -> Iterator[GoodLine[Q] | BadLine]:
        """Read a file; blank lines are skipped.

        Raises:
            OSError: The file cannot be read.
        """
        with path.open("rb") as stream:
            yield from self.read_stream(stream, collection)

    def read_stream(self, stream: BinaryIO, collection: str) -> Iterator[GoodLine[Q] | BadLine]:
        """Read what comes, line by line; blank lines are skipped."""
        for number, line in numbered_lines(stream):
            if line is None:
                yield BadLine(number, f"longer than {MAX_LINE_BYTES} bytes")
            elif line.strip():
                yield self.parse(number, line, collection)

    def read_rows(self, rows: Iterable[Any], collection: str) -> Iterator[GoodLine[Q] | BadLine]:
        """Read rows: mappings, contracts such as `Report`, or lines of JSON. They are numbered from 1."""
        for number, row in enumerate(rows, 1):
            try:
                line = row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else to_json(row)
            except ValueError as error:
                yield BadLine(number, f"not JSON: {error}")
            else:
                yield self.parse(number, line, collection)

    def parse(self, number: int, line: bytes, collection: str) -> GoodLine[Q] | BadLine:
        """Read one line, with its number in its file."""
        try:
            request = self.request_of(line, collection)
        except PassedOver as error:
            return BadLine(number, error.reason, left_out=error.document)
        except (ValueError, RecursionError) as error:
            return BadLine(number, rule_broken(error, below=self.place))
        return GoodLine(number, len(line), request, document=self.document_of(request))

    def request_of(self, line: bytes, collection: str) -> Q:
        """Make the request for one line.

        Raises:
            ValueError: It breaks a rule; `rule_broken` says which.
            PassedOver: It is left out by rule.
            RecursionError: It is nested too deeply.
        """
        document = json.loads(line)
        if self.prepare is not None:
            document = self.prepare(document)
        asked = {"vectors": True} if self.vectors else {}
        request = self.request.model_validate(
            {**asked, "collection": collection, self.field: [document] if self.in_list else document}
        )
        if self.refuse is not None and (reason := self.refuse(request)):
            raise PassedOver(self.document_of(request), reason)
        return request

    @property
    def place(self) -> str:
        """Where the document stands in its request."""
        return f"{self.field}.0" if self.in_list else self.field


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
