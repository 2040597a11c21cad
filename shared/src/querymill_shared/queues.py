"""The queues: one per resource that can run short."""

from enum import StrEnum


class Queue(StrEnum):
    """Where a doorbell waits."""

    SEARCH = "search"  # the stores
    EXPAND = "expand"  # the chat model
    INGEST = "ingest"  # documents: chunking, the embedding model, the stores
    EMBED = "embed"  # the embedding model alone, in bulk
    RERANK = "rerank"  # the judge of relevance: a chat model, or a rerank endpoint
    RANKS = "ranks"  # the processor: how conversations refer to each other


def task_of(queue: Queue) -> str:
    """Name the Celery task that listens on a queue; the version changes when the message does."""
    return f"querymill.{queue}.v1"
