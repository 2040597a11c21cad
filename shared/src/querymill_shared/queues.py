"""The queues: one per resource that can run short."""

from enum import StrEnum
from typing import assert_never

from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports import ORIGINAL, IngestReport, ReportSearch


class Queue(StrEnum):
    """Where a doorbell waits."""

    SEARCH = "search"  # the stores
    EXPAND = "expand"  # the chat model
    INGEST = "ingest"  # the embedding model, in bulk


def queue_of(request: JobRequest, step: str) -> Queue:
    """Name the queue on which the bell of one step of a job is rung."""
    match request:
        case ReportSearch():
            return Queue.SEARCH if step == ORIGINAL else Queue.EXPAND
        case IngestReport():
            return Queue.INGEST
        case _:
            assert_never(request)


def task_of(queue: Queue) -> str:
    """Name the Celery task that listens on a queue; the version changes when the message does."""
    return f"querymill.{queue}.v1"
