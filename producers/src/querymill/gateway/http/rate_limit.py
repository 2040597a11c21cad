"""The rate and the concurrency of each API key, counted on the board, so that they hold for all replicas together."""

import math
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final
from uuid import uuid4

import redis.asyncio

from querymill.gateway.http.problems import Problem
from querymill.keys import ApiKey
from querymill_shared.board.clock import read_clock_later
from querymill_shared.board.scripts import with_prelude

WINDOW_S: Final = 60
#: A place that is not renewed for this long, in seconds, is free again: its gateway has died.
LEASE_S: Final = 60


class RateLimiter:
    """Counts the requests of the keys that have a limit. The others cost nothing."""

    def __init__(self, client: redis.asyncio.Redis) -> None:
        self._client = client

    async def count(self, key: ApiKey, requests: int = 1) -> Mapping[str, str]:
        """Count a request, or what counts as several. Return the headers that say how many are left.

        Raises:
            Problem: That is more than the key has left. Then none is counted.
        """
        limit = key.requests_per_minute
        if limit is None:
            return {}
        outcome, left, reset_ms = await self._admit(key, limit=limit, requests=requests)
        headers = {
            "RateLimit-Policy": f'"requests";q={limit};w={WINDOW_S}',
            "RateLimit": f'"requests";r={left};t={math.ceil(reset_ms / 1000)}',
        }
        if outcome:
            headers |= {"Retry-After": str(math.ceil(reset_ms / 1000))}
            raise Problem("rate", f"rate: the key allows {limit} requests per minute", headers=headers)
        return headers

    async def take_place(self, key: ApiKey) -> str:
        """Take a place for a request that waits or streams. Return its name, "" if the key has no limit of them.

        Raises:
            Problem: All places are taken.
        """
        if key.concurrency is None:
            return ""
        place = uuid4().hex
        outcome, _, _ = await self._admit(key, max_calls=key.concurrency, place=place)
        if outcome:
            said = f"concurrency: the key allows {key.concurrency} waiting requests and streams at once"
            raise Problem("concurrency", said, headers={"Retry-After": "1"})
        return place

    async def _admit(
        self, key: ApiKey, *, limit: int = 0, requests: int = 1, max_calls: int = 0, place: str = ""
    ) -> tuple[int, int, int]:
        run = self._client.register_script(_source())
        arguments: list[int | str] = [limit, WINDOW_S * 1000, max_calls, place, LEASE_S * 1000, requests]
        outcome, left, reset_ms = await run(keys=list(_keys(key)), args=arguments)
        return int(outcome), int(left), int(reset_ms)

    async def renew(self, key: ApiKey, place: str) -> None:
        """Keep a place."""
        if place:
            _, places = _keys(key)
            now = await read_clock_later(self._client)
            await self._client.zadd(places, {place: int((now + LEASE_S) * 1000)}, xx=True)
            await self._client.pexpire(places, LEASE_S * 1000)

    async def leave(self, key: ApiKey, place: str) -> None:
        """Give a place back."""
        if place:
            await self._client.zrem(_keys(key)[1], place)


def _keys(key: ApiKey) -> tuple[str, str]:
    # No shard's keys: clients and workers write those, and the limits of a key are the gateway's alone.
    return f"qm:gate:{{{key.id}}}:windows", f"qm:gate:{{{key.id}}}:places"


@cache
def _source() -> str:
    return with_prelude((resources.files("querymill.gateway.http") / "lua" / "admit.lua").read_text())
