"""Latency of a job over its ideal critical path, at 1, 10 and 50 concurrent jobs, beside a Celery chord.

Models and store are scripted waits (chat 200 ms, embedding 20, search 5), so that what is left is ours: board,
bells, flow, fusion, waiting for the result. Both sides get the same broker, two processes, and threads enough.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import redis

from querymill import Querymill, ReportSearch, Settings
from querymill_embedded import Part, Program, temporary_stack
from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.reports.search import MultiQueryMethod
from tests.benchmarks import harness
from tests.benchmarks.script import COLLECTION, IDEAL_MS, SEARCH_S

CONCURRENCY = (1, 10, 50)
ROUNDS = {1: 12, 10: 4, 50: 3}
METHODS: tuple[MultiQueryMethod, ...] = ("synonym", "subquestion", "variant")
TARGETS = {"overhead_p50_ms_1": ("<=", 10.0), "overhead_p50_ms_50": ("<=", 30.0)}


def main() -> int:
    """Start servers and workers once, measure ours and the chord in turn as often as asked."""
    programs = [program for number in range(2) for program in workers(number)]
    with temporary_stack(parts={Part.VALKEY}, programs=programs) as stack:
        url = os.environ["REDIS_URL"] = stack.environment()["REDIS_URL"]
        with Querymill(settings=Settings(redis_url=url)) as mill, redis.Redis.from_url(url) as client:
            client.hset("qm:collections", f"reports/{COLLECTION}", "1")
            ours, theirs = our_job(mill), chord_job()
            warm_up(ours)
            warm_up(theirs)
            return harness.run("overhead", lambda: measure(mill, ours, theirs), TARGETS)


def measure(mill: Querymill, ours: Callable[[], float], theirs: Callable[[], float]) -> harness.Figures:
    """Take every figure once."""
    figures = {f"overhead_p50_ms_{n}": overhead(ours, n) for n in CONCURRENCY}
    figures |= {f"chord_p50_ms_{n}": overhead(theirs, n) for n in CONCURRENCY}
    figures["ratio_to_chord_1"] = figures["overhead_p50_ms_1"] / figures["chord_p50_ms_1"]
    figures["ratio_to_chord_50"] = figures["overhead_p50_ms_50"] / figures["chord_p50_ms_50"]
    figures["first_hits_ms"] = statistics.median(first_hits(mill) for _ in range(10))
    return figures | cheap(mill)


def workers(number: int) -> list[Program]:
    """Give one process each to our worker and to the chord's."""
    celery = (sys.executable, "-m", "celery", "-A")
    options = (
        "-P",
        "threads",
        "-c",
        "150",
        "-l",
        "ERROR",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    )
    ours = (*celery, "tests.benchmarks.scripted_worker:app", "worker", "-Q", "search,expand", "-n", f"ours{number}@%h")
    chord = (*celery, "tests.benchmarks.chord:app", "worker", "-n", f"chord{number}@%h")
    environment = {"PYTHONPATH": os.getcwd()}  # noqa: PTH109  # a string for another process
    return [
        Program(name=f"ours{number}", command=(*ours, *options), environment=environment, stop_signal="KILL"),
        Program(name=f"chord{number}", command=(*chord, *options), environment=environment, stop_signal="KILL"),
    ]


def our_job(mill: Querymill) -> Callable[[], float]:
    """One question with every branch, submitted and waited for; returns milliseconds."""

    def run() -> float:
        started = time.perf_counter()
        mill.submit(request(uuid4().hex)).result(timeout=30)
        return (time.perf_counter() - started) * 1000

    return run


def chord_job() -> Callable[[], float]:
    """The same branches as a chord; its end is waited for on a list, which is quicker than Celery's own wait."""
    from tests.benchmarks import chord

    client = redis.Redis.from_url(chord.URL, max_connections=100)

    def run() -> float:
        job_id = uuid4().hex
        started = time.perf_counter()
        chord.submit(job_id, job_id, ("original", "hyde", *METHODS))
        if client.blpop([f"chord:{job_id}"], timeout=30) is None:
            raise TimeoutError("the chord never ended")
        return (time.perf_counter() - started) * 1000

    return run


def request(question: str) -> ReportSearch:
    """Ask with every branch on."""
    return ReportSearch(
        query=question, collection=COLLECTION, hyde=True, multi_query=METHODS, return_parent_pages=True, deadline=30
    )


def overhead(run: Callable[[], float], concurrent: int) -> float:
    """Median latency over the ideal with so many jobs started at once, over several rounds."""
    latencies: list[float] = []
    gate = threading.Barrier(concurrent)

    def together() -> float:
        gate.wait()
        return run()

    with ThreadPoolExecutor(concurrent) as pool:
        for _ in range(ROUNDS[concurrent]):
            futures = [pool.submit(together) for _ in range(concurrent)]
            latencies += [future.result() for future in futures]
            time.sleep(0.1)
    return statistics.median(latencies) - IDEAL_MS


def first_hits(mill: Querymill) -> float:
    """Milliseconds until the first partial ranking of a question with every branch on."""
    started = time.perf_counter()
    for event in mill.submit(request(uuid4().hex)).events(timeout=30):
        if isinstance(event, Hits):
            return (time.perf_counter() - started) * 1000
    raise AssertionError("no partial hits came")


def cheap(mill: Querymill) -> harness.Figures:
    """A question without expansion whose embedding is cached: alone, and as many as go through in a row."""
    asked = ReportSearch(query="cached question", collection=COLLECTION, return_parent_pages=True)

    def run() -> float:
        started = time.perf_counter()
        mill.submit(asked).result(timeout=30)
        return (time.perf_counter() - started) * 1000

    for _ in range(10):
        run()
    alone = statistics.median(run() for _ in range(50))
    with ThreadPoolExecutor(16) as pool:
        started = time.perf_counter()
        list(pool.map(lambda _: run(), range(300)))
        seconds = time.perf_counter() - started
    return {"cheap_job_p50_ms": alone - SEARCH_S * 1000, "jobs_per_s": 300 / seconds}


def warm_up(run: Callable[[], float]) -> None:
    """Open every connection and import every module before anything is measured."""
    with ThreadPoolExecutor(60) as pool:
        for _ in range(2):
            list(pool.map(lambda _: run(), range(60)))


if __name__ == "__main__":
    sys.exit(main())
