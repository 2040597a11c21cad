"""Bringing files of documents in: validate line by line, keep a few jobs in flight, tell how far it is."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, assert_never

import pydantic

from querymill.client import Querymill
from querymill.job import Job
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.ingest_conversations import IngestConversation, IngestConversationResult
from querymill_shared.contracts.messages import IngestSession, IngestSessionResult
from querymill_shared.contracts.modules import IngestModule, IngestModuleResult
from querymill_shared.contracts.reports import IngestReport, IngestResult

Ingestion = IngestReport | IngestModule | IngestSession | IngestConversation
Ingested = IngestResult | IngestModuleResult | IngestSessionResult | IngestConversationResult
Q = TypeVar("Q", IngestReport, IngestModule, IngestSession, IngestConversation, covariant=True)

#: Documents handed over before the first must be done: enough to keep the workers busy, few enough for the board.
IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not loaded, and the rule it breaks."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class GoodLine(Generic[Q]):
    """A line that can be loaded; ``size`` is its length in bytes."""

    number: int
    size: int
    request: Q


@dataclass(frozen=True, slots=True)
class Advance:
    """How far the documents are: ``size`` bytes are in, the last by this ``result`` or lost for this ``reason``."""

    size: float
    result: Ingested | None = None
    document: str | None = None
    reason: str = ""


def read_reports(path: Path, collection: str) -> Iterator[GoodLine[IngestReport] | BadLine]:
    """Read reports from JSON lines; blank lines are passed over.

    Raises:
        OSError: The file cannot be read.
    """
    return _read(path, collection, IngestReport, "report")


def read_sessions(path: Path, collection: str) -> Iterator[GoodLine[IngestSession] | BadLine]:
    """Read sessions of messages, as `read_reports` reads reports."""
    return _read(path, collection, IngestSession, "session")


def read_conversations(path: Path, collection: str) -> Iterator[GoodLine[IngestConversation] | BadLine]:
    """Read whole conversations, as `read_reports` reads reports."""
    return _read(path, collection, IngestConversation, "session")


def read_modules(path: Path, collection: str) -> Iterator[GoodLine[IngestModule] | BadLine]:
    """Read code documents, as `read_reports` reads reports."""
    return _read(path, collection, IngestModule, "document")


READERS: Final[Mapping[str, Callable[[Path, str], Iterator[GoodLine[Any] | BadLine]]]] = {
    "reports": read_reports,
    "messages": read_sessions,
    "conversations": read_conversations,
    "modules": read_modules,
}


def _read(path: Path, collection: str, asked: type[Q], field: str) -> Iterator[GoodLine[Q] | BadLine]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _parsed(number, line, collection, asked, field)


def _parsed(number: int, line: bytes, collection: str, asked: type[Q], field: str) -> GoodLine[Q] | BadLine:
    try:
        request = asked.model_validate({"collection": collection, field: json.loads(line)})
    except (ValueError, RecursionError) as error:
        return BadLine(number, rule_broken(error, below=field))
    return GoodLine(number, len(line), request)


def rule_broken(error: ValueError | RecursionError, *, below: str = "") -> str:
    """Say what is wrong with a line, field by field; fields are named from ``below`` on."""
    match error:
        case UnicodeDecodeError():
            return "not UTF-8"
        case json.JSONDecodeError():
            return f"not JSON: {error.msg} at column {error.colno}"
        case pydantic.ValidationError():
            broken = [(".".join(map(str, entry["loc"])), entry["msg"]) for entry in error.errors()[:3]]
            return "; ".join(
                f"{place.removeprefix(below).removeprefix('.') or 'line'}: {rule}" for place, rule in broken
            )
        case _:
            return "not JSON: a number too long, or nested too deeply"


def ingest(mill: Querymill, lines: Iterable[GoodLine[Any]]) -> Iterator[Advance]:
    """Hand documents over and follow them; yields as they advance.

    Ingestion is durable: when this stops half-way, what was handed over still gets in, and handing the
    same content over again changes nothing.
    """
    waiting = iter(lines)
    flying: deque[tuple[GoodLine[Any], Job[Ingested]]] = deque()
    before = 0
    while True:
        while len(flying) < IN_FLIGHT and (line := next(waiting, None)) is not None:
            flying.append((line, mill.submit(line.request)))
        if not flying:
            return
        line, job = flying.popleft()
        for event in job.events():
            if isinstance(event, Progress):
                yield Advance(before + line.size * event.done / max(event.total, 1))
        before += line.size
        yield _arrived(before, line, job)


def named(request: Ingestion) -> str:
    """Name what is ingested by its own id."""
    match request:
        case IngestReport(report=report):
            return report.sha1
        case IngestModule(document=document):
            return str(document.document)
        case IngestSession(session=session) | IngestConversation(session=session):
            return session.session_id
        case _:
            assert_never(request)


def _arrived(size: int, line: GoodLine[Any], job: Job[Ingested]) -> Advance:
    document = named(line.request)
    try:
        return Advance(size, result=job.result(timeout=5), document=document)
    except JobEnded as error:
        return Advance(size, document=document, reason=f"line {line.number}: {error.reason}")
