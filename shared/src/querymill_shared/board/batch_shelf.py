"""Where a client that reaches the board keeps how far its ingestions are."""

import redis

from querymill_shared.board.clock import read_clock
from querymill_shared.board.jobs_of_batch import (
    BATCHES,
    MAX_AHEAD_S,
    MAX_LISTED,
    batch_key,
    known_of,
    text_of,
    ttl_of,
)
from querymill_shared.board.replies import is_written_over
from querymill_shared.contracts.batches import KeptBatch


class BatchShelf:
    """The batches of a board, for one that writes them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def keep(self, batch: str, about: KeptBatch) -> None:
        """Keep a batch; the first time, list it, too."""
        known = known_of(self._kept(batch))
        at = read_clock(self._client) if known is None else known.began_at
        self._client.set(batch_key(batch), text_of(batch, about, began_at=at), ex=ttl_of(about))
        if known is None:
            self._list(batch, at)

    def _kept(self, batch: str) -> str | None:
        try:
            kept = self._client.get(batch_key(batch))
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            return None
        return kept if isinstance(kept, str) else None

    def _list(self, batch: str, at: float) -> None:
        for _ in range(2):
            pipeline = self._client.pipeline(transaction=False)
            pipeline.zadd(BATCHES, {batch: at})
            pipeline.zremrangebyscore(BATCHES, f"({at + MAX_AHEAD_S}", "+inf")
            pipeline.zremrangebyrank(BATCHES, 0, -MAX_LISTED - 1)
            # The list is for people to read, and fails no ingestion.
            if not is_written_over(pipeline.execute(raise_on_error=False)[0]):
                return
            self._client.delete(BATCHES)
