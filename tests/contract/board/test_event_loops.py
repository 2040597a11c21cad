"""One asynchronous client in many event loops: one after the other, several at once, and loops that end early."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
import redis

from querymill import AsyncQuerymill, MessageSearch
from querymill.adapters.clients import Clients
from querymill.adapters.searching import Searching
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.board.connections import open_async_commands
from querymill_shared.contracts.messages.search import MessageResult
from querymill_shared.settings import Settings

pytestmark = pytest.mark.one_server

Ask = Callable[[], Coroutine[Any, Any, object]]


@pytest.fixture
def answering(valkey_url: str) -> Iterator[Settings]:
    """A board on which every search is answered at once, with nothing found."""
    settings = Settings(redis_url=valkey_url)
    stopping = threading.Event()
    with redis.Redis.from_url(valkey_url) as client:
        client.flushdb()
    board = ValkeyBoard.connect(settings)
    board.add_collections("messages", ["lang"])

    def answer() -> None:
        while not stopping.wait(0.01):
            for job_id in board.open_jobs(limit=50):
                if board.picture(job_id).request is not None:
                    board.settle(job_id, Verdict("done", result=result_of(job_id)))

    thread = threading.Thread(target=answer)
    thread.start()
    yield settings
    stopping.set()
    thread.join()
    board.close()


def result_of(job_id: str) -> str:
    fields = {"job_id": job_id, "query": "pump", "collection": "lang", "results": (), "total": 0, "complete": True,
              "session_id": None, "similarity_threshold": None, "mode": "text", "total_is_exact": True}  # fmt: skip
    return MessageResult.model_validate(fields).model_dump_json()


async def search(mill: AsyncQuerymill, query: str) -> str:
    job = await mill.submit(MessageSearch(query=query, collection="lang", limit=3))
    return (await job.result(timeout=15)).state


def in_threads(count: int, ask: Callable[[int], object]) -> list[object]:
    together = threading.Barrier(count)

    def run(number: int) -> object:
        together.wait(10)
        return ask(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def connections(valkey_url: str) -> int:
    with redis.Redis.from_url(valkey_url) as client:
        return len(client.client_list()) - 1


def test_loops_one_after_the_other(answering: Settings) -> None:
    mill = AsyncQuerymill(settings=answering)
    assert [asyncio.run(search(mill, f"pump {run}")) for run in range(4)] == ["done"] * 4
    asyncio.run(mill.close())


def test_loops_of_several_threads_at_once(answering: Settings) -> None:
    mill = AsyncQuerymill(settings=answering)

    async def several(thread: int) -> list[str]:
        return await asyncio.gather(*(search(mill, f"pump {thread} {number}") for number in range(5)))

    assert in_threads(4, lambda thread: asyncio.run(several(thread))) == [["done"] * 5] * 4
    assert in_threads(4, lambda thread: asyncio.run(several(thread + 4))) == [["done"] * 5] * 4
    asyncio.run(mill.close())


def test_a_loop_that_ended_leaves_no_connection(answering: Settings, valkey_url: str) -> None:
    before = connections(valkey_url)
    client = open_async_commands(valkey_url)

    async def ping() -> object:
        return await client.ping()

    for _ in range(5):
        assert asyncio.run(ping())
    assert connections(valkey_url) <= before


def test_a_loop_that_ends_while_others_wait_takes_nothing_from_them(answering: Settings, valkey_url: str) -> None:
    client = open_async_commands(valkey_url, max_connections=1)
    popped: list[object] = []

    async def pop(wait_s: float) -> None:
        popped.append(await client.blpop(["qm:never"], wait_s))

    def give_up() -> None:
        async def some() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    await asyncio.gather(pop(5), pop(5), pop(5))

        asyncio.run(some())

    in_threads(3, lambda number: give_up() if number else asyncio.run(pop(1)))
    assert popped == [None]


@pytest.mark.parametrize("ends", ["cancelled", "stopped", "failed"])
def test_a_loop_may_end_while_somebody_waits_for_a_job_in_it(answering: Settings, ends: str) -> None:
    mill = AsyncQuerymill(settings=answering)

    async def wait_for_nobody() -> None:
        job = await mill.submit(MessageSearch(query="pump", collection="lang"))
        waiting = asyncio.create_task(mill.job(job.id[:-4] + "0000").result())
        await asyncio.sleep(0)
        if ends == "failed":
            raise LookupError
        if ends == "cancelled":
            waiting.cancel()

    with suppress(LookupError):
        asyncio.run(wait_for_nobody())
    assert asyncio.run(search(mill, "the next")) == "done"
    asyncio.run(mill.close())


def test_a_client_may_be_closed_by_another_loop_and_used_again(answering: Settings) -> None:
    mill = AsyncQuerymill(settings=answering)
    closed, used = threading.Event(), threading.Event()

    async def search_twice() -> list[str]:
        first = await search(mill, "before")
        used.set()
        await asyncio.to_thread(closed.wait, 10)
        return [first, await search(mill, "after")]

    def close() -> None:
        used.wait(20)
        asyncio.run(mill.close())
        closed.set()

    found = in_threads(2, lambda number: close() if number else asyncio.run(search_twice()))
    assert found == [["done", "done"], None]
    asyncio.run(mill.close())


def test_an_adapter_with_a_client_that_was_given_serves_every_loop(answering: Settings) -> None:
    mill = AsyncQuerymill(settings=answering)
    searching = Searching("messages", "lang", {}, Clients(async_client=mill), "k")

    def ask(number: int) -> object:
        return asyncio.run(searching.run_async(searching.request(f"pump {number}", 3)))

    assert [ask(number) for number in range(3)] == [[]] * 3
    assert in_threads(4, lambda number: ask(number + 10)) == [[]] * 4
    asyncio.run(mill.close())


LOOPS_CLOSED_AS_THEY_ARE = """
import asyncio, sys
from querymill_shared.board.connections import open_async_commands

client = open_async_commands(sys.argv[1])
for _ in range(3):
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(client.ping())
    loop.close()
print(len(client.connection_pool._of_loop))
"""


def test_a_loop_that_is_closed_without_a_word_is_forgotten(valkey_url: str) -> None:
    """In a process of its own: such a loop leaves its connections to the garbage, which Python warns of."""
    command = [sys.executable, "-W", "ignore", "-c", LOOPS_CLOSED_AS_THEY_ARE, valkey_url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.returncode) == ("1\n", 0), ran.stderr
    gc.collect()
