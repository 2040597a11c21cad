"""The peer: procrastinate's one connection that listens. A wait for a result is by hand, because it offers none."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import procrastinate
import psycopg

from tests.benchmarks.waiting import PATIENCE_S, Callers, say_waiting

CHANNEL = "bench_ended"
TABLE = "CREATE TABLE IF NOT EXISTS bench_ended (job_id bigint PRIMARY KEY, ended_at double precision NOT NULL)"


def prepare(url: str) -> None:
    """Create procrastinate's tables and the one of results."""
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() == (None,):
            connector = procrastinate.SyncPsycopgConnector(conninfo=url)
            with procrastinate.App(connector=connector).open() as app:
                app.schema_manager.apply_schema()
        connection.execute(TABLE)


def end(connection: psycopg.Connection, job_id: str, ended_at: float) -> None:
    """End a job: store its result and tell."""
    with connection.transaction():
        connection.execute("INSERT INTO bench_ended VALUES (%s, %s)", (job_id, ended_at))
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, job_id))


def wait(count: int, url: str, callers: Callers) -> None:
    """Defer jobs, and wait for all of them by one listener."""
    asyncio.run(_wait(count, url, callers))


async def _wait(count: int, url: str, callers: Callers) -> None:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=2)
    app = procrastinate.App(connector=connector)

    @app.task(name="bench")  # type: ignore[untyped-decorator]  # its types are skipped, see pyproject.toml
    def task() -> None:
        """Stand for any work."""

    async with app.open_async():
        ids = [str(job_id) for job_id in await task.batch_defer_async(*({} for _ in range(count)))]
        futures: dict[str, asyncio.Future[float]] = {job_id: asyncio.Future() for job_id in ids}

        async def notified(*, channel: str, payload: str) -> None:
            rows = await connector.execute_query_all_async(
                "SELECT ended_at FROM bench_ended WHERE job_id = %(job_id)s", job_id=int(payload)
            )
            if payload in futures:
                futures[payload].set_result(rows[0]["ended_at"])

        listener = asyncio.create_task(connector.listen_notify(notified, [CHANNEL]))
        waits = [asyncio.create_task(_one(futures[job_id], callers)) for job_id in ids]
        await asyncio.sleep(1)
        say_waiting(ids)
        await asyncio.gather(*waits)
        listener.cancel()
        with suppress(asyncio.CancelledError):
            await listener


async def _one(future: Awaitable[float], callers: Callers) -> None:
    try:
        callers.know(await asyncio.wait_for(future, PATIENCE_S))
    except Exception as error:  # noqa: BLE001  # what callers see is what is counted
        callers.fail(error)
