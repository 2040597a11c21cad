"""Ingesting files of documents: check each line, keep a few jobs in flight, report progress."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pydantic

from querymill.client import Querymill
from querymill.job import Job
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Request
from querymill_shared.contracts.messages.ingest import IngestSessionResult
from querymill_shared.contracts.messages.life import EmbedMessagesResult

Q = TypeVar("Q", bound=Request)

#: Documents in flight at once: enough to keep the workers busy, few enough for the board.
IN_FLIGHT = 8


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
    """A line that was not loaded, and the rule it breaks."""

    number: int
    reason: str


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
class Lines(Generic[Q]):
    """JSON lines, each of which is one document: what a ``request`` of ingestion holds in this ``field``.

    ``document_of`` returns the document's own id; ``counted`` names what the ``total`` of a result counts.
    """

    request: type[Q]
    field: str
    document_of: Callable[[Q], str]
    counted: str

    def read(self, path: Path, collection: str) -> Iterator[GoodLine[Q] | BadLine]:
        """Read a file; blank lines are skipped.

        Raises:
            OSError: The file cannot be read.
        """
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield self._parse(number, line, collection)

    def _parse(self, number: int, line: bytes, collection: str) -> GoodLine[Q] | BadLine:
        try:
            request = self.request.model_validate({"collection": collection, self.field: json.loads(line)})
        except (ValueError, RecursionError) as error:
            return BadLine(number, rule_broken(error, below=self.field))
        return GoodLine(number, len(line), request, document=self.document_of(request))


def rule_broken(error: ValueError | RecursionError, *, below: str = "") -> str:
    """Say which rules a line breaks, field by field; fields are named from ``below`` on."""
    match error:
        case UnicodeDecodeError():
            return "not UTF-8"
        case json.JSONDecodeError():
            return f"not JSON: {error.msg} at column {error.colno}"
        case pydantic.ValidationError():
            broken = [
                (".".join(map(str, entry["loc"])), entry["msg"].removeprefix("Value error, "))
                for entry in error.errors()[:3]
            ]
            return "; ".join(
                f"{place.removeprefix(below).removeprefix('.') or 'line'}: {rule}" for place, rule in broken
            )
        case _:
            return "not JSON: a number too long, or nested too deeply"


def ingest(mill: Querymill, lines: Iterable[GoodLine[Any]]) -> Iterator[LoadProgress]:
    """Submit documents and follow their jobs; yields as they advance. A session is in once its vectors are stored.

    Ingestion is durable: if this stops half-way, the documents that were submitted are still ingested, and
    submitting the same content again changes nothing.
    """
    waiting = iter(lines)
    held = next(waiting, None)
    flying: deque[tuple[GoodLine[Any], Job[Any]]] = deque()
    before = 0
    while held is not None or flying:
        # Two versions of one document that are in flight together may be stored in any order: the later one waits.
        names = {line.name for line, _ in flying}
        while held is not None and len(flying) < IN_FLIGHT and held.name not in names:
            flying.append((held, mill.submit(held.request)))
            names.add(held.name)
            held = next(waiting, None)
        line, job = flying.popleft()
        yield from _followed(job, before, line)
        arrived = _arrived(before + line.size, line, job)
        if isinstance(arrived.result, IngestSessionResult) and arrived.result.embedding_job is not None:
            embedding = mill.job(arrived.result.embedding_job)
            yield from _followed(embedding, before, line)
            arrived = _embedded(arrived, line, embedding)
        before += line.size
        yield arrived


def _followed(job: Job[Any], before: int, line: GoodLine[Any]) -> Iterator[LoadProgress]:
    for event in job.events():
        if isinstance(event, Progress):
            yield LoadProgress(before + line.size * event.done / max(event.total, 1))


def _embedded(arrived: LoadProgress, line: GoodLine[Any], embedding: Job[EmbedMessagesResult]) -> LoadProgress:
    """Tell a session that is only stored from one whose vectors are stored too."""
    try:
        embedding.result(timeout=5)
    except JobEnded as error:
        reason = f"line {line.number}: stored and searchable by text, but embedding failed: {error.reason}"
        return LoadProgress(arrived.size, document=arrived.document, reason=reason)
    return arrived


def _arrived(size: int, line: GoodLine[Any], job: Job[Any]) -> LoadProgress:
    try:
        return LoadProgress(size, result=job.result(timeout=5), document=line.name)
    except JobEnded as error:
        return LoadProgress(size, document=line.name, reason=f"{line.unit} {line.number}: {error.reason}")
