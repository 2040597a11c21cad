"""An optional budget of tokens a day for each collection, so that one cannot spend what all share."""

import time

import redis

from querymill_workers.jobs.faults import Refused

_TWO_DAYS_S = 172_800


class DailyTokens:
    """Counts estimated tokens per collection and UTC day; ``most`` None counts nothing."""

    def __init__(self, client: redis.Redis, most: int | None) -> None:
        self._client = client
        self._most = most

    def spend(self, collection: str, tokens: int) -> None:
        """Count tokens before they are asked for.

        Raises:
            Refused: They would go over the collection's budget of today; nothing is counted then.
        """
        if self._most is None:
            return
        key = f"qm:daily:{collection}:{time.strftime('%Y%m%d', time.gmtime())}"
        spent = int(self._client.incrby(key, tokens))
        self._client.expire(key, _TWO_DAYS_S)
        if spent > self._most:
            self._client.decrby(key, tokens)
            raise Refused(
                f"the daily token budget of collection {collection!r} is spent ({spent - tokens} of {self._most} today)"
            )
