"""What a job costs over its ideal critical path, beside a Celery chord and a dramatiq group.

Models and store are scripted waits (chat 200 ms, embedding 20, search 5), so that what is left is ours: board, bells,
flow, fusion, waiting for the result. Latency, processor time and messages are measured. All sides get the same server,
two processes of 150 threads, and the machine for themselves: the processes of the others are stopped meanwhile.
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
from querymill_embedded import Program
from querymill_shared.contracts.events import Hits
from querymill_shared.contracts.expansion import MultiQueryMethod
from tests.benchmarks import harness
from tests.benchmarks.bench_limits import fleet
from tests.benchmarks.costs import Fleet, alone, calls, own_s
from tests.benchmarks.fleet import workers_ready
from tests.benchmarks.script import COLLECTION, IDEAL_MS, SEARCH_S

#: The schema is made for its vectors.
MODEL = "multilingual-e5-small"
CONCURRENCY = (1, 10, 50)
ROUNDS = {1: 12, 10: 4, 50: 4}
#: Jobs of the closed loops, and callers that submit the next when one has ended.
JOBS, CHEAP_JOBS, CALLERS = 300, 600, 50
IDLE_S = 5.0
METHODS: tuple[MultiQueryMethod, ...] = ("synonym", "subquestion", "variant")
BRANCHES = ("original", "hyde", *METHODS)
TARGETS = {
    "overhead_p50_ms_1": ("<=", 7.0),
    "ratio_to_chord_50": ("<=", 0.25),
    "ratio_to_dramatiq_50": ("<=", 0.6),
    "cpu_ms_per_job": ("<=", 5.0),
    "cpu_ms_per_cheap_job": ("<=", 1.5),
    "messages_per_job": ("<=", 2.0),
    "throughput_to_dramatiq": (">=", 1.3),
}
DRAMATIQ = "dramatiq"
Run = Callable[[], float]


def main() -> int:
    """Start servers and workers once, measure ours and the peers' in turn as often as asked."""
    programs = [program for number in range(2) for program in workers(number)]
    # The workers are the product's own: they check the schema of their database, although the store is scripted.
    with fleet(programs) as stack:
        url = os.environ["REDIS_URL"] = stack.environment()["REDIS_URL"]
        workers_ready(url, 2)
        fleets = {name: Fleet(word, url) for name, word in words().items()}
        for one in fleets.values():
            one.find()
        with Querymill(settings=Settings(redis_url=url)) as mill, redis.Redis.from_url(url) as client:
            client.hset("qm:collections", f"reports/{COLLECTION}", "1")
            jobs = {"ours": our_job(mill, url), "chord": chord_job()}
            if harness.is_installed(DRAMATIQ):
                jobs[DRAMATIQ] = dramatiq_job()
            for run in jobs.values():
                warm_up(run)
            left_out = harness.needing(DRAMATIQ, of_dramatiq())
            return harness.run("overhead", lambda: measure(mill, url, jobs, fleets), TARGETS, left_out)


def words() -> dict[str, str]:
    """Return a word of the command line of each fleet, and of the server they share."""
    known = {"ours": "ours", "chord": "chord", "server": "valkey-server"}
    return known | ({DRAMATIQ: "dramatiq_peer"} if harness.is_installed(DRAMATIQ) else {})


def of_dramatiq() -> list[str]:
    """Name the figures that need dramatiq."""
    return [
        *(f"dramatiq_p50_ms_{n}" for n in CONCURRENCY), "ratio_to_dramatiq_50", "dramatiq_jobs_per_s",
        "dramatiq_cpu_ms_per_job", "dramatiq_idle_cpu_ms_per_s", "throughput_to_dramatiq",
    ]  # fmt: skip


def measure(mill: Querymill, url: str, jobs: dict[str, Run], fleets: dict[str, Fleet]) -> harness.Figures:
    """Take every figure once."""
    figures: harness.Figures = {}
    for name, run in jobs.items():
        with alone([other for known, other in fleets.items() if known not in (name, "server")]):
            time.sleep(0.5)
            label = "overhead" if name == "ours" else name
            prefix = "" if name == "ours" else f"{name}_"
            figures |= {f"{label}_p50_ms_{n}": overhead(run, n) for n in CONCURRENCY}
            involved = [fleets[name], fleets["server"]]
            figures |= {f"{prefix}{figure}": value for figure, value in loop(run, involved).items()}
            figures[f"{prefix}idle_cpu_ms_per_s"] = idle(involved)
            if name == "ours":
                figures |= ours_alone(mill, url, run, involved)
    for peer in [name for name in jobs if name != "ours"]:
        figures |= {
            f"ratio_to_{peer}_{n}": figures[f"overhead_p50_ms_{n}"] / figures[f"{peer}_p50_ms_{n}"] for n in CONCURRENCY
        }
        figures[f"throughput_to_{peer}"] = figures["jobs_per_s"] / figures[f"{peer}_jobs_per_s"]
    return figures


