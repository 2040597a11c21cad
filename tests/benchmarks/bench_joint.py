"""How long one question over everything takes, beside the slowest of its branches asked alone, in the same run.

One collection holds documents of each kind. Everything is real but the provider, whose embeddings take 60 ms. Each
round asks one question of everything, and one of each kind as the branch asks it; all are new, so that no vector is
known beforehand. One at a time: two cores have five branches to run, and what those take of each other is counted.
"""

import os
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

from querymill import Querymill, Search, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_evaluation.cli.measuring import await_vectors
from querymill_shared.contracts.kinds import SEARCHES
from querymill_workers.postgres.migrate import migrate
from tests.benchmarks import harness
from tests.benchmarks.bench_costs import question
from tests.benchmarks.bench_ingest import load
from tests.benchmarks.fleet import free_port, provider, worker, workers_ready
from tests.benchmarks.provider import SLOW

#: Documents of each kind, and the questions of a run.
DOCUMENTS: Final = {"messages": 100, "conversations": 100, "reports": 20, "files": 150, "modules": 200}
ROUNDS: Final = 40
COLLECTION: Final = "bench"
#: Worker processes: one for each core, as steps are computed in Python, and their threads.
WORKERS: Final = os.cpu_count() or 1
THREADS: Final = 12
TARGETS = {"joint_over_slowest": ("<=", 1.1)}


def main() -> int:
    """Start servers and a worker, ingest once, and take every figure as often as told."""
    port = free_port()
    environment = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "EMBEDDING_MODEL": "multilingual-e5-small",
        "EMBEDDING_RPM": "1000000", "EMBEDDING_TPM": "1000000000",
    }  # fmt: skip
    workers = [
        worker(f"joint-{number}", "search,expand,ingest,embed,ranks", THREADS, environment) for number in range(WORKERS)
    ]
    programs = [provider(port, SLOW), *workers]

    def prepare(known: Mapping[str, str]) -> None:
        migrate(known["DATABASE_URL"])

    with temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}, programs=programs, prepare=prepare) as stack:
        url = stack.environment()["REDIS_URL"]
        workers_ready(url, WORKERS, within_s=600)
        with Querymill(settings=Settings(redis_url=url)) as mill:
            for kind, count in DOCUMENTS.items():
                load(mill, kind, COLLECTION, range(count))
            for kind in ("messages", "conversations", "reports"):
                await_vectors(mill, kind, {COLLECTION})
            lot = random.Random(38)
            measure(mill, lot)  # opens every connection
            return harness.run("joint", lambda: measure(mill, lot), TARGETS)


def measure(mill: Querymill, lot: random.Random) -> harness.Figures:
    """Ask everything and each branch alone, in turn; medians in ms."""
    taken = defaultdict[str, list[float]](list)
    for _ in range(ROUNDS):
        for kind in SEARCHES:
            whole = Search(query=question(lot), branches=(f"{kind}/{COLLECTION}",), deadline=30)
            taken[kind].append(timed(mill, whole.search_of(whole.branches[0])))
        taken["joint"].append(timed(mill, Search(query=question(lot), deadline=30)))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    slowest = max(medians[kind] for kind in SEARCHES)
    figures = {f"{name}_p50_ms": value for name, value in medians.items()}
    return figures | {"joint_over_slowest": medians["joint"] / slowest, "load_average": os.getloadavg()[0]}


def timed(mill: Querymill, asked: Any) -> float:
    """Submit a search and wait for its result; milliseconds."""
    started = time.perf_counter()
    result = mill.submit(asked).result(timeout=60)
    took_ms = (time.perf_counter() - started) * 1000
    # A branch that fails costs less than one that searches.
    assert result.complete, result.degraded
    return took_ms


if __name__ == "__main__":
    sys.exit(main())
