"""Pools whose callers wait: longer than their patience while the server answers, and no longer once it is silent."""

import asyncio
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from querymill_shared.board import connections, sockets
from querymill_shared.board.connections import open_async_commands, open_commands
from tests.fixtures.certificates import Authority
from tests.fixtures.short_forms import all_at_night

CALLERS = 40
#: The server answers a pop from an empty list after this long, in seconds: 40 callers on two connections take a second.
HELD_S = 0.05


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "COMMAND_WAIT_S", 4 * HELD_S)
    monkeypatch.setitem(sockets.OPTIONS, "socket_timeout", 0.5)
    monkeypatch.setitem(sockets.OPTIONS, "socket_connect_timeout", 0.5)


@pytest.fixture(params=["TCP", "a socket", "TLS that is never agreed on", "TLS"])
def silent_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A server that takes connections and answers nobody."""
    if request.param == "a socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "s"))
            listener.listen(8)
            yield f"unix://{tmp_path}/s"
        return
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}/0"
        if request.param == "TLS":
            authority = Authority(tmp_path)
            threading.Thread(target=agree_and_be_silent, args=(listener, authority), daemon=True).start()
            yield f"rediss://{place}?ssl_ca_certs={authority.certificate}"
            listener.shutdown(socket.SHUT_RDWR)
        else:
            yield f"redis{'s' * (request.param != 'TCP')}://{place}"


def agree_and_be_silent(listener: socket.socket, authority: Authority) -> None:
    """Begin TLS with each that comes, and say nothing more."""
    issued = authority.issue("server", hosts=("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.certificate, issued.key)
    held = []
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with suppress(OSError):
                held.append(context.wrap_socket(connection, server_side=True))
    for each in held:
        each.close()


def outcome(ask: Callable[[], object]) -> str:
    try:
        return str(ask())
    except redis.RedisError as error:
        return type(error).__name__


def test_threads_wait_for_a_connection_while_the_server_answers(valkey_url: str) -> None:
    with open_commands(valkey_url, max_connections=2) as client, ThreadPoolExecutor(CALLERS) as callers:
        asked = [callers.submit(outcome, lambda: client.blpop("qm:nothing", HELD_S)) for _ in range(CALLERS)]
        assert Counter(each.result() for each in asked) == {"None": CALLERS}


def test_coroutines_wait_for_a_connection_while_the_server_answers(valkey_url: str) -> None:
    async def ask_all() -> Counter[str]:
        async with open_async_commands(valkey_url, max_connections=2) as client:
            pops = [client.blpop("qm:nothing", HELD_S) for _ in range(CALLERS)]
            return Counter(map(str, await asyncio.gather(*pops, return_exceptions=True)))

    assert asyncio.run(ask_all()) == {"None": CALLERS}


def test_coroutines_are_served_in_the_order_in_which_they_came(valkey_url: str) -> None:
    async def ask_all() -> list[int]:
        served: list[int] = []
        async with open_async_commands(valkey_url, max_connections=1) as client:
            await client.ping()  # it knows its servers from now on

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
        async with open_async_commands(valkey_url, max_connections=1) as client:
            holds = asyncio.ensure_future(client.blpop("qm:nothing", 2 * HELD_S))
            await asyncio.sleep(0)
            waits = [asyncio.ensure_future(client.ping()) for _ in range(10)]
            await asyncio.sleep(HELD_S)
            for each in waits:
                each.cancel()
            await asyncio.gather(holds, *waits, return_exceptions=True)
            return await client.ping()

    assert asyncio.run(ask())


@pytest.mark.parametrize(
    "silent_url",
    all_at_night(["TCP", "a socket", "TLS that is never agreed on", "TLS"], short=["TCP", "TLS"]),
    indirect=True,
)
def test_threads_give_up_if_the_server_answers_nobody(silent_url: str) -> None:
    with open_commands(silent_url, max_connections=1) as client, ThreadPoolExecutor(4) as callers:
        asked = [callers.submit(outcome, client.ping) for _ in range(4)]
        assert {each.result() for each in asked} <= {"BoardSilent", "BoardUnavailable"}


# asyncio ends TLS in its own time, which a server that is silent does not let it have.
@pytest.mark.parametrize("silent_url", ["TCP", "a socket"], indirect=True)
def test_coroutines_give_up_if_the_server_answers_nobody(silent_url: str) -> None:
    async def ask_all() -> set[str]:
        async with open_async_commands(silent_url, max_connections=1) as client:
            asked = await asyncio.gather(*(client.ping() for _ in range(4)), return_exceptions=True)
            return {type(each).__name__ for each in asked}

    assert asyncio.run(ask_all()) <= {"BoardSilent", "BoardUnavailable"}
