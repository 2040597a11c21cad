"""The readers of foreign bytes. What has a registry is taken from it: a new format is fuzzed without a word here."""

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from querymill.agents.loose import surplus_of
from querymill.agents.server import TOOLS, _read
from querymill.filters import BadFilter, read_filter
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.submitting import request_of
from querymill.ingesting.jsonl import Lines
from querymill.ingesting.kinds import KINDS
from querymill_histories.finding import find, read_sessions
from querymill_histories.formats import FORMATS as HISTORIES
from querymill_histories.rows import rows_of
from querymill_histories.session import HistoryFormat, Session
from querymill_reading import archives, child
from querymill_reading.document import Document, ReadLimits, Unreadable
from querymill_reading.formats import FORMATS as DOCUMENTS
from querymill_reading.formats import DocumentFormat
from querymill_shared.board import calls, summaries, trails
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.contracts.events import decode_event
from querymill_shared.contracts.filters import Retriever, read_condition
from querymill_shared.contracts.jobs import decode_request, decode_result
from querymill_shared.queues import Queue, task_of
from querymill_workers.jobs.bell_codec import heard
from tests.fuzz import seeds

LIMITS: Final = ReadLimits(unpacked_bytes=16 << 20, members=1_000, characters=1_000_000)
JOB_ID: Final = "0" * 32


@dataclass(frozen=True)
class Door:
    """A reader of foreign bytes: ``enter`` raises nothing but what is ``declared``. ``seeds`` are good inputs."""

    name: str
    enter: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    declared: tuple[type[Exception], ...] = ()

    def take(self, content: bytes) -> None:
        """Read something. What is not declared is raised."""
        with suppress(*self.declared):
            self.enter(content)


def all_doors() -> dict[str, Door]:
    """Return every door by its name."""
    folder = Path(tempfile.mkdtemp(prefix="querymill-fuzz-"))
    found = [*_documents(folder), *_archives(folder), *_histories(folder), *_http(), *_tools(), *_board()]
    return {door.name: door for door in found}


def _documents(folder: Path) -> Iterator[Door]:
    for known in DOCUMENTS:
        made = seeds.documents(known)
        is_packed = any(zipfile.is_zipfile(io.BytesIO(seed)) for seed in made)
        # Bytes that were changed inside a packed file would fail its checksum, and no parser would see them.
        given = [seeds.opened(seed) for seed in made] if is_packed else made
        enter = partial(_read_document, folder, known, packed=is_packed)
        yield Door(f"document-{known.name}", enter, partial(list, given))
    everything = [seed for known in DOCUMENTS for seed in seeds.documents(known)]
    yield Door("document", partial(_read_document, folder, None, packed=False), partial(list, everything))


def _read_document(folder: Path, known: DocumentFormat | None, content: bytes, *, packed: bool) -> None:
    path = folder / f"document{known.suffixes[0] if known else ''}"
    path.write_bytes(seeds.packed(content) if packed else content)
    asked = {"path": str(path), "name": path.name} | ({"format": known.name} if known else {})
    answers = io.BytesIO()
    answer = child._answered(asked, LIMITS, answers)
    child._write(answers, answer)
    if "document" in answer:
        Document.from_json(json.loads(answers.getvalue().splitlines()[-1])["document"])


def _archives(folder: Path) -> Iterator[Door]:
    for suffix in archives.SUFFIXES:
        yield Door(
            f"archive{suffix}",
            partial(_unpack, folder / f"archive{suffix}", suffix),
            partial(seeds.archives, suffix),
            (Unreadable,),
        )


def _unpack(folder: Path, suffix: str, content: bytes) -> None:
    """Unpack an archive, and see that nothing is written beside its folder."""
    folder.mkdir(exist_ok=True)
    archive = folder / f"a{suffix}"
    archive.write_bytes(content)
    with tempfile.TemporaryDirectory(dir=folder) as into:
        try:
            archives.unpack(archive, Path(into, "in"), LIMITS)
        finally:
            beside = {path.name for path in folder.iterdir()} - {archive.name, Path(into).name}
            assert not beside, beside
            assert {path.name for path in Path(into).iterdir()} <= {"in"}


def _histories(folder: Path) -> Iterator[Door]:
    for known in HISTORIES:
        for name, content in seeds.histories(known).items():
            place = folder / known.name / PurePosixPath(name).name
            label = f"history-{known.name}-{place.suffix.removeprefix('.') or place.name}"
            yield Door(label, partial(_read_history, known, place), partial(list, [content]))


def _read_history(known: HistoryFormat, place: Path, content: bytes) -> None:
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    find([place])
    for name, read in read_sessions(find([place], known)):
        if isinstance(read, Session):
            rows_of(read, name, "full")


def _http() -> Iterator[Door]:
    yield Door("http-job", request_of, seeds.requests, (Problem,))
    for kind in KINDS:
        refused = (ValueError, RecursionError)
        yield Door(
            f"http-lines-{kind.name}", partial(_read_line, kind.documents), partial(seeds.lines, kind.name), refused
        )
    for retriever in get_args(Retriever):
        yield Door(f"filter-{retriever}", partial(_read_filter, retriever), seeds.filters, (BadFilter,))
    yield Door("filter-condition", lambda content: read_condition(from_json(content)), seeds.conditions, (ValueError,))


def _read_line(lines: Lines[Any], content: bytes) -> None:
    lines.document_of(content)


def _read_filter(retriever: Retriever, content: bytes) -> None:
    read_filter(content.decode(errors="replace").split("\n"), retriever)


def _tools() -> Iterator[Door]:
    for tool in TOOLS.values():
        yield Door(f"mcp-{tool.name}", partial(_read_call, tool.arguments), seeds.tool_calls, (ValidationError,))


def _read_call(arguments: type[BaseModel], content: bytes) -> None:
    try:
        written = from_json(content)
    except ValueError:
        return
    if isinstance(written, dict):
        _read(arguments, written, surplus_of(written, arguments))


def _board() -> Iterator[Door]:
    for queue in Queue:
        yield Door(f"bell-{queue.value}", partial(heard, task=task_of(queue)), seeds.bells)
    yield Door("board-record", _read_record, seeds.records, (UnknownJob, UnreadableJob))
    yield Door("board-trail", _read_trail, seeds.trails, (UnknownJob, UnreadableJob))
    yield Door("board-request", decode_request, seeds.requests, (ValidationError,))
    yield Door("board-result", decode_result, seeds.results, (ValidationError,))
    yield Door("board-event", decode_event, seeds.events)


def _read_record(content: bytes) -> None:
    """Read a job's keys as the board answers with them: names and values in turn, all of them texts."""
    parts = content.decode(errors="replace").split("\x1d")
    record, steps, hits, queries, request = [*parts, *[""] * 5][:5]
    flat = [part.split("\x1e") if part else [] for part in (record, steps, hits, queries)]
    if any(len(each) % 2 for each in flat):
        return  # a hash has as many values as names
    with suppress(UnknownJob):
        summaries.summary(JOB_ID).parse([flat[0], "", ""])
    shown = calls.picture(JOB_ID).parse((flat, request))
    shown.for_caller()
    for step in shown.steps:
        _ = step.attempts, step.code, step.worker


def _read_trail(content: bytes) -> None:
    """Read what a job left behind, and what the job left whose work it shared."""
    own, _, shared = content.decode(errors="replace").partition("\x1d")
    trails.trail(JOB_ID).parse((own, shared)).for_caller()
