"""The queues: one per resource that can run short."""

from collections.abc import Mapping
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


#: How producers and workers hold on to a Redis broker; the library's defaults hang on a half-open connection.
_REDIS_TRANSPORT: Mapping[str, float | bool] = {
    # A message of a worker that was killed comes back after this; the board's lease is quicker anyway.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}


def transport_options(broker_url: str) -> Mapping[str, float | bool]:
    """Give the broker transport's options; RabbitMQ confirms what it took, or a killed one loses it."""
    return _REDIS_TRANSPORT if broker_url.startswith("redis") else {"confirm_publish": True}
