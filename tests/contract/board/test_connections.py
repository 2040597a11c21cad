"""Pools whose callers wait: longer than their patience while the server answers, and no longer once it is silent."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from querymill_shared.board import connections
from querymill_shared.board.connections import open_async_commands, open_commands

CALLERS = 40
#: The server answers a pop from an empty list after this long, in seconds: 40 callers on two connections take a second.
HELD_S = 0.05


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "COMMAND_WAIT_S", 4 * HELD_S)
    monkeypatch.setitem(connections.OPTIONS, "socket_timeout", 0.5)


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A server that takes connections and answers nobody."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"


def outcome(ask: Callable[[], object]) -> str:
    try:
        return str(ask())
    except redis.RedisError as error:
        return type(error).__name__


def test_threads_wait_for_a_connection_while_the_server_answers(valkey_url: str) -> None:
    with open_commands(valkey_url, most=2) as client, ThreadPoolExecutor(CALLERS) as callers:
        asked = [callers.submit(outcome, lambda: client.blpop("qm:nothing", HELD_S)) for _ in range(CALLERS)]
        assert Counter(each.result() for each in asked) == {"None": CALLERS}


def test_coroutines_wait_for_a_connection_while_the_server_answers(valkey_url: str) -> None:
    async def ask_all() -> Counter[str]:
        async with open_async_commands(valkey_url, most=2) as client:
            pops = [client.blpop("qm:nothing", HELD_S) for _ in range(CALLERS)]
            return Counter(map(str, await asyncio.gather(*pops, return_exceptions=True)))

    assert asyncio.run(ask_all()) == {"None": CALLERS}


def test_coroutines_are_served_in_the_order_in_which_they_came(valkey_url: str) -> None:
    async def ask_all() -> list[int]:
        served: list[int] = []
        async with open_async_commands(valkey_url, most=1) as client:

            async def ask(number: int) -> None:
                await client.ping()
                served.append(number)
                if number < CALLERS:  # Somebody new comes at each reply, and passes nobody who waits.
                    late.append(asyncio.create_task(ask(number + CALLERS)))

            late: list[asyncio.Task[None]] = []
            await asyncio.gather(*map(ask, range(CALLERS)))
            await asyncio.gather(*late)
        return served

    assert asyncio.run(ask_all()) == list(range(2 * CALLERS))


def test_a_caller_that_gives_up_leaves_its_turn_to_the_next(valkey_url: str) -> None:
    async def ask() -> object:
        async with open_async_commands(valkey_url, most=1) as client:
            holds = asyncio.ensure_future(client.blpop("qm:nothing", 2 * HELD_S))
            await asyncio.sleep(0)
            waits = [asyncio.ensure_future(client.ping()) for _ in range(10)]
            await asyncio.sleep(HELD_S)
            for each in waits:
                each.cancel()
            await asyncio.gather(holds, *waits, return_exceptions=True)
            return await client.ping()

    assert asyncio.run(ask())


def test_threads_give_up_if_the_server_answers_nobody(silent_url: str) -> None:
    with open_commands(silent_url, most=1) as client, ThreadPoolExecutor(4) as callers:
        asked = [callers.submit(outcome, client.ping) for _ in range(4)]
        assert {each.result() for each in asked} <= {"TimeoutError", "ConnectionError"}


def test_coroutines_give_up_if_the_server_answers_nobody(silent_url: str) -> None:
    async def ask_all() -> set[str]:
        async with open_async_commands(silent_url, most=1) as client:
            asked = await asyncio.gather(*(client.ping() for _ in range(4)), return_exceptions=True)
            return {type(each).__name__ for each in asked}

    assert asyncio.run(ask_all()) <= {"TimeoutError", "ConnectionError"}
