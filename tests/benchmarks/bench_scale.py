"""How the throughput of searches grows with the worker processes, while providers take 200 ms for each call.

A question about reports with HyDE has two steps: one embeds the question, the other asks the chat model and embeds
its answer. So a job holds a thread for three calls, 0.6 s together, and a process of SLOTS threads can end SLOTS / 0.6
jobs a second as long as the processor is not the limit. Three fleets of 1, 2 and 4 processes, each on a board of its
own, are asked in turn. All have the same PostgreSQL and the same provider. ``efficiency_n`` is the throughput of n
processes over n times that of one.

``--messages N`` measures something else instead: how much slower searches of messages become while one PostgreSQL
grows tenfold, to N messages (``growing.py``).
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

import psutil
import redis

from querymill import IngestReports, Querymill, ReportSearch, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_workers.postgres.migrate import migrate
from tests.benchmarks import growing, harness
from tests.benchmarks.bench_limits import REPORT
from tests.benchmarks.costs import own_s, server_s, tree_s
from tests.benchmarks.fleet import free_port, provider, workers_alive
from tests.benchmarks.provider import STEADY, STEADY_S
from tests.fixtures.deployment import finished

#: The worker processes of each fleet, and the threads of each process.
FLEETS: Final = (1, 2, 4)
SLOTS: Final = 4
#: Calls of providers that a job makes, one after the other or side by side: each holds a thread.
CALLS: Final = 3
#: Callers for each thread: so many that no thread waits for a job.
CALLERS: Final = 2
#: Seconds until every thread is busy, and those that are counted.
WARM_S, COUNTED_S = 3.0, 12.0
COLLECTION: Final = "bench"
TARGETS: Final[Mapping[str, harness.Target]] = {"efficiency_2": (">=", 0.9), "efficiency_4": (">=", 0.9)}


@dataclass(frozen=True)
class Measured:
    """A fleet with its client and its board."""

    processes: int
    mill: Querymill
    board: str
    workers: Sequence[psutil.Process]


def main() -> int:
    """Start servers and workers once; ask the fleets in turn as often as told."""
    messages = harness.options("scale").messages
    if messages is not None:
        return growing.main(messages)
    port = free_port()
    with (
        temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}, programs=[provider(port, STEADY)]) as stack,
        ExitStack() as opened,
    ):
        common = {
            **os.environ, **stack.environment(), "QUERYMILL_LOG_LEVEL": "ERROR",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "none", "CHAT_MODEL": "scripted",
            "EMBEDDING_MODEL": "multilingual-e5-small",
            # Seven processes that start beside busy programs may be silent for longer than the default.
            "QUERYMILL_LEASE_S": "10",
            # Limits that nobody reaches: without any, the fleet would first find out how many calls the provider bears.
            **dict.fromkeys(("CHAT_RPM", "EMBEDDING_RPM"), "1000000"),
            **dict.fromkeys(("CHAT_TPM", "EMBEDDING_TPM"), "1000000000"),
        }  # fmt: skip
        migrate(common["DATABASE_URL"])
        fleets = [opened.enter_context(fleet(common, number, count)) for number, count in enumerate(FLEETS)]
        for measured in fleets:
            finished(measured.mill, IngestReports(collection=COLLECTION, documents=(REPORT,)))
        database = urlsplit(common["DATABASE_URL"]).port
        assert database is not None
        return harness.run("scale", lambda: measure(fleets, database), TARGETS)


@contextmanager
def fleet(common: Mapping[str, str], number: int, count: int) -> Iterator[Measured]:
    """Run worker processes on the board of this number."""
    board = f"{common['REDIS_URL'].rpartition('/')[0]}/{number}"
    command = (
        sys.executable, "-m", "celery", "-A", "querymill_workers.app", "worker", "-Q", "search,expand,ingest,embed",
        "-P", "threads", "-c", str(SLOTS), "-l", "CRITICAL", "--without-gossip", "--without-mingle",
        "--without-heartbeat",
    )  # fmt: skip
    started = [
        subprocess.Popen(
            [*command, "-n", f"of{count}-{place}@%h"], env={**common, "REDIS_URL": board},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for place in range(count)
    ]  # fmt: skip
    try:
        workers_alive(board, started)
        with Querymill(settings=Settings(redis_url=board)) as mill:
            yield Measured(count, mill, board, [psutil.Process(process.pid) for process in started])
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(fleets: Sequence[Measured], database: int) -> harness.Figures:
    """Ask every fleet once."""
    figures: harness.Figures = {"slots_per_process": SLOTS, "load_average": os.getloadavg()[0]}
    for measured in fleets:
        figures |= throughput(measured, database)
    one = figures["jobs_per_s_1"]
    figures["of_ideal_1"] = one / (SLOTS / (CALLS * STEADY_S))
    return figures | {f"efficiency_{n}": figures[f"jobs_per_s_{n}"] / (n * one) for n in FLEETS if n > 1}


def throughput(measured: Measured, database: int) -> harness.Figures:
    """Keep a fleet's threads busy; count the jobs that end, and what a job costs."""
    ended: list[float] = []
    until = time.monotonic() + WARM_S + COUNTED_S

    def keep_asking() -> None:
        while time.monotonic() < until:
            ask(measured.mill)
            ended.append(time.monotonic())

    callers = measured.processes * SLOTS * CALLERS
    with ThreadPoolExecutor(callers) as pool, redis.Redis.from_url(measured.board) as board:
        asking = [pool.submit(keep_asking) for _ in range(callers)]
        time.sleep(WARM_S)
        began, jobs, spent = time.monotonic(), len(ended), spending(measured, board, database)
        time.sleep(until - time.monotonic())
        seconds, jobs, after = time.monotonic() - began, len(ended) - jobs, spending(measured, board, database)
        for caller in asking:
            caller.result()
    n = measured.processes
    return {f"jobs_per_s_{n}": jobs / seconds} | {f"{name}_{n}": (after[name] - spent[name]) / jobs for name in spent}


def ask(mill: Querymill) -> None:
    """Ask a question that nobody has asked, and wait for its result."""
    asked = ReportSearch(query=f"revenue of question {uuid4().hex}", collection=COLLECTION, hyde=True, deadline=60)
    result = mill.submit(asked).result(timeout=90)
    # A branch that fails costs less than one that searches.
    assert result.complete, result.degraded


def spending(measured: Measured, board: redis.Redis, database: int) -> harness.Figures:
    """Return what has been spent until now: milliseconds of processors, callers included, and bytes on the board."""
    server = board.connection_pool.connection_kwargs["port"]
    spent = own_s() + server_s(server) + server_s(database) + sum(tree_s(process) for process in measured.workers)
    return {
        "processor_ms_per_job": spent * 1000,
        "board_bytes_per_job": float(board.info("memory")["used_memory_dataset"]),
    }


if __name__ == "__main__":
    sys.exit(main())
