"""Where a client that reaches the board keeps how far its ingestions are."""

import redis

from querymill_shared.board.clock import read_clock
from querymill_shared.board.jobs_of_batch import BATCHES, MAX_LISTED, batch_key, began_at, text_of, ttl_of
from querymill_shared.contracts.batches import KeptBatch


class BatchShelf:
    """The batches of a board, for one that writes them."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def keep(self, batch: str, about: KeptBatch) -> None:
        """Keep a batch; the first time, list it, too."""
        kept = self._client.get(batch_key(batch))
        at = began_at(kept) if isinstance(kept, str) else read_clock(self._client)
        pipeline = self._client.pipeline(transaction=False)
        pipeline.set(batch_key(batch), text_of(batch, about, began_at=at), ex=ttl_of(about))
        if kept is None:
            pipeline.zadd(BATCHES, {batch: at})
            pipeline.zremrangebyrank(BATCHES, 0, -MAX_LISTED - 1)
        pipeline.execute()
