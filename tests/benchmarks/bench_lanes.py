"""Does a bulk backfill leave an interactive question's wait unchanged?

Questions without expansion, each a new text to embed, arrive steadily under a provider's limit; first alone, then
beside a backfill of 100,000 texts that takes whatever the limit has left.
"""

import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import uuid4

from querymill import Querymill, ReportSearch, Settings
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.ingest import IngestReport
from tests.benchmarks import harness
from tests.benchmarks.bench_limits import REPORT, figures, fleet, forget
from tests.benchmarks.fleet import free_port, provider, worker, workers_ready
from tests.benchmarks.provider import REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE

#: Questions a second, and for how many seconds.
RATE, SECONDS = 4, 20
BACKFILL, TEXTS_PER_JOB = 100_000, 500
TARGETS = {"ratio": ("<=", 1.3)}


def main() -> int:
    """Start servers and workers once; measure alone and beside the backfill in turn."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "EMBEDDING_MODEL": "multilingual-e5-small",
        "CHAT_MODEL": "scripted",
        "EMBEDDING_RPM": str(REQUESTS_PER_MINUTE),
        "EMBEDDING_TPM": str(TOKENS_PER_MINUTE),
    }
    programs = [
        provider(port),
        worker("search", "search,expand", 32, environment),
        worker("bulk", "ingest,embed", 8, environment),
    ]
    with fleet(programs) as stack:
        settings = Settings(redis_url=stack.environment()["REDIS_URL"])
        workers_ready(settings.redis_url, 2)
        with Querymill(settings=settings) as mill:
            mill.submit(IngestReport(collection="bench", report=REPORT)).result(timeout=60)
            steady(mill, seconds=3)
            return harness.run("lanes", lambda: measure(mill, settings.redis_url, url), TARGETS)


def measure(mill: Querymill, redis_url: str, url: str) -> harness.Figures:
    """Take every figure once."""
    forget(redis_url)
    alone = steady(mill, seconds=SECONDS)
    before = figures(url)["embeddings"]
    with backfill(mill):
        time.sleep(2)
        beside = steady(mill, seconds=SECONDS)
    after = figures(url)["embeddings"]
    return {
        "interactive_p50_ms_alone": statistics.median(alone),
        "interactive_p50_ms_with_bulk": statistics.median(beside),
        "interactive_p95_ms_alone": p95(alone),
        "interactive_p95_ms_with_bulk": p95(beside),
        "ratio": p95(beside) / p95(alone),
        "bulk_texts_per_s": (after["asked"] - before["asked"] - len(beside)) / (SECONDS + 2),
        "http_429": after["http_429"] - before["http_429"],
    }


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
    """Have 100,000 new texts embedded in bulk, as far as they get; the rest is cancelled."""
    run, stop, jobs = uuid4().hex, threading.Event(), []

    def submit() -> None:
        for start in range(0, BACKFILL, TEXTS_PER_JOB):
            if stop.is_set():
                return
            numbers = range(start, start + TEXTS_PER_JOB)
            texts = tuple(TextToEmbed(id=str(n), text=f"backfill {run} passage {n} " + "word " * 40) for n in numbers)
            jobs.append(mill.submit(EmbedTexts(collection="bench", texts=texts)))

    submitting = threading.Thread(target=submit)
    submitting.start()
    try:
        yield
    finally:
        stop.set()
        submitting.join()
        for job in jobs:
            job.cancel()
        time.sleep(2)


def p95(latencies: list[float]) -> float:
    """The 95th percentile."""
    return statistics.quantiles(latencies, n=20)[-1]


if __name__ == "__main__":
    sys.exit(main())
