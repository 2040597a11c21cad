"""Ingest rows, or the files at a path: submit them as jobs, and report and count the outcome of each document."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from pydantic import TypeAdapter

from querymill.ingesting.ingestion_log import Recordable, recorded
from querymill.ingesting.jsonl import BadLine, GoodLine, Lines
from querymill.ingesting.path_options import PathOptions, UnreadPath
from querymill.ingesting.submitting import LoadProgress, Submits, ingest
from querymill_shared.contracts.fields import CollectionName
from querymill_shared.contracts.files.ingest import IngestFilesResult
from querymill_shared.contracts.filters import Retriever

#: Failed documents, and bad lines, that are named; of more the number is known.
NAMED: Final = 1_000
#: Where documents come from: a path, or rows.
Rows = str | Path | Iterable[Any]
#: Called with each bad line, each unread file and each advance. An advance with a ``document`` is its outcome.
OnEvent = Callable[[LoadProgress | BadLine | UnreadPath], None]
_COLLECTION: Final = TypeAdapter[str](CollectionName)
E = TypeVar("E", LoadProgress, BadLine, UnreadPath)


@dataclass(slots=True)
class Ingestion:
    """The outcomes of documents. However many documents there are, it stays small.

    ``outcomes`` counts them by outcome: those of the results, such as "ingested" and "unchanged", "failed", and "bad"
    for lines that break a rule. ``parts`` counts what is stored of them. Of a path, "unread" counts the files that
    should have been read, "left out" those that are passed over by rule, and "dropped" those that were gone. The first
    1,000 ``failed`` documents, ``bad`` lines and ``unread`` files are named.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    failed: list[LoadProgress] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    unread: list[UnreadPath] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether everything was loaded that should have been."""
        return not self.failed and not self.bad and not self.outcomes["unread"]

    def add(self, outcome: LoadProgress) -> None:
        """Count a document, or the files of a job."""
        if outcome.result is None:
            self._keep(self.failed, outcome, "failed")
        elif isinstance(outcome.result, IngestFilesResult):  # of many files, and it counts them
            self.outcomes += Counter(ingested=outcome.result.ingested, unchanged=outcome.result.unchanged)
            self.parts += outcome.result.chunks
        else:
            self.outcomes[outcome.result.outcome] += 1
            self.parts += outcome.result.total

    def add_bad(self, line: BadLine) -> None:
        """Count a bad line."""
        self._keep(self.bad, line, "bad")

    def add_unread(self, unread: UnreadPath) -> None:
        """Count a file that was not read."""
        self._keep(self.unread, unread, "unread" if unread.failed else "left out")

    def _keep(self, named: list[E], entry: E, outcome: str) -> None:
        self.outcomes[outcome] += 1
        if len(named) < NAMED:
            named.append(entry)


class LoadTree(Protocol):
    """Ingest a code base for a client: print nothing, report and count the outcome of each file."""

    def __call__(
        self,
        mill: Submits,
        path: Path,
        collection: str,
        tell: Callable[[LoadProgress | UnreadPath], None],
        *,
        include_secrets: bool,
        vectors: bool,
    ) -> Ingestion:
        """Ingest it; known secrets only with ``include_secrets``, vectors are made with ``vectors``."""
        ...


class Loadable(Protocol):
    """What a client needs to know of a kind to ingest its documents."""

    @property
    def documents(self) -> Lines[Any]:
        """How documents are read from JSON lines."""
        ...

    @property
    def tree(self) -> LoadTree | None:
        """How a code base is ingested, for the kind that takes one."""
        ...

    @property
    def reads_documents(self) -> bool:
        """Whether it takes PDF, HTML and other files of `querymill.reading`."""
        ...

    @property
    def reads_histories(self) -> bool:
        """Whether it takes the files of `querymill.histories`."""
        ...


class Ingests(Submits, Recordable, Protocol):
    """A client that ingests: it submits jobs, and they can be recorded."""


def check_collection(name: str) -> None:
    """Check the name of a collection.

    Raises:
        ValueError: It breaks a rule.
    """
    _COLLECTION.validate_python(name)


class LoadCalls:
    """The call of `Querymill` that ingests."""

    def ingest(
        self: Ingests,
        kind: Retriever,
        rows: Rows,
        *,
        collection: str,
        options: PathOptions | None = None,
        on_event: OnEvent = lambda _: None,
    ) -> Ingestion:
        """Ingest rows, or what is at a path, and wait until they are in. Return the outcomes.

        A path is read as `querymill ingest KIND PATH` reads it: JSON lines; for reports also a document, a folder, a
        pattern or an archive of them; for conversations and messages also histories; for files also a code base, with
        which the collection is brought up to date. ``options`` are those of the command. A file that cannot be read
        is named in ``unread``, the others are ingested.

        A row is a mapping as a line of `querymill ingest` has it, a contract such as `Report`, or a line of JSON. Rows
        are read while others are ingested: only the documents in flight are in memory. A bad row is named, the others
        are ingested. What was submitted is ingested even if this stops; the same again changes nothing, so a call that
        was cut is made again. Of files, notebooks are read by cell, and known secrets are left out.

        Raises:
            ValueError: The kind or the name of the collection breaks a rule, or an option is not for rows.
            UnusablePath: Nothing at the path can be loaded, or an option breaks a rule or is not for this kind.
            OSError: The path cannot be read.
        """
        return load(self, kind, rows, collection, on_event, options)


def load(
    mill: Ingests, kind: str, rows: Rows, collection: str, tell: OnEvent, options: PathOptions | None = None
) -> Ingestion:
    """Ingest rows, or what is at a path; see `LoadCalls.ingest`."""
    found = _kind(kind)
    check_collection(collection)
    lines = found.documents
    if isinstance(rows, str | Path):
        # It brings the readers of documents and histories, which a client of rows does without.
        paths: Any = import_module("querymill.ingesting.sources.paths")
    elif options is not None:
        lines = _for_rows(lines, options)
    with recorded(mill, kind, collection, lines) as (noting, record):

        def note(event: LoadProgress | BadLine | UnreadPath) -> None:
            record.note(event)
            tell(event)

        if isinstance(rows, str | Path):
            ingestion: Ingestion = paths.load_path(noting, found, str(rows), collection, options or PathOptions(), note)
            return ingestion
        return _load_rows(noting, lines, rows, collection, note)


def _for_rows(lines: Lines[Any], options: PathOptions) -> Lines[Any]:
    """Return lines that are read with the options of rows.

    Raises:
        ValueError: One is for a path, or for another kind.
    """
    known = PathOptions(include_secrets=options.include_secrets, vectors=options.vectors)
    if options != known or lines.refuse is None or not lines.makes_vectors_if_asked:
        raise ValueError("options: of rows there are include_secrets and vectors, for files; the others are for a path")
    lines = lines.leaving_nothing_out() if options.include_secrets else lines
    return lines.asking_for_vectors() if options.vectors else lines


def _load_rows(mill: Submits, lines: Lines[Any], rows: Iterable[Any], collection: str, tell: OnEvent) -> Ingestion:
    done = Ingestion()
    good = _good(lines.read_rows(rows, collection), done, tell)
    for advance in ingest(mill, good, packing=lines.packing):
        if advance.document is not None:
            done.add(advance)
        tell(advance)
    return done


async def load_async(
    connected: Callable[[], Any],
    kind: str,
    rows: Rows,
    collection: str,
    on_event: OnEvent,
    options: PathOptions | None = None,
) -> Ingestion:
    """Ingest in a thread, with a client of its own. ``on_event`` is called in this loop.

    If this is cancelled, no more rows are read.
    """
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def tell(event: LoadProgress | BadLine | UnreadPath) -> None:
        if stopped.is_set():
            raise _Stopped
        loop.call_soon_threadsafe(on_event, event)

    def run() -> Ingestion:
        with suppress(_Stopped), connected() as mill:
            return load(mill, kind, rows, collection, tell, options)
        return Ingestion()

    try:
        return await asyncio.to_thread(run)
    finally:
        stopped.set()


class _Stopped(Exception):
    """Raised in the thread of a call that was cancelled."""


def _kind(kind: str) -> Loadable:
    # The kinds know the client, and bring the terminal: they are imported when they are needed.
    kinds: Any = import_module("querymill.cli.kinds")
    found: Loadable | None = next((known for known in kinds.KINDS if known.name == kind), None)
    if found is None:
        raise ValueError(f"kind: must be one of {kinds.NAMES}")
    return found


def _good(read: Iterable[GoodLine[Any] | BadLine], done: Ingestion, tell: OnEvent) -> Iterator[GoodLine[Any]]:
    for line in read:
        if isinstance(line, GoodLine):
            yield line
        elif line.left_out:
            unread = UnreadPath(line.left_out, line.reason, failed=False)
            done.add_unread(unread)
            tell(unread)
        else:
            done.add_bad(line)
            tell(line)
