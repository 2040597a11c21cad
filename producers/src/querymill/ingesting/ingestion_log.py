"""What a command or a call notes of its ingestion on the board, so that the console shows it."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self, TypeVar
from uuid import uuid4

from querymill.ingesting.jsonl import BadLine
from querymill.ingesting.path_options import UnreadPath
from querymill_shared.board.jobs_of_batch import WRITTEN_EVERY_S
from querymill_shared.contracts.batches import (
    FIELD_CHARS,
    MAX_REJECTED,
    RULE_CHARS,
    BatchJob,
    KeptBatch,
    RefusedLine,
)
from querymill_shared.contracts.ingest import Extend, Ingest
from querymill_shared.contracts.jobs import JobRequest

#: Jobs of one record. A command that follows files for days begins another after it.
MAX_JOBS: Final = 5_000


class Recordable(Protocol):
    """A client whose jobs can be recorded."""

    def record_batch(self, batch: str, about: KeptBatch) -> None:
        """Keep how far an ingestion is. What cannot be kept is no reason to stop."""
        ...

    def telling(self, sent: Callable[[JobRequest, str], None]) -> Self:
        """Return the client as one that also calls ``sent`` with each request that it submits, and the job's id."""
        ...


M = TypeVar("M", bound=Recordable)


class BatchRecord:
    """The record of one ingestion.

    A record that cannot be written is no reason to stop: the documents are stored all the same.
    """

    def __init__(self, keep: Callable[[str, KeptBatch], None], kind: str, collection: str) -> None:
        self._keep = keep
        self._kind = kind
        self._collection = collection
        self._begin()

    def _begin(self) -> None:
        self.batch = uuid4().hex
        self._jobs: list[BatchJob] = []
        self._rejected = 0
        self._named: list[RefusedLine] = []
        self._written_at: float | None = None

    def sent(self, request: JobRequest, job_id: str) -> None:
        """Note a job, if it ingests."""
        documents = documents_in(request)
        if documents:
            self._jobs.append(BatchJob(job_id=job_id, documents=documents))
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
            self._named.append(RefusedLine(line=line, field=place[-FIELD_CHARS:], rule=rule[:RULE_CHARS]))
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
        known = {
            "kind": self._kind, "collection": self._collection, "jobs": self._jobs, "rejected": self._rejected,
            "first_rejected": self._named, "is_open": is_open,
        }  # fmt: skip
        self._keep(self.batch, KeptBatch.model_construct(**{name: _frozen(held) for name, held in known.items()}))
        self._written_at = time.monotonic()


def _frozen(held: Any) -> Any:
    return tuple(held) if isinstance(held, list) else held


def documents_in(request: JobRequest) -> int:
    """Return how many documents a request ingests: 0 if it is of another kind."""
    return len(request.documents) if isinstance(request, Ingest | Extend) else 0


@contextmanager
def recorded(mill: M, kind: str, collection: str) -> Iterator[tuple[M, BatchRecord]]:
    """Give a client whose ingestion is recorded, and the record, which is closed however this ends."""
    record = BatchRecord(mill.record_batch, kind, collection)
    try:
        yield mill.telling(record.sent), record
    finally:
        record.close()
