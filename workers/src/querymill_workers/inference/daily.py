"""An optional token budget per collection and day, so that one collection cannot use up the shared limit."""

import time

import redis

from querymill_workers.jobs.faults import Refused

_TWO_DAYS_S = 172_800


class DailyTokens:
    """Counts estimated tokens per collection and UTC day. With a ``limit`` of None nothing is counted."""

    def __init__(self, client: redis.Redis, limit: int | None) -> None:
        self._client = client
        self._limit = limit

    def spend(self, collection: str, tokens: int) -> None:
        """Count the tokens of a call before it is made.

        Raises:
            Refused: The call would exceed the collection's budget for today. Nothing is counted.
        """
        if self._limit is None:
            return
        key = f"qm:daily:{collection}:{time.strftime('%Y%m%d', time.gmtime())}"
        spent = int(self._client.incrby(key, tokens))
        self._client.expire(key, _TWO_DAYS_S)
        if spent > self._limit:
            self._client.decrby(key, tokens)
            raise Refused(
                f"daily token budget of collection {collection!r} is used up ({spent - tokens} of {self._limit} today)"
            )
