"""Searches of messages in a PostgreSQL that grows tenfold: how long they take before and after.

A search is a whole job: from `submit` to its result, through the board, a worker and the stores. Its model costs
nothing. Of each size most questions go to few collections (Zipf's law), as a few teams ask most. ``spread``
questions go to every collection as often as it has messages: if the database does not fit in memory, they read from
disk.
"""

import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg
import redis

from querymill import Querymill, Settings
from querymill_embedded import Program, Stack, StackPart, temporary_stack
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.postgres.vector_index import LARGE_ROWS, VectorIndexes
from querymill_workers.retrievers.messages.stores.postgres import VECTORS
from tests.benchmarks import harness
from tests.benchmarks.fleet import workers_ready
from tests.benchmarks.many_messages import SIZES, Copies, Original, ingest_original, names, questions, settle
from tests.benchmarks.message_worker import DIMENSIONS, MODEL

#: Questions that are timed, and those before them that are not.
QUESTIONS: Final = 300
TARGETS: Final[Mapping[str, harness.Target]] = {"search_p50_ratio": ("<=", 1.5)}


def main(messages: int) -> int:
    """Load a tenth of the messages, ask, load the others, and ask as often as told."""
    with stack_of_messages() as stack:
        database, board = (stack.environment()[name] for name in ("DATABASE_URL", "REDIS_URL"))
        with (
            Querymill(settings=Settings(redis_url=board)) as mill,
            psycopg.connect(database, autocommit=True) as connection,
        ):
            grown = Grown(mill, connection, database, board)
            loading = grown.ingest()
            grown.grow(messages // 10)
            before = grown.ask(messages // 10)
            loading |= grown.grow(messages)

            def measure() -> harness.Figures:
                now = grown.ask(messages)
                ratios = {
                    f"{name.removesuffix('_ms')}_ratio": now[name] / before[name] for name in now if "p50" in name
                }
                return {
                    **{f"{name}_at_a_tenth": value for name, value in before.items()}, **now, **ratios, **loading,
                }  # fmt: skip

            return harness.run("scale", measure, TARGETS)


@contextmanager
def stack_of_messages() -> Iterator[Stack]:
    """Run Valkey, PostgreSQL and a worker."""
    command = (
        sys.executable, "-m", "celery", "-A", "tests.benchmarks.message_worker", "worker", "-Q", "search,ingest,embed",
        "-P", "threads", "-c", "8", "-n", "messages@%h", "-l", "ERROR", "--without-gossip", "--without-mingle",
        "--without-heartbeat",
    )  # fmt: skip
    environment = {
        "PYTHONPATH": os.getcwd(),  # noqa: PTH109  # a string for another process
        "EMBEDDING_MODEL": MODEL, "QUERYMILL_EMBEDDING_DIMENSIONS": str(DIMENSIONS),
    }  # fmt: skip
    worker = Program(name="messages", command=command, environment=environment, stop_signal="KILL", settle_s=4)

    def prepare(known: Mapping[str, str]) -> None:
        migrate(known["DATABASE_URL"])

    with temporary_stack(
        parts={StackPart.VALKEY, StackPart.POSTGRES}, programs=[worker], prepare=prepare
    ) as stack:  # fmt: skip
        yield stack


@dataclass
class Grown:
    """A database that is loaded further and further."""

    mill: Querymill
    connection: psycopg.Connection
    database: str
    board: str

    def __post_init__(self) -> None:
        self._originals: dict[int, Original] = {}
        self._copied: set[str] = set()
        workers_ready(self.board, 1)

    def ingest(self) -> harness.Figures:
        """Ingest a collection of each size, as any caller does."""
        started = time.perf_counter()
        for size in SIZES:
            self._originals[size] = ingest_original(self.mill, size)
        seconds = time.perf_counter() - started
        for original in self._originals.values():
            settle(self.connection, original.name)
        return {"ingested_per_s": sum(SIZES) / seconds}

    def grow(self, messages: int) -> harness.Figures:
        """Copy collections until there are so many messages, each with the near index that its size gets."""
        self.connection.execute("SET statement_timeout = 0")
        started, indexed = time.perf_counter(), 0.0
        with open_pool(self.database, max_size=2) as pool:
            near = VectorIndexes(pool, VECTORS.vectors)
            for size, original in self._originals.items():
                copies = Copies(self.connection, original.name)
                added = [name for name in names(size, messages) if name not in self._copied]
                for name in added:
                    copies.add(name)
                self._copied |= {*added}
                if size > LARGE_ROWS:
                    began = time.perf_counter()
                    for name in added:
                        assert near.make(name, MODEL, dimensions=DIMENSIONS)
                    indexed += time.perf_counter() - began
        seconds = time.perf_counter() - started - indexed
        # What autovacuum does by itself within minutes of so many rows.
        self.connection.execute("VACUUM (ANALYZE)")
        with redis.Redis.from_url(self.board) as client:
            client.hset("qm:collections", mapping={f"messages/{name}": "1" for name in self._copied})
        return {"copied_s": seconds, "near_indexes_s": indexed}

    def ask(self, messages: int) -> harness.Figures:
        """Time questions, and say how much there is."""
        row = self.connection.execute(
            "SELECT (SELECT sum(size) FROM unnest(%s::bigint[], %s::bigint[]) AS made (number, each),"
            " LATERAL (SELECT number * each AS size) AS s), pg_database_size(current_database())",
            [[len(names(size, messages)) for size in SIZES], list(SIZES)],
        ).fetchone()
        assert row is not None
        few = self._timed(questions(self._originals, messages, 2 * QUESTIONS, zipf=True))
        spread = self._timed(questions(self._originals, messages, 2 * QUESTIONS, zipf=False))
        return {
            "messages": float(row[0]), "collections": float(len(self._copied)), "database_gb": row[1] / 1e9,
            "bytes_per_message": row[1] / float(row[0]),
            "search_p50_ms": statistics.median(few), "search_p95_ms": percentile(few, 95),
            "spread_search_p50_ms": statistics.median(spread), "spread_search_p95_ms": percentile(spread, 95),
        }  # fmt: skip

    def _timed(self, asked: Sequence[tuple[str, str]]) -> list[float]:
        """Ask one question after the other; the first half warms up."""
        taken = []
        for name, question in asked:
            started = time.perf_counter()
            result = self.mill.submit(MessageSearch(query=question, collection=name)).result(timeout=60)
            taken.append((time.perf_counter() - started) * 1000)
            assert result.results, result.degraded
            assert result.searched is not None, result.degraded
        return taken[len(asked) // 2 :]


def percentile(taken: Sequence[float], share: int) -> float:
    """Return the value that so many of a hundred do not exceed."""
    return statistics.quantiles(taken, n=100)[share - 1]
