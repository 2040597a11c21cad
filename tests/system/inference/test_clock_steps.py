"""Breakers, pauses, places and shared calls, when the clock of their server steps back."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.crc import key_slot

from querymill.gateway.http.problems import Problem
from querymill.gateway.http.rate_limit import RateLimiter
from querymill.keys import ApiKey, Scope
from querymill_embedded import free_ports
from querymill_shared.board.clock import read_clock
from querymill_shared.board.keys import CLOCK
from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import FleetCounters, accounts
from querymill_workers.inference.account import (
    CHECK_EVERY_S,
    FAILURES_TO_OPEN,
    Account,
    CircuitOpen,
    LimitReached,
    Paused,
    RateLimitHeaders,
)
from querymill_workers.inference.fleet_cache import FleetCache
from tests.fixtures.clocks import SteppedServer, stepped_server

INTERACTIVE = Lane.INTERACTIVE
BACK_S = -3_600


@pytest.fixture(scope="module")
def server() -> Iterator[SteppedServer]:
    with stepped_server() as running:
        yield running


@pytest.fixture
def client(server: SteppedServer) -> Iterator[redis.Redis]:
    server.step(0)
    with redis.Redis.from_url(server.url) as opened:
        opened.flushdb()
        yield opened
    server.step(0)


@pytest.fixture
def shard() -> Iterator[SteppedServer]:
    """A server of a cluster that has all slots but that of the board's clock."""
    clock, bus = key_slot(CLOCK.encode()), str(free_ports(["bus"], preferred={})["bus"])
    options = ("--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-require-full-coverage", "no")
    with stepped_server(options=options) as running:
        with redis.Redis.from_url(running.url) as opened:
            opened.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, clock - 1, clock + 1, 16_383)
            until = time.monotonic() + 20
            while b"cluster_state:ok" not in opened.execute_command("CLUSTER", "INFO"):
                assert time.monotonic() < until
                time.sleep(0.05)
        yield running


def account(client: redis.Redis, *, rpm: int | None = None) -> Account:
    return Account(
        client,
        provider="p",
        key="k",
        model="m",
        requests_per_minute=rpm,
        tokens_per_minute=None,
        fleet_counters=FleetCounters(None),
    )


def wait_for_grant(opened: Account, *, max_s: float) -> float:
    """Return after how many seconds a call is granted to one who waits."""
    began = time.monotonic()
    done = threading.Event()

    def reserve() -> None:
        while True:
            try:
                granted = opened.reserve(lane=INTERACTIVE, tokens=1, until=None, collection="c")
            except (CircuitOpen, Paused) as error:
                time.sleep(error.again_in_s or CHECK_EVERY_S)
                continue
            opened.still_holds(granted)
            done.set()
            return

    threading.Thread(target=reserve, daemon=True).start()
    assert done.wait(max_s), "the account waits for a moment that lies in the future"
    return time.monotonic() - began


@pytest.mark.parametrize("rpm", [None, 600])
def test_an_open_breaker_lets_a_call_through_when_it_would_have(
    client: redis.Redis, server: SteppedServer, rpm: int | None
) -> None:  # fmt: skip
    opened = account(client, rpm=rpm)
    for _ in range(FAILURES_TO_OPEN):
        opened.report(opened.reserve(lane=INTERACTIVE, tokens=1, until=None), "failed")
    assert [state.breaker for state in accounts(client)] == ["open"]
    server.step(BACK_S)
    wait_for_grant(opened, max_s=20)


@pytest.mark.parametrize("rpm", [None, 600])
def test_a_pause_of_the_provider_ends_when_it_would_have(
    client: redis.Redis, server: SteppedServer, rpm: int | None
) -> None:  # fmt: skip
    paused = account(client, rpm=rpm)
    granted = paused.reserve(lane=INTERACTIVE, tokens=1, until=None)
    paused.report(granted, "limited", limits=RateLimitHeaders(retry_after_s=2))
    server.step(BACK_S)
    assert all(state.paused_s <= 2 for state in accounts(client))
    assert wait_for_grant(paused, max_s=20) > 0.5


def test_a_pause_ends_when_it_would_have_on_a_cluster_too(shard: SteppedServer) -> None:
    with redis.Redis.from_url(shard.url) as client:
        paused = account(client, rpm=600)
        granted = paused.reserve(lane=INTERACTIVE, tokens=1, until=None)
        paused.report(granted, "limited", limits=RateLimitHeaders(retry_after_s=2))
        shard.step(BACK_S)
        wait_for_grant(paused, max_s=20)


def test_the_places_of_a_process_that_died_come_back(client: redis.Redis, server: SteppedServer) -> None:
    died = account(client)
    for number in range(20):
        with suppress(LimitReached):
            died.reserve(lane=INTERACTIVE, tokens=1, until=time.monotonic() + 0.1, collection=f"c{number}")
    died._slots.wake()
    died._slots._held.clear()  # nobody renews them any more
    server.step(BACK_S)
    wait_for_grant(account(client), max_s=20)


def test_a_value_whose_leader_died_is_computed_by_another(client: redis.Redis, server: SteppedServer) -> None:
    cache = FleetCache(client, label="vector", ttl_s=60, fleet_counters=FleetCounters(None))
    cache._ask(["qm:vector:c:key"], INTERACTIVE)  # it leads, and dies
    server.step(BACK_S)
    got = cache.obtain(
        ["qm:vector:c:key"],
        lambda keys: iter([dict.fromkeys(keys, b"v")]),
        lane=INTERACTIVE,
        until=time.monotonic() + 20,
    )
    assert got == {"qm:vector:c:key": b"v"}


def test_the_places_of_an_api_key_are_leased_for_a_minute_and_not_for_an_hour(
    client: redis.Redis, server: SteppedServer
) -> None:  # fmt: skip
    key = ApiKey(
        id="abc", name="n", scopes=frozenset([Scope.SEARCH]), collections=frozenset(["*"]), created=0, concurrency=1
    )

    async def take_and_renew() -> None:
        async with redis.asyncio.Redis.from_url(server.url) as opened:
            rate_limiter = RateLimiter(opened)
            place = await rate_limiter.take_place(key)
            server.step(BACK_S)
            await rate_limiter.renew(key, place)
            with pytest.raises(Problem):
                await rate_limiter.take_place(key)

    asyncio.run(take_and_renew())
    leases: Any = client.zrange("qm:gate:{abc}:places", 0, -1, withscores=True)
    ((_, until),) = leases
    assert 50 < until / 1000 - read_clock(client) <= 60
