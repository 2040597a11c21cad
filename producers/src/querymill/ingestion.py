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
from querymill_shared.contracts.conversations.ingest import IngestConversation, IngestConversationResult
from querymill_shared.contracts.errors import JobEnded
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import IngestFiles, IngestFilesResult
from querymill_shared.contracts.messages.ingest import IngestSession, IngestSessionResult
from querymill_shared.contracts.messages.life import EmbedMessagesResult
from querymill_shared.contracts.modules.ingest import IngestModule, IngestModuleResult
from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult

Ingestion = IngestReport | IngestModule | IngestSession | IngestConversation | IngestFiles
Ingested = IngestResult | IngestModuleResult | IngestSessionResult | IngestConversationResult | IngestFilesResult
Q = TypeVar("Q", IngestReport, IngestModule, IngestSession, IngestConversation, IngestFiles, covariant=True)

#: Documents handed over before the first must be done: enough to keep the workers busy, few enough for the board.
IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not loaded, and the rule it breaks."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class GoodLine(Generic[Q]):
    """A line, or another ``unit``, that can be loaded; ``size`` is its length in bytes."""

    number: int
    size: int
    request: Q
    unit: str = "line"


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
            broken = [
                (".".join(map(str, entry["loc"])), entry["msg"].removeprefix("Value error, "))
                for entry in error.errors()[:3]
            ]
            return "; ".join(
                f"{place.removeprefix(below).removeprefix('.') or 'line'}: {rule}" for place, rule in broken
            )
        case _:
            return "not JSON: a number too long, or nested too deeply"


def ingest(mill: Querymill, lines: Iterable[GoodLine[Any]]) -> Iterator[Advance]:
    """Hand documents over and follow them; yields as they advance. A session is in when its vectors are there too.

    Ingestion is durable: when this stops half-way, what was handed over still gets in, and handing the
    same content over again changes nothing.
    """
    waiting = iter(lines)
    held = next(waiting, None)
    flying: deque[tuple[GoodLine[Any], Job[Ingested]]] = deque()
    before = 0
    while held is not None or flying:
        # Two versions of one document that are under way together may be stored in any order: the later one waits.
        names = {named(line.request) for line, _ in flying}
        while held is not None and len(flying) < IN_FLIGHT and named(held.request) not in names:
            flying.append((held, mill.submit(held.request)))
            names.add(named(held.request))
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


def _followed(job: Job[Any], before: int, line: GoodLine[Any]) -> Iterator[Advance]:
    for event in job.events():
        if isinstance(event, Progress):
            yield Advance(before + line.size * event.done / max(event.total, 1))


def named(request: Ingestion) -> str:
    """Name what is ingested by its own id."""
    match request:
        case IngestReport(report=report):
            return report.sha1
        case IngestModule(document=document):
            return str(document.document)
        case IngestSession(session=session) | IngestConversation(session=session):
            return session.session_id
        case IngestFiles(files=files):
            return files[0].path if len(files) == 1 else f"{files[0].path} and {len(files) - 1} more"
        case _:
            assert_never(request)


def _embedded(arrived: Advance, line: GoodLine[Any], embedding: Job[EmbedMessagesResult]) -> Advance:
    """Tell a session that is stored from one whose vectors are there too."""
    try:
        embedding.result(timeout=5)
    except JobEnded as error:
        reason = f"line {line.number}: stored and found by its words, but not embedded: {error.reason}"
        return Advance(arrived.size, document=arrived.document, reason=reason)
    return arrived


def _arrived(size: int, line: GoodLine[Any], job: Job[Ingested]) -> Advance:
    document = named(line.request)
    try:
        return Advance(size, result=job.result(timeout=5), document=document)
    except JobEnded as error:
        return Advance(size, document=document, reason=f"{line.unit} {line.number}: {error.reason}")
