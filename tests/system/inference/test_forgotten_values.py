"""What models returned for a collection is dropped with it, on a real server, and what is under way is not cached."""

import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest
import redis

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import FleetCounters
from querymill_workers.inference.fleet_cache import FleetCache, FleetCaches, cache_key


@pytest.fixture
def client(valkey_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(valkey_url) as opened:
        opened.flushdb()
        yield opened


@pytest.fixture
def cache(client: redis.Redis) -> FleetCache:
    return FleetCache(client, label="chat", ttl_s=60, fleet_counters=FleetCounters(client))


def obtain(cache: FleetCache, key: str, value: bytes = b"reply") -> bytes:
    def compute(keys: Sequence[str]) -> Iterator[Mapping[str, bytes]]:
        yield dict.fromkeys(keys, value)

    return cache.obtain([key], compute, lane=Lane.INTERACTIVE, until=None)[key]


def test_what_is_cached_for_a_collection_goes_and_that_of_others_stays(client: redis.Redis, cache: FleetCache) -> None:
    keys = {scope: cache_key("chat", scope, "question") for scope in ("acme", "acme2", "ac", "other", "")}
    for key in keys.values():
        obtain(cache, key)
    FleetCaches(client).erase("acme")
    stays = {scope for scope, key in keys.items() if client.exists(key)}
    assert stays == {"acme2", "ac", "other"}, "what all collections share may be made of anybody's text"


def test_a_reply_that_was_under_way_is_returned_and_not_cached(client: redis.Redis, cache: FleetCache) -> None:
    key = cache_key("chat", "acme", "question")
    asked, forgotten = threading.Event(), threading.Event()
    found: list[bytes] = []

    def compute(keys: Sequence[str]) -> Iterator[Mapping[str, bytes]]:
        asked.set()
        assert forgotten.wait(20)
        yield dict.fromkeys(keys, b"made of a forgotten text")

    asking = threading.Thread(
        target=lambda: found.append(cache.obtain([key], compute, lane=Lane.BULK, until=None)[key])
    )
    asking.start()
    assert asked.wait(20)
    FleetCaches(client).erase("acme")
    forgotten.set()
    asking.join(20)
    assert found == [b"made of a forgotten text"]
    assert not client.exists(key)
    assert obtain(cache, key, b"new") == b"new"
