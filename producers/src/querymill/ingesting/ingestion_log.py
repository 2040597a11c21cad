"""What a command or a call notes of its ingestion on the board, so that the console shows it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol, Self, TypeVar
from uuid import uuid4

import redis

from querymill.ingesting.jsonl import BadLine
from querymill.ingesting.path_options import UnreadPath
from querymill_shared.board.jobs_of_batch import MAX_REJECTED, WRITTEN_EVERY_S, BatchShelf
from querymill_shared.contracts.ingest import Extend, Ingest
from querymill_shared.contracts.jobs import JobRequest

#: Jobs of one record. A command that follows files for days begins another after it.
MAX_JOBS: Final = 5_000
#: Characters of a refused line's field and rule that are kept.
_FIELD_CHARS: Final = 200
_RULE_CHARS: Final = 300


class Recordable(Protocol):
    """A client whose jobs can be recorded."""

    @property
    def shelf(self) -> BatchShelf:
        """Where records of ingestions are kept."""
        ...

    def telling(self, sent: Callable[[JobRequest, str], None]) -> Self:
        """Return the client as one that also calls ``sent`` with each request that it submits, and the job's id."""
        ...


M = TypeVar("M", bound=Recordable)


class BatchRecord:
    """The record of one ingestion.

    A record that cannot be written is no reason to stop: the documents are stored all the same.
    """

    def __init__(self, shelf: BatchShelf, kind: str, collection: str) -> None:
        self._shelf = shelf
        self._kind = kind
        self._collection = collection
        self._begin()

    def _begin(self) -> None:
        self.batch = uuid4().hex
        self._jobs: list[tuple[str, int]] = []
        self._rejected = 0
        self._named: list[dict[str, Any]] = []
        self._began_at = 0.0
        self._written_at: float | None = None

    def sent(self, request: JobRequest, job_id: str) -> None:
        """Note a job, if it ingests."""
        documents = documents_in(request)
        if documents:
            self._jobs.append((job_id, documents))
            self._write_now_and_then()

    def note(self, event: object) -> None:
        """Note what an event of `Querymill.ingest` says was not accepted."""
        if isinstance(event, BadLine):
            self.refuse(event.reason, line=event.number)
        elif isinstance(event, UnreadPath) and event.failed:
            self.refuse(event.reason, place=event.place)

    def refuse(self, rule: str, *, line: int = 0, place: str = "") -> None:
        """Note what was not accepted: a line by its number, or a file by its ``place``."""
        self._rejected += 1
        if len(self._named) < MAX_REJECTED:
            self._named.append({"line": line, "field": place[-_FIELD_CHARS:], "rule": rule[:_RULE_CHARS]})
        self._write_now_and_then()

    def close(self) -> None:
        """Note that no more is read. What is noted after this opens it again, or begins another if this one is long."""
        if self._jobs or self._rejected:
            self._write(is_open=False)
        if len(self._jobs) >= MAX_JOBS:
            self._begin()

    def _write_now_and_then(self) -> None:
        if self._written_at is None or time.monotonic() - self._written_at > WRITTEN_EVERY_S:
            self._write(is_open=True)

    def _write(self, *, is_open: bool) -> None:
        with suppress(redis.RedisError):
            is_first = self._written_at is None
            if is_first:
                self._began_at = self._shelf.now()
            about = {
                "batch": self.batch, "collection": self._collection, "kind": self._kind, "jobs": {}, "gone": 0,
                "accepted": sum(documents for _, documents in self._jobs), "rejected": self._rejected,
                "first_rejected": self._named, "began_at": self._began_at, "is_open": is_open,
            }  # fmt: skip
            self._shelf.keep(about, self._jobs, is_first=is_first)
            self._written_at = time.monotonic()


def documents_in(request: JobRequest) -> int:
    """Return how many documents a request ingests: 0 if it is of another kind."""
    return len(request.documents) if isinstance(request, Ingest | Extend) else 0


@contextmanager
def recorded(mill: M, kind: str, collection: str) -> Iterator[tuple[M, BatchRecord]]:
    """Give a client whose ingestion is recorded, and the record, which is closed however this ends."""
    record = BatchRecord(mill.shelf, kind, collection)
    try:
        yield mill.telling(record.sent), record
    finally:
        record.close()
