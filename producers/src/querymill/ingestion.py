"""Ingesting documents: check each line, pack documents into jobs, keep a few jobs in flight, report progress.

Lines are read while others are ingested. However large the file is, only the documents in flight are in memory.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, Protocol, TypeVar, cast

import pydantic
from pydantic_core import to_json

from querymill.job import Job
from querymill.path_options import PassedOver
from querymill_shared.contracts.errors import JobEnded, rule_text
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Request
from querymill_shared.contracts.loading import LoadedDocument, LoadResult
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult
from querymill_shared.contracts.reports.life import embedding_key, embedding_of
from querymill_shared.contracts.results import Asks, JobResult

Q = TypeVar("Q", bound=Request)
R = TypeVar("R", bound=JobResult)

#: The path that stands for standard input.
STDIN: Final = Path("-")
#: Jobs in flight at once: enough to keep the workers busy, few enough for the board.
IN_FLIGHT: Final = 8
#: Documents, and bytes of their lines, that are packed into one job: a second or so of work.
PACKED_DOCUMENTS, PACKED_BYTES = 64, 400_000
#: A longer line is not read into memory.
MAX_LINE_BYTES: Final = 64 << 20


class Submits(Protocol):
    """The part of a client that ingestion needs."""

    def submit(self, request: Asks[R], *, idempotency_key: str | None = None) -> Job[R]:
        """See `Querymill.submit`."""
        ...

    def job(self, job_id: str) -> Job[Any]:
        """See `Querymill.job`."""
        ...


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
class LoadProgress:
    """How far the documents are: ``size`` bytes are in, the last by this ``result`` or lost for this ``reason``."""

    size: float
    result: Ingested | None = None
    document: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Packing:
    """How documents are packed: the request that holds many in the field ``many``, and one's own field ``one``."""

    request: type[Request]
    many: str
    one: str

    def request_of(self, lines: "Sequence[GoodLine[Any]]") -> Request:
        """Make the request for a few lines. A single document has a job of the old kind, which every release knows."""
        if len(lines) == 1:
            return cast("Request", lines[0].request)
        held = [getattr(line.request, self.one) for line in lines]
        documents = tuple(chain.from_iterable(each if isinstance(each, tuple) else (each,) for each in held))
        first = lines[0].request
        return self.request.model_validate({"collection": first.collection, "lane": first.lane, self.many: documents})


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
    checked, ``refuse`` returns why a document is left out by rule, or "".
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

    def leaving_nothing_out(self) -> "Lines[Q]":
        """Return lines of which none is left out by rule."""
        return replace(self, refuse=None)

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
        request = self.request.model_validate(
            {"collection": collection, self.field: [document] if self.in_list else document}
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


def rules_broken(error: ValueError | RecursionError, *, below: str = "") -> list[tuple[str, str]]:
    """Return the rules that a line breaks, each with its field, "" for the line. Fields are named from ``below`` on."""
    match error:
        case PassedOver():
            return [("", str(error))]
        case UnicodeDecodeError():
            return [("", "not UTF-8")]
        case json.JSONDecodeError():
            return [("", f"not JSON: {error.msg} at column {error.colno}")]
        case pydantic.ValidationError():
            broken = [(".".join(map(str, entry["loc"])), rule_text(entry)) for entry in error.errors()[:3]]
            return [(place.removeprefix(below).removeprefix("."), rule) for place, rule in broken]
        case _:
            return [("", "not JSON: a number too long, or nested too deeply")]


def rule_broken(error: ValueError | RecursionError, *, below: str = "") -> str:
    """Say which rules a line breaks, field by field; see `rules_broken`."""
    whole = "line" if isinstance(error, pydantic.ValidationError) else ""
    return "; ".join(f"{place or whole}: {rule}".removeprefix(": ") for place, rule in rules_broken(error, below=below))


@dataclass(frozen=True, slots=True)
class Parcel:
    """The lines of one job."""

    lines: Sequence[GoodLine[Any]]
    request: Request

    @property
    def size(self) -> int:
        """The length of the lines in bytes."""
        return sum(line.size for line in self.lines)

    @property
    def name(self) -> str:
        """The name of the first document, with the number of the others."""
        first, *others = self.lines
        return f"{first.name} and {len(others)} more" if others else first.name

    @property
    def names(self) -> frozenset[str]:
        """The names of the documents."""
        return frozenset(line.name for line in self.lines)


def pack(lines: Iterable[GoodLine[Any]], packing: Packing | None) -> Iterator[Parcel]:
    """Cut lines into jobs, in their order. No job holds two versions of a document."""
    held: list[GoodLine[Any]] = []
    names: set[str] = set()
    size = 0
    for line in lines:
        full = packing is None or len(held) == PACKED_DOCUMENTS or size + line.size > PACKED_BYTES
        if held and (full or line.name in names):
            yield _parcel(held, packing)
            held, names, size = [], set(), 0
        held.append(line)
        names.add(line.name)
        size += line.size
    if held:
        yield _parcel(held, packing)


def _parcel(lines: Sequence[GoodLine[Any]], packing: Packing | None) -> Parcel:
    return Parcel(lines, lines[0].request if packing is None else packing.request_of(lines))


def ingest(
    mill: Submits, lines: Iterable[GoodLine[Any]], *, packing: Packing | None = None, vectors: bool = True
) -> Iterator[LoadProgress]:
    """Submit documents and follow their jobs; yields as they advance. A document is in once its vectors are stored.

    Without ``vectors``, it is in once its words are, and its jobs leave the board: its vectors follow.

    Ingestion is durable: if this stops half-way, the documents that were submitted are still ingested, and
    submitting the same content again changes nothing.
    """
    parcels = pack(lines, packing)
    held = next(parcels, None)
    flying: deque[tuple[Parcel, Job[Any]]] = deque()
    before = 0
    while held is not None or flying:
        # Two versions of one document that are in flight together may be stored in any order: the later one waits.
        names = {name for parcel, _ in flying for name in parcel.names}
        while held is not None and len(flying) < IN_FLIGHT and names.isdisjoint(held.names):
            flying.append((held, mill.submit(cast("Asks[JobResult]", held.request))))
            names |= held.names
            held = next(parcels, None)
        parcel, job = flying.popleft()
        yield from _followed(job, before, parcel.size)
        yield from _arrived(mill, parcel, job, before, vectors=vectors)
        before += parcel.size


def _followed(job: Job[Any], before: int, size: int) -> Iterator[LoadProgress]:
    for event in job.events():
        if isinstance(event, Progress):
            yield LoadProgress(before + size * event.done / max(event.total, 1))


def _arrived(mill: Submits, parcel: Parcel, job: Job[Any], before: int, *, vectors: bool) -> Iterator[LoadProgress]:
    """Say what became of each document, once its vectors are stored if these are waited for."""
    try:
        result = job.result(timeout=5)
    except JobEnded as error:
        yield from _outcomes(parcel, [(None, error.reason)] * len(parcel.lines), before)
        return
    lost = ""
    embeddings = _embeddings_after(mill, parcel, job, result)
    for embedding in embeddings if vectors else ():
        yield from _followed(embedding, before, parcel.size)
        lost = lost or _why_not_embedded(embedding)
    if not isinstance(result, LoadResult):
        why = f"{parcel.lines[0].unit} {parcel.lines[0].number}: {lost}" if lost else ""
        yield LoadProgress(before + parcel.size, None if lost else result, document=parcel.name, reason=why)
        if not vectors:
            job.release()
        return
    each = outcome_of_each(parcel, result)
    reasons = [entry.reason if entry.outcome == "failed" else lost for entry in each]
    outcomes = [(None if why else entry, why) for entry, why in zip(each, reasons, strict=True)]
    yield from _outcomes(parcel, outcomes, before)
    if result.complete:  # the documents of a large file must not fill the board until their jobs expire
        job.release()


def outcome_of_each(parcel: Parcel, result: LoadResult) -> Sequence[LoadedDocument]:
    """Return the outcome of each line. A document that was dropped while its job waited has been taken out of it."""
    if len(result.documents) == len(parcel.lines):
        return result.documents
    known = {entry.document: entry for entry in result.documents}
    return [known.get(line.name) or LoadedDocument(document=line.name, outcome="forgotten") for line in parcel.lines]


def _embeddings_after(mill: Submits, parcel: Parcel, job: Job[Any], result: JobResult) -> list[Job[Any]]:
    """Return the jobs that make the vectors of what was ingested."""
    if isinstance(result, IngestResult):
        # Its result cannot name the job, because clients of an earlier release would not read it.
        stored = result.outcome in ("ingested", "unchanged")
        request = embedding_of(cast("IngestReport", parcel.request))
        return [mill.submit(request, idempotency_key=embedding_key(job.id))] if stored else []
    jobs = result.embedding_jobs if isinstance(result, LoadResult) else [getattr(result, "embedding_job", None)]
    return [mill.job(id_) for id_ in jobs if id_ is not None]


def _outcomes(parcel: Parcel, outcomes: Sequence[tuple[Ingested | None, str]], before: int) -> Iterator[LoadProgress]:
    size = before
    for line, (result, reason) in zip(parcel.lines, outcomes, strict=True):
        size += line.size
        place = f"{line.unit} {line.number}: {reason}" if reason else ""
        yield LoadProgress(size, result, document=line.name, reason=place)


def _why_not_embedded(embedding: Job[Any]) -> str:
    """Tell a document that is only stored from one whose vectors are stored too."""
    try:
        embedding.result(timeout=5)
    except JobEnded as error:
        return f"stored and searchable by text, but embedding failed: {error.reason}"
    return ""
