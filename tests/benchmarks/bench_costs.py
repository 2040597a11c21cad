"""What a job of each kind costs: processor time of worker, board and PostgreSQL, bytes on the board, tokens, rows.

Everything is real but the provider, whose calls take 200 ms. One worker process has the machine's stores to itself.
A search is one job. Of ingestions, figures are per document, vectors included. ``board_bytes`` stay on the board
until the job is released or QUERYMILL_RESULT_TTL_S has passed. ``traffic_bytes`` go to the board and come from it.
``stored_bytes`` are what PostgreSQL grows by. ``idle_…`` are milliseconds a second without work.
"""

import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
import redis

from querymill import (
    ConversationSearch,
    EmbedTexts,
    FileSearch,
    MessageSearch,
    ModuleSearch,
    Querymill,
    ReportSearch,
    Settings,
    TextToEmbed,
)  # fmt: skip
from querymill_embedded import StackPart, temporary_stack
from querymill_workers.postgres.migrate import migrate
from tests.benchmarks import harness
from tests.benchmarks.bench_ingest import load, text
from tests.benchmarks.bench_limits import figures as provider_figures
from tests.benchmarks.bench_modules import ROLES, WORDS
from tests.benchmarks.costs import Fleet, own_s, server_s
from tests.benchmarks.fleet import free_port, provider, worker, workers_ready
from tests.benchmarks.provider import STEADY

#: Documents that are ingested of each kind, and searched.
DOCUMENTS: Final = {"messages": 150, "conversations": 300, "reports": 20, "files": 200, "modules": 400}
#: Searches of each kind, and how many run at once; the threads of the worker are as many.
JOBS, AT_ONCE = 120, 12
IDLE_S: Final = 5.0
COLLECTION: Final = "bench"
METHODS: Final = ("synonym", "subquestion", "variant")
Request = Callable[[random.Random], Any]


def question(lot: random.Random) -> str:
    """Return some words of the documents, which nobody has asked for in this order."""
    return text(lot, 6)


def name_of_module(lot: random.Random) -> str:
    """Return a name that some documents have."""
    return f"vtk{''.join(lot.sample(WORDS, 2))}{lot.choice(ROLES)}"


SEARCHES: Final[Mapping[str, Request]] = {
    "search_messages": lambda lot: MessageSearch(query=question(lot), collection=COLLECTION),
    "search_conversations": lambda lot: ConversationSearch(query=question(lot), collection=COLLECTION),
    "search_reports": lambda lot: ReportSearch(query=question(lot), collection=COLLECTION),
    "search_reports_expanded": lambda lot: ReportSearch(
        # The provider rewords what follows this word.
        query=f"{question(lot)} question {lot.randbytes(6).hex()}",
        collection=COLLECTION,
        hyde=True,
        multi_query=METHODS,
    ),
    "search_files": lambda lot: FileSearch(query=question(lot), collection=COLLECTION),
    "search_modules": lambda lot: ModuleSearch(query=name_of_module(lot), collection=COLLECTION),
    "embed_64": lambda lot: EmbedTexts(
        collection=COLLECTION, texts=tuple(TextToEmbed(id=str(n), text=text(lot, 30)) for n in range(64))
    ),
}  # fmt: skip


def main() -> int:
    """Start servers and a worker once; take every figure as often as told."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        "OPENAI_BASE_URL": f"{url}/v1", "CHAT_MODEL": "scripted", "EMBEDDING_MODEL": "multilingual-e5-small",
        **dict.fromkeys(("CHAT_RPM", "EMBEDDING_RPM"), "1000000"),
        **dict.fromkeys(("CHAT_TPM", "EMBEDDING_TPM"), "1000000000"),
    }  # fmt: skip
    programs = [provider(port, STEADY), worker("costs", "search,expand,ingest,embed,ranks", AT_ONCE, environment)]

    def prepare(known: Mapping[str, str]) -> None:
        migrate(known["DATABASE_URL"])

    parts = {StackPart.VALKEY, StackPart.POSTGRES}
    with temporary_stack(parts=parts, programs=programs, prepare=prepare) as stack:
        known = stack.environment()
        workers_ready(known["REDIS_URL"], 1)
        with Querymill(settings=Settings(redis_url=known["REDIS_URL"])) as mill:
            bench = Bench(mill, known["REDIS_URL"], known["DATABASE_URL"], url)
            return harness.run("costs", bench.measure, {})


@dataclass
class Bench:
    """The servers, and what is asked of them."""

    mill: Querymill
    board_url: str
    database_url: str
    provider_url: str

    def __post_init__(self) -> None:
        self._runs = 0
        self._worker = Fleet("costs@", self.board_url)
        self._worker.find()

    def measure(self) -> harness.Figures:
        """Take every figure once. The documents are searched in the collection of the first run."""
        self._runs += 1
        figures: harness.Figures = {"load_average": os.getloadavg()[0]}
        for kind, count in DOCUMENTS.items():
            collection = COLLECTION if self._runs == 1 else f"{COLLECTION}{self._runs}"
            run = partial(load, self.mill, kind, collection, range(count))
            figures |= self._costs(f"ingest_{kind}", count, run, stores=True)
        for kind, asked in SEARCHES.items():
            lot = random.Random(f"{kind}{self._runs}")
            self._all(asked, lot, AT_ONCE)
            figures |= self._costs(kind, JOBS, partial(self._all, asked, lot, JOBS))
        before = self._spent()
        time.sleep(IDLE_S)
        after = self._spent()
        return figures | {
            f"idle_{name}": (after[name] - before[name]) / IDLE_S for name in before if name.endswith("_ms")
        }  # fmt: skip

    def _all(self, asked: Request, lot: random.Random, count: int) -> None:
        """Run jobs, so many at once."""
        requests = [asked(lot) for _ in range(count)]

        def run(request: Any) -> None:
            result = self.mill.submit(request).result(timeout=120)
            assert result.complete, result.degraded

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(run, requests))

    def _costs(self, name: str, count: int, run: Callable[[], object], *, stores: bool = False) -> harness.Figures:
        """Return what each of ``count`` jobs or documents has cost."""
        before = self._spent()
        run()
        after = self._spent()
        kept = [figure for figure in before if stores or figure != "stored_bytes"]
        return {f"{name}_{figure}": (after[figure] - before[figure]) / count for figure in kept}

    def _spent(self) -> harness.Figures:
        """Return what was spent until now."""
        ports = [urlsplit(address).port for address in (self.board_url, self.database_url)]
        board_port, database_port = (port for port in ports if port is not None)
        with redis.Redis.from_url(self.board_url) as board, psycopg.connect(self.database_url) as database:
            traffic, memory = board.info("stats"), board.info("memory")
            (stored,) = database.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
        asked = provider_figures(self.provider_url)
        return {
            "worker_ms": self._worker.processor_s() * 1000,
            "board_ms": server_s(board_port) * 1000,
            "postgres_ms": server_s(database_port) * 1000,
            "caller_ms": own_s() * 1000,
            "board_bytes": float(memory["used_memory_dataset"]),
            "traffic_bytes": float(traffic["total_net_input_bytes"] + traffic["total_net_output_bytes"]),
            "chat_calls": float(asked["chat"]["calls"]),
            "embedding_calls": float(asked["embeddings"]["calls"]),
            "tokens": float(asked["chat"]["tokens"] + asked["embeddings"]["tokens"]),
            "stored_bytes": float(stored),
        }


if __name__ == "__main__":
    sys.exit(main())