def ours_alone(mill: Querymill, url: str, run: Run, involved: list[Fleet]) -> harness.Figures:
    """Take the figures that no peer has."""
    before = calls(url)
    for _ in range(10):
        run()
    after = calls(url)
    per_job = {name: (after[name] - before.get(name, 0)) / 10 for name in ("lpush", "evalsha")}
    figures = {
        "messages_per_job": per_job["lpush"],
        "first_hits_ms": statistics.median(first_hits(mill) for _ in range(10)),
    }

    def cheap() -> float:
        # Each asks something else, because equal questions are answered by one job.
        asked = ReportSearch(query=f"cached {uuid4().hex}", collection=COLLECTION, return_parent_pages=True)
        return timed(mill, asked)

    for _ in range(10):
        cheap()
    figures["cheap_job_p50_ms"] = statistics.median(cheap() for _ in range(50)) - SEARCH_S * 1000
    closed = loop(cheap, involved, jobs=CHEAP_JOBS, callers=16)
    return figures | {"cheap_jobs_per_s": closed["jobs_per_s"], "cpu_ms_per_cheap_job": closed["cpu_ms_per_job"]}


def workers(number: int) -> list[Program]:
    """Give one process each to our worker and to the peers'."""
    celery = (sys.executable, "-m", "celery", "-A")
    options = (
        "-P", "threads", "-c", "150", "-l", "ERROR", "--without-gossip", "--without-mingle", "--without-heartbeat",
    )  # fmt: skip
    ours = (*celery, "tests.benchmarks.scripted_worker:app", "worker", "-Q", "search,expand", "-n", f"ours{number}@%h")
    chord = (*celery, "tests.benchmarks.chord:app", "worker", "-n", f"chord{number}@%h")
    commands = {f"ours{number}": (*ours, *options), f"chord{number}": (*chord, *options)}
    if harness.is_installed(DRAMATIQ):
        peer = (
            sys.executable,
            "-m",
            "dramatiq",
            "tests.benchmarks.dramatiq_peer",
            "--processes",
            "1",
            "--threads",
            "150",
        )
        commands[f"dramatiq{number}"] = peer
    # dramatiq's own intervals are made for throughput: with them a lone job waits for up to a second.
    environment = {
        "PYTHONPATH": os.getcwd(),  # noqa: PTH109  # a string for another process
        "EMBEDDING_MODEL": MODEL, "dramatiq_worker_timeout": "10", "dramatiq_queue_prefetch": "150",
    }  # fmt: skip
    return [
        Program(name=name, command=command, environment=environment, stop_signal="KILL")
        for name, command in commands.items()
    ]


def our_job(mill: Querymill, url: str) -> Run:
    """One question with every branch, submitted and waited for; returns milliseconds."""
    return lambda: timed(mill, request(uuid4().hex))


def timed(mill: Querymill, asked: ReportSearch) -> float:
    """Submit a question and wait for its result; milliseconds."""
    started = time.perf_counter()
    result = mill.submit(asked).result(timeout=30)
    took_ms = (time.perf_counter() - started) * 1000
    # A branch that fails costs less than one that searches.
    assert result.complete, result.degraded
    return took_ms


def chord_job() -> Run:
    """The same branches as a chord; its end is waited for on a list, which is quicker than Celery's own wait."""
    from tests.benchmarks import chord

    client = redis.Redis.from_url(chord.URL, max_connections=100)

    def run() -> float:
        job_id = uuid4().hex
        started = time.perf_counter()
        chord.submit(job_id, job_id, BRANCHES)
        if client.blpop([f"chord:{job_id}"], timeout=30) is None:
            raise TimeoutError("the chord never ended")
        return (time.perf_counter() - started) * 1000

    return run


def dramatiq_job() -> Run:
    """The same branches as a dramatiq group with a callback, whose result is waited for."""
    from tests.benchmarks import dramatiq_peer

    def run() -> float:
        started = time.perf_counter()
        dramatiq_peer.run(uuid4().hex, BRANCHES)
        return (time.perf_counter() - started) * 1000

    return run


def request(question: str) -> ReportSearch:
    """Ask with every branch on."""
    return ReportSearch(
        query=question, collection=COLLECTION, hyde=True, multi_query=METHODS, return_parent_pages=True, deadline=30
    )


def overhead(run: Run, concurrent: int) -> float:
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


def loop(run: Run, involved: list[Fleet], *, jobs: int = JOBS, callers: int = CALLERS) -> harness.Figures:
    """Keep so many callers busy; jobs a second, and processor time per job: workers, server and callers."""
    with ThreadPoolExecutor(callers) as pool:
        before, started = own_s() + sum(one.processor_s() for one in involved), time.perf_counter()
        list(pool.map(lambda _: run(), range(jobs)))
        seconds = time.perf_counter() - started
        spent = own_s() + sum(one.processor_s() for one in involved) - before
    return {"jobs_per_s": jobs / seconds, "cpu_ms_per_job": spent * 1000 / jobs}


def idle(involved: list[Fleet]) -> float:
    """Return the processor time of a fleet without work, in ms per second."""
    time.sleep(0.5)
    before = sum(one.processor_s() for one in involved)
    time.sleep(IDLE_S)
    return (sum(one.processor_s() for one in involved) - before) * 1000 / IDLE_S


def first_hits(mill: Querymill) -> float:
    """Milliseconds until the first partial ranking of a question with every branch on."""
    started = time.perf_counter()
    for event in mill.submit(request(uuid4().hex)).events(timeout=30):
        if isinstance(event, Hits):
            return (time.perf_counter() - started) * 1000
    raise AssertionError("no partial hits came")


def warm_up(run: Run) -> None:
    """Open every connection and import every module before anything is measured."""
    with ThreadPoolExecutor(60) as pool:
        for _ in range(2):
            list(pool.map(lambda _: run(), range(60)))


if __name__ == "__main__":
    sys.exit(main())
