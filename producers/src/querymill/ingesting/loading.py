"""Ingest rows, or the files at a path: submit them as jobs, and report and count the outcome of each document."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol, Self

from pydantic import TypeAdapter

from querymill.ingesting.ingestion_log import Recordable, recorded
from querymill.ingesting.jsonl import BadLine, GoodLine, Lines
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import PathOptions, UnreadPath
from querymill.ingesting.submitting import LoadProgress, Stores, Submits, ingest, pack
from querymill_shared.contracts.fields import CollectionName
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.submit_options import NO_LABELS

#: Where documents come from: a path, or rows.
Rows = str | Path | Iterable[Any]
#: Called with each bad line, each unread file and each advance. An advance with a ``document`` is its outcome.
OnEvent = Callable[[LoadProgress | BadLine | UnreadPath], None]
_COLLECTION: Final = TypeAdapter[str](CollectionName)


class Ingests(Stores, Recordable, Protocol):
    """A client that ingests: it submits jobs, knows what is stored, and its jobs can be recorded and labelled."""

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """See `Querymill.labelled`."""
        ...


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
        labels: Mapping[str, str] = NO_LABELS,
    ) -> Ingestion:
        """Ingest rows, or what is at a path, and wait until they are in. Return the outcomes.

        A path is read as `querymill ingest KIND PATH` reads it: JSON lines; for reports also a document, a folder, a
        pattern or an archive of them; for conversations and messages also histories; for files also a code base, with
        which the collection is brought up to date. ``options`` are those of the command. A file that cannot be read
        is named in ``unread``, the others are ingested.

        A row is a mapping as a line of `querymill ingest` has it, a contract such as `Report`, or a line of JSON. Rows
        are read while others are ingested: only the documents in flight are in memory. A bad row is named, the others
        are ingested. What was submitted is ingested even if this stops; the same again changes nothing, so a call that
        was cut is made again. Of files, notebooks are read by cell, and known secrets are left out. Each of its jobs
        has the ``labels``.

        Raises:
            ValueError: The kind or the name of the collection breaks a rule, or an option is not for rows.
            UnusablePath: Nothing at the path can be loaded, or an option breaks a rule or is not for this kind.
            OSError: The path cannot be read.
            InvalidRequest: A label breaks a rule; the error names both.
        """
        return load(self.labelled(labels) if labels else self, kind, rows, collection, on_event, options)


def load(
    mill: Ingests, kind: str, rows: Rows, collection: str, tell: OnEvent, options: PathOptions | None = None
) -> Ingestion:
    """Ingest rows, or what is at a path; see `LoadCalls.ingest`."""
    # The kinds bring what reads them, which a client that only asks does without.
    from querymill.ingesting.kinds import loadable_named

    found = loadable_named(kind)
    check_collection(collection)
    lines = found.documents
    if isinstance(rows, str | Path):
        # It brings the readers of documents and histories, which a client of rows does without.
        from querymill.ingesting.sources.paths import load_path
    elif options is not None:
        lines = _for_rows(lines, options)
    with recorded(mill, kind, collection) as (noting, record):

        def note(event: LoadProgress | BadLine | UnreadPath) -> None:
            record.note(event)
            tell(event)

        if isinstance(rows, str | Path):
            return load_path(noting, found, str(rows), collection, options or PathOptions(), note)
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
    good = _good(lines.read_rows(rows), done, tell)
    for advance in ingest(mill, pack(good, lines.asking(collection))):
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
    labels: Mapping[str, str] = NO_LABELS,
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
            return load(mill.labelled(labels), kind, rows, collection, tell, options)
        return Ingestion()

    try:
        return await asyncio.to_thread(run)
    finally:
        stopped.set()


class _Stopped(Exception):
    """Raised in the thread of a call that was cancelled."""


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
