"""Thousands of callers in one process wait for a job each: who fails, by how many connections, and how late they know.

The jobs are ended one by one at a steady rate, so that what is measured is the waiting. Ours is one reader, for threads
and for coroutines. Beside it: a connection for each caller, as the client had before, and procrastinate's one listener.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psutil
import psycopg
import redis

from querymill import EmbedResult, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard, Verdict
from tests.benchmarks import harness

WAITERS, FEW = 5_000, 10
#: Jobs that end in a second.
RATE = 250
PEER = "procrastinate"
End = Callable[[str], None]
TARGETS = {
    f"{figure}_{way}": target
    for way in ("sync", "async")
    for figure, target in {
        "failed": ("==", 0.0),
        "connections_per_process": ("<=", 4.0),
        "delay_p99_ms_over_ten": ("<=", 50.0),
    }.items()
}


def main() -> int:
    """Start the servers once; measure each way in turn."""
    peer = harness.is_installed(PEER)
    parts = {StackPart.VALKEY, StackPart.POSTGRES} if peer else {StackPart.VALKEY}
    with temporary_stack(parts=parts) as stack:
        url = stack.environment()["REDIS_URL"]
        board = ValkeyBoard.connect(Settings(redis_url=url))
        database = stack.environment()["DATABASE_URL"] if peer else None
        try:
            measure = lambda: measured(board, url, database)  # noqa: E731  # the harness calls it without arguments
            return harness.run("waiters", measure, TARGETS, harness.needing(PEER, names(PEER)))
        finally:
            board.close()


def measured(board: ValkeyBoard, url: str, database: str | None) -> harness.Figures:
    """Take every figure once."""
    found: harness.Figures = {"waiters": float(WAITERS)}
    with redis.Redis.from_url(url) as server:
        for way in ("sync", "async", "connections"):
            found |= on_board(way, board, url, server)
    if database is not None:
        found |= by_listening(database)
    return found


def on_board(way: str, board: ValkeyBoard, url: str, server: redis.Redis) -> harness.Figures:
    """Measure one way to wait on the board."""

    def end(job_id: str) -> None:
        board.settle(job_id, Verdict("done", result=result(job_id)))

    def connected(ports: set[int]) -> int:
        return sum(int(client["addr"].rsplit(":", 1)[1]) in ports for client in server.client_list())

    def cpu_ms() -> float:
        used = server.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"]) * 1000

    few = waited(way, FEW, url, end, connected, cpu_ms)
    return figures(way, waited(way, WAITERS, url, end, connected, cpu_ms), few)


def by_listening(database: str) -> harness.Figures:
    """Measure the peer."""
    from tests.benchmarks import listening

    listening.prepare(database)
    with psycopg.connect(database, autocommit=True) as connection:

        def end(job_id: str) -> None:
            listening.end(connection, job_id, time.time())

        def connected(ports: set[int]) -> int:
            rows = connection.execute("SELECT client_port FROM pg_stat_activity").fetchall()
            return sum(port in ports for (port,) in rows)

        def cpu_ms() -> float:
            (pid,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
            server = psutil.Process(pid).parent()
            processes = [] if server is None else [server, *server.children()]
            return sum(sum(process.cpu_times()[:2]) for process in processes) * 1000

        few = waited(PEER, FEW, database, end, connected, cpu_ms)
        return figures(PEER, waited(PEER, WAITERS, database, end, connected, cpu_ms), few)


def waited(
    way: str, count: int, url: str, end: End, connected: Callable[[set[int]], int], cpu_ms: Callable[[], float]
) -> dict[str, Any]:
    """Have one process wait for so many jobs, and end them one by one; what it and the server report."""
    with waiting(way, count, url) as process:
        jobs: list[str] = json.loads(process.stdout.readline())
        connections = connected(local_ports(process.pid))
        before = cpu_ms()
        end_all(jobs, end)
        report: dict[str, Any] = json.loads(process.stdout.readline())
        return report | {"connections": connections, "server_cpu_ms": cpu_ms() - before}


@contextmanager
def waiting(way: str, count: int, url: str) -> Iterator[Any]:
    """Run the process of the callers."""
    command = [sys.executable, "-m", "tests.benchmarks.waiting", way, str(count), url]
    environment = os.environ | {"PYTHONPATH": os.getcwd()}  # noqa: PTH109  # a string for another process
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield process
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def local_ports(pid: int) -> set[int]:
    """The ports from which a process is connected, by which a server knows its connections."""
    connections = psutil.Process(pid).net_connections("inet")
    return {connection.laddr.port for connection in connections if connection.raddr}


def end_all(jobs: list[str], end: End) -> None:
    """End jobs in a random order at a steady rate."""
    order = random.Random(7).sample(jobs, len(jobs))
    started = time.perf_counter()
    for number, job_id in enumerate(order):
        time.sleep(max(started + number / RATE - time.perf_counter(), 0))
        end(job_id)


def result(job_id: str) -> str:
    """A small result that says when its job ended."""
    return EmbedResult(
        job_id=job_id, total=0, complete=True, model="none", dimensions=1, vectors={}, timing={"ended_at": time.time()}
    ).model_dump_json()


def names(way: str) -> list[str]:
    """The figures of one way."""
    return [
        f"{name}_{way}"
        for name in (
            "failed",
            "connections_per_process",
            "delay_p50_ms",
            "delay_p99_ms",
            "delay_p99_ms_over_ten",
            "server_cpu_ms_per_job",
            "caller_cpu_ms_per_job",
        )
    ]


def figures(way: str, many: Mapping[str, Any], few: Mapping[str, Any]) -> harness.Figures:
    """Read the reports of many callers and of ten."""
    delays = many["delays_ms"]
    p99 = statistics.quantiles(delays, n=100)[98]
    taken = (
        float(WAITERS - len(delays)),
        float(many["connections"]),
        statistics.median(delays),
        p99,
        p99 - statistics.median(few["delays_ms"]),
        many["server_cpu_ms"] / WAITERS,
        many["cpu_ms"] / WAITERS,
    )
    return dict(zip(names(way), taken, strict=True))


if __name__ == "__main__":
    sys.exit(main())
