"""A process in which many callers wait for a job each: submits, waits, and says when each caller knew the end.

    python -m tests.benchmarks.waiting WAY COUNT URL

It prints the ids of its jobs when everybody waits, and then one JSON object when everybody knows.
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import redis

from querymill import AsyncQuerymill, EmbedResult, EmbedTexts, Querymill, Settings, TextToEmbed
from querymill_shared.board import keys


def request(number: int) -> EmbedTexts:
    """Return a request that differs from the others, so that it is a job with work of its own."""
    return EmbedTexts(collection="bench", texts=(TextToEmbed(id="a", text=f"text {number}"),))


PATIENCE_S = 240.0


class Callers:
    """What each of the callers saw: how long after the end it knew, or that it failed."""

    def __init__(self) -> None:
        self.delays_ms: list[float] = []
        self.failures: list[str] = []

    def know(self, ended_at: float) -> None:
        """Note that a caller has its result. ``ended_at`` is when the job was ended, in seconds since the epoch."""
        self.delays_ms.append((time.time() - ended_at) * 1000)

    def fail(self, error: BaseException) -> None:
        """Note that a caller has an error."""
        self.failures.append(type(error).__name__)

    def run(self, wait: Callable[[], EmbedResult]) -> None:
        """Wait as one caller."""
        try:
            self.know(wait().timing["ended_at"])
        except Exception as error:  # noqa: BLE001  # what callers see is what is counted
            self.fail(error)


def say_waiting(ids: list[str]) -> None:
    """Tell the benchmark that everybody waits."""
    print(json.dumps(ids), flush=True)


def all_watched(client: redis.Redis, ids: list[str]) -> bool:
    """Whether the board knows of every waiter."""
    pipeline = client.pipeline(transaction=False)
    for job_id in ids:
        pipeline.hexists(keys.of_job(job_id, "job")[0], "watch")
    return all(pipeline.execute())


def wait_until_watched(url: str, ids: list[str]) -> None:
    """Wait until the board knows of every waiter; the connection for it is closed again."""
    with redis.Redis.from_url(url) as client:
        while not all_watched(client, ids):
            time.sleep(0.1)


def in_threads(waits: list[Callable[[], EmbedResult]], callers: Callers, when_started: Callable[[], None]) -> None:
    """Give each wait a thread."""
    threading.stack_size(256 * 1024)
    threads = [threading.Thread(target=callers.run, args=(wait,)) for wait in waits]
    for thread in threads:
        thread.start()
    when_started()
    for thread in threads:
        thread.join()


def sync(count: int, url: str, callers: Callers) -> None:
    """Wait in threads, by the client."""
    with Querymill(settings=Settings(redis_url=url)) as mill:
        jobs = [mill.submit(request(number)) for number in range(count)]
        ids = [job.id for job in jobs]

        def started() -> None:
            wait_until_watched(url, ids)
            say_waiting(ids)

        in_threads([partial(job.result, PATIENCE_S) for job in jobs], callers, started)


def coroutines(count: int, url: str, callers: Callers) -> None:
    """Wait in coroutines, by the client."""

    async def run() -> None:
        async with AsyncQuerymill(settings=Settings(redis_url=url)) as mill:
            jobs = await asyncio.gather(*(mill.submit(request(number)) for number in range(count)))

            async def wait(index: int) -> None:
                try:
                    callers.know((await jobs[index].result(timeout=PATIENCE_S)).timing["ended_at"])
                except Exception as error:  # noqa: BLE001  # what callers see is what is counted
                    callers.fail(error)

            waits = [asyncio.create_task(wait(index)) for index in range(count)]
            ids = [job.id for job in jobs]
            await asyncio.to_thread(wait_until_watched, url, ids)
            say_waiting(ids)
            await asyncio.gather(*waits)

    asyncio.run(run())


def connections(count: int, url: str, callers: Callers) -> None:
    """Wait as the client did before it had a reader: each thread reads its job's stream on its own connection."""
    with Querymill(settings=Settings(redis_url=url)) as mill:
        ids = [mill.submit(request(number)).id for number in range(count)]
    begun = threading.Semaphore(0)

    def wait(job_id: str) -> EmbedResult:
        events, result = keys.of_job(job_id, "events", "result")
        with redis.Redis.from_url(url, socket_timeout=PATIENCE_S + 5, single_connection_client=True) as client:
            seen: Any = client.xread({events: "0-0"})  # it was queued
            begun.release()
            while (text := client.get(result)) is None:
                seen = client.xread({events: seen[0][1][-1][0]}, block=int(PATIENCE_S * 1000))
                if not seen:
                    raise TimeoutError
            return EmbedResult.model_validate_json(text)

    def started() -> None:
        for _ in range(count):
            begun.acquire(timeout=60)
        time.sleep(0.5)
        say_waiting(ids)

    in_threads([partial(wait, job_id) for job_id in ids], callers, started)


WAYS = {"sync": sync, "async": coroutines, "connections": connections}


def main() -> None:
    """Submit, wait, report."""
    way, count, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    callers = Callers()
    if way == "procrastinate":
        from tests.benchmarks import listening

        wait = listening.wait
    else:
        wait = WAYS[way]
    used = time.process_time()
    wait(count, url, callers)
    used = time.process_time() - used
    print(json.dumps({"delays_ms": callers.delays_ms, "failures": callers.failures, "cpu_ms": used * 1000}), flush=True)


if __name__ == "__main__":
    main()
