"""Does a bulk backfill leave an interactive question's wait unchanged?

Questions without expansion, each a new text to embed, arrive steadily under a provider's limit; first alone, then
beside a backfill that takes whatever the limit has left. The same with a slow provider that sets no
limit, where the account finds out how much it can do.

The lanes are measured, not the processor: the limit of tokens keeps the backfill's own work small, all of it is
submitted before anything is measured, and ``waited_ms`` is what the account itself made a question wait.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

import redis

from querymill import IngestReports, Querymill, ReportSearch, Settings
from querymill_shared import counters
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from tests.benchmarks import harness
from tests.benchmarks.bench_limits import REPORT, figures, fleet, forget
from tests.benchmarks.fleet import free_port, provider, worker, workers_ready
from tests.benchmarks.provider import REQUESTS_PER_MINUTE, SLOW
from tests.fixtures.deployment import finished

#: Questions a second, and for how many seconds.
RATE, SECONDS = 4, 20
#: More texts than the provider embeds meanwhile.
BACKFILL, TEXTS_PER_JOB = 10_000, 250
#: Of the provider with a limit.
BACKFILL_TOKENS_PER_MINUTE = 60_000
TARGETS = {"ratio": ("<=", 1.3), "unlimited_ratio": ("<=", 1.3)}


def main() -> int:
    """Start servers and workers once, with a limit and without; measure alone and beside the backfill in turn."""
    with side("limited") as limited, side(SLOW) as slow:
        return harness.run("lanes", lambda: {**measure(*limited), **unlimited(measure(*slow))}, TARGETS)


Side = tuple[Querymill, str, str]


@contextmanager
def side(kind: str) -> Iterator[Side]:
    """Run a fleet and its provider, which either sets a limit or is slow. Yield its client and two addresses."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {"OPENAI_BASE_URL": f"{url}/v1", "EMBEDDING_MODEL": "multilingual-e5-small", "CHAT_MODEL": "scripted"}
    if kind != SLOW:
        environment |= {"EMBEDDING_RPM": str(REQUESTS_PER_MINUTE), "EMBEDDING_TPM": str(BACKFILL_TOKENS_PER_MINUTE)}
    programs = [
        provider(port, kind, str(BACKFILL_TOKENS_PER_MINUTE)),
        worker("search", "search,expand", 32, environment),
        worker("bulk", "ingest,embed", 8, environment),
    ]
    with fleet(programs) as stack:
        settings = Settings(redis_url=stack.environment()["REDIS_URL"])
        workers_ready(settings.redis_url, 2)
        with Querymill(settings=settings) as mill:
            finished(mill, IngestReports(collection="bench", documents=(REPORT,)))
            steady(mill, seconds=3)
            yield mill, settings.redis_url, url


def unlimited(figures_of_slow: harness.Figures) -> harness.Figures:
    """Name the figures of the provider that sets no limit."""
    return {f"unlimited_{name}": figure for name, figure in figures_of_slow.items()}


def measure(mill: Querymill, redis_url: str, url: str) -> harness.Figures:
    """Take every figure of one side once."""
    forget(redis_url)
    alone = steady(mill, seconds=SECONDS)
    before = figures(url)["embeddings"]
    with backfill(mill):
        time.sleep(2)
        waited = waited_ms(redis_url)
        beside = steady(mill, seconds=SECONDS)
        waited = waited_ms(redis_url) - waited
    after = figures(url)["embeddings"]
    return {
        "interactive_p50_ms_alone": statistics.median(alone),
        "interactive_p50_ms_with_bulk": statistics.median(beside),
        "interactive_p95_ms_alone": p95(alone),
        "interactive_p95_ms_with_bulk": p95(beside),
        "ratio": p95(beside) / p95(alone),
        "waited_ms": waited / len(beside),
        "bulk_texts_per_s": (after["asked"] - before["asked"] - len(beside)) / (SECONDS + 2),
        "http_429": after["http_429"] - before["http_429"],
    }


def waited_ms(redis_url: str) -> float:
    """Return how long the account has made the calls of questions wait so far, in ms."""
    time.sleep(1.5)  # each process adds its counts once a second
    with redis.Redis.from_url(redis_url) as client:
        return counters.read(client).get("budget_waited_ms/interactive", 0.0)


def steady(mill: Querymill, *, seconds: float) -> list[float]:
    """Ask new questions at a steady rate; milliseconds from submission to result."""

    def one(number: int) -> float:
        time.sleep(max(started + number / RATE - time.perf_counter(), 0))
        asked = time.perf_counter()
        request = ReportSearch(query=f"a new question {uuid4().hex}", collection="bench", deadline=30)
        mill.submit(request).result(timeout=35)
        return (time.perf_counter() - asked) * 1000

    started = time.perf_counter() + 0.1
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(one, range(int(RATE * seconds))))


@contextmanager
def backfill(mill: Querymill) -> Iterator[None]:
    """Have new texts embedded in bulk, as far as they get; the rest is cancelled."""
    run, jobs = uuid4().hex, []
    for start in range(0, BACKFILL, TEXTS_PER_JOB):
        numbers = range(start, start + TEXTS_PER_JOB)
        texts = tuple(TextToEmbed(id=str(n), text=f"backfill {run} passage {n} " + "word " * 40) for n in numbers)
        jobs.append(mill.submit(EmbedTexts(collection="bench", texts=texts)))
    try:
        yield
    finally:
        for job in jobs:
            job.cancel()
        time.sleep(2)


def p95(latencies: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(latencies, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main())
