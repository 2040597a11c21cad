"""What a client does to ingest: rows or a file of JSON lines become jobs; what became of each is told and counted."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter

from querymill.ingestion import BadLine, GoodLine, Lines, LoadProgress, Submits, ingest
from querymill_shared.contracts.fields import CollectionName
from querymill_shared.contracts.filters import Retriever

#: Failed documents, and bad lines, that are named; of more the number is known.
NAMED: Final = 1_000
#: Where documents come from: a file of JSON lines, or rows.
Rows = str | Path | Iterable[Any]
#: Is told of each bad line, and of each advance; one with a ``document`` says what became of it.
OnEvent = Callable[[LoadProgress | BadLine], None]
_COLLECTION: Final = TypeAdapter[str](CollectionName)
E = TypeVar("E", LoadProgress, BadLine)


@dataclass(slots=True)
class Ingestion:
    """What became of documents. However many they are, it stays small.

    ``outcomes`` counts them by outcome: those of the results, such as "ingested" and "unchanged", "failed", and "bad"
    for lines that break a rule. ``parts`` counts what is stored of them. The first 1,000 ``failed`` documents and
    ``bad`` lines are named.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    failed: list[LoadProgress] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        """Whether every line was loaded."""
        return not self.failed and not self.bad

    def add(self, outcome: LoadProgress) -> None:
        """Count a document."""
        if outcome.result is None:
            self._keep(self.failed, outcome, "failed")
        else:
            self.outcomes[outcome.result.outcome] += 1
            self.parts += outcome.result.total

    def add_bad(self, line: BadLine) -> None:
        """Count a bad line."""
        self._keep(self.bad, line, "bad")

    def _keep(self, named: list[E], entry: E, outcome: str) -> None:
        self.outcomes[outcome] += 1
        if len(named) < NAMED:
            named.append(entry)


class LoadCalls:
    """The call of `Querymill` that ingests."""

    def ingest(
        self: Submits, kind: Retriever, rows: Rows, *, collection: str, on_event: OnEvent = lambda _: None
    ) -> Ingestion:
        """Ingest rows, or a file of JSON lines, and wait until they are in. Return what became of them.

        A row is a mapping as a line of `querymill ingest` has it, a contract such as `Report`, or a line of JSON. Rows
        are read while others are ingested: only the documents in flight are in memory. A bad row is named, the others
        are ingested. What was submitted is ingested even if this stops; the same again changes nothing, so a call that
        was cut is made again.

        Raises:
            ValueError: The kind or the name of the collection breaks a rule.
            OSError: The file cannot be read.
        """
        return load(self, kind, rows, collection, on_event)


def load(mill: Submits, kind: str, rows: Rows, collection: str, tell: OnEvent) -> Ingestion:
    """Ingest rows; see `LoadCalls.ingest`."""
    lines, done = _lines_of(kind), Ingestion()
    _COLLECTION.validate_python(collection)
    for advance in ingest(mill, _good(_read(lines, rows, collection), done, tell), packing=lines.packing):
        if advance.document is not None:
            done.add(advance)
        tell(advance)
    return done


async def load_async(
    connected: Callable[[], Any], kind: str, rows: Rows, collection: str, on_event: OnEvent
) -> Ingestion:
    """Ingest rows in a thread, with a client of its own. ``on_event`` is called in this loop.

    If this is cancelled, no more rows are read.
    """
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def tell(event: LoadProgress | BadLine) -> None:
        if stopped.is_set():
            raise _Stopped
        loop.call_soon_threadsafe(on_event, event)

    def run() -> Ingestion:
        with suppress(_Stopped), connected() as mill:
            return load(mill, kind, rows, collection, tell)
        return Ingestion()

    try:
        return await asyncio.to_thread(run)
    finally:
        stopped.set()


class _Stopped(Exception):
    """Raised in the thread of a call that was cancelled."""


def _lines_of(kind: str) -> Lines[Any]:
    # The kinds know the client, and bring the terminal: they are imported when they are needed.
    kinds: Any = import_module("querymill.kinds")
    found = next((known for known in kinds.KINDS if known.name == kind), None)
    if found is None:
        raise ValueError(f"kind: must be one of {kinds.NAMES}")
    lines: Lines[Any] = found.documents
    return lines


def _read(lines: Lines[Any], rows: Rows, collection: str) -> Iterator[GoodLine[Any] | BadLine]:
    return lines.read(Path(rows), collection) if isinstance(rows, str | Path) else lines.read_rows(rows, collection)


def _good(read: Iterable[GoodLine[Any] | BadLine], done: Ingestion, tell: OnEvent) -> Iterator[GoodLine[Any]]:
    for line in read:
        if isinstance(line, GoodLine):
            yield line
        else:
            done.add_bad(line)
            tell(line)
