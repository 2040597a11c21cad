"""What the board keeps of an ingestion for people: its jobs and its refused lines, for a week.

The gateway writes it for uploads, the client for commands and calls. A batch is one text: JSON of what is known of it,
then a line for each job, with its number of documents.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import redis
from pydantic_core import to_json

from querymill_shared.board import keys
from querymill_shared.board.clock import read_clock

#: How long a batch is kept, in seconds.
BATCH_TTL_S: Final = 7 * 86_400
#: For how long while it is read, in seconds: its process may die.
OPEN_TTL_S: Final = 3_600
#: How often it is written while it is read, in seconds.
WRITTEN_EVERY_S: Final = 1.0
#: The list of the latest batches, and how long it is.
BATCHES: Final = f"{keys.prefix('0')}batches"
MAX_LISTED: Final = 50
#: Refused lines that are named.
MAX_REJECTED: Final = 100


def batch_key(batch: str) -> str:
    """Return the key of a batch."""
    return f"{keys.prefix(batch[0])}batch:{batch}"


def batch_text(about: str, jobs: Iterable[tuple[str, int]]) -> str:
    """Return what is kept of a batch. ``about`` is JSON, and each job has its number of documents."""
    return "\n".join([about, *(f"{job_id} {documents}" for job_id, documents in jobs)])


class BatchShelf:
    """The batches of a board, for one that writes them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def now(self) -> float:
        """Return the time by the board's clock, in seconds since the epoch."""
        return read_clock(self._client)

    def keep(self, about: Mapping[str, Any], jobs: Iterable[tuple[str, int]], *, is_first: bool) -> None:
        """Keep a batch; the first time, list it, too."""
        batch = str(about["batch"])
        ttl_s = OPEN_TTL_S if about["is_open"] else BATCH_TTL_S
        pipeline = self._client.pipeline(transaction=False)
        pipeline.set(batch_key(batch), batch_text(to_json(about).decode(), jobs), ex=ttl_s)
        if is_first:
            pipeline.zadd(BATCHES, {batch: float(about["began_at"])})
            pipeline.zremrangebyrank(BATCHES, 0, -MAX_LISTED - 1)
        pipeline.execute()
