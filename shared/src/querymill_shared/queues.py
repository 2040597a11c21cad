"""The queues: one per scarce resource."""

from enum import StrEnum


class Queue(StrEnum):
    """The queue of a bell, named after the resource that the step needs."""

    SEARCH = "search"  # the stores
    EXPAND = "expand"  # the chat model
    INGEST = "ingest"  # documents: chunking, the embedding model, the stores
    EMBED = "embed"  # the embedding model alone, in bulk
    RERANK = "rerank"  # the relevance judge: a chat model, or a rerank endpoint
    RANKS = "ranks"  # the CPU: how conversations refer to each other


def task_of(queue: Queue) -> str:
    """Return the name of the Celery task of a queue. Its version changes with the message format."""
    return f"querymill.{queue}.v1"
