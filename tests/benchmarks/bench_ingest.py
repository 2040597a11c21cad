"""Bulk ingestion through real workers and stores, without the model: documents a second, and the command's memory.

Three fleets of workers run beside each other, each on a board of its own: one for the pace, and one of one writer and
one of four whose model takes its time. While one is measured the others have nothing to do.

Beside it in the same run: plain COPY of the same messages into a table without an index, and a bm25s index of them.
Neither keeps an order of acceptance, words that are found at once, or an outcome of each document.
"""

import io
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil
import psycopg

from querymill import Querymill, Settings
from querymill.ingesting.jsonl import GoodLine
from querymill.ingesting.kinds import loadable_named
from querymill.ingesting.submitting import LoadProgress, ingest, pack
from querymill_embedded import StackPart, temporary_stack
from querymill_workers.postgres.migrate import migrate
from tests.benchmarks import harness
from tests.benchmarks.bench_modules import document, invented_names
from tests.benchmarks.fleet import workers_alive

#: Documents of one measurement.
SIZES: Final = {"messages": 150, "conversations": 300, "reports": 20, "files": 200}
#: Documents that the writers share.
SHARED: Final = 40
#: Bytes of the short and of the long file whose ingestion is watched, also with ``--large``.
SHORT, LONG = 4 << 20, 24 << 20
LARGE_SHORT, LARGE_LONG = 100 << 20, 1 << 30
#: Documents of a file that is generated while it is read; they come again and again. Each is ``LONGER`` times as long.
IN_CIRCLE, LONGER = 200, 4
#: Seconds of a call of the scripted model where writers wait for it.
CALL_S = 0.1
WORDS = [f"w{number:x}" for number in range(30_000)]
CHANCES = list(itertools.accumulate(1 / (rank + 5) for rank in range(len(WORDS))))
TARGETS = {"writers_4_ratio": (">=", 2.0), "rss_long_ratio": ("<=", 1.2)}
#: How many times the pace of ours a peer has is named ``…_over_ours``.
BM25S = ["bm25s_messages_per_s", "bm25s_over_ours"]
#: The processes and threads of each fleet, and the seconds of a call of its model.
Fleets = Mapping[str, Sequence[subprocess.Popen[bytes]]]
FLEETS: Final = {"pace": (2, 4, 0.0), "one": (1, 1, CALL_S), "four": (4, 1, CALL_S)}


def text(lot: random.Random, words: int) -> str:
    """Invent a text whose words are as unevenly frequent as those of a language."""
    return " ".join(lot.choices(WORDS, cum_weights=CHANCES, k=words))


def session(number: int, *, longer: int = 1) -> dict[str, Any]:
    """Invent a chat session of 5 to 30 messages of 5 to 60 words, or of so many times as many."""
    lot, day = random.Random(number), f"2026-03-{number % 28 + 1:02d}"
    messages = [
        {"message_id": f"s{number}m{place}", "role": ("user", "assistant")[place % 2],
         "text": text(lot, longer * lot.randint(5, 60)), "created_at": f"{day}T09:{place:02d}:00Z"}
        for place in range(lot.randint(5, 30))
    ]  # fmt: skip
    return {"session_id": f"s{number}", "started_at": f"{day}T09:00:00Z", "messages": messages}


def report(number: int) -> dict[str, Any]:
    """Invent a report of twelve pages."""
    lot = random.Random(number)
    pages = [{"page": page, "text": ". ".join(text(lot, 20) for _ in range(15))} for page in range(1, 13)]
    return {"sha1": f"r{number}", "title": f"Report {number}", "company": f"Company {number % 40}", "pages": pages}


def file(number: int) -> dict[str, Any]:
    """Invent a file of twenty functions."""
    lot = random.Random(number)
    parts = [f'def f{n}_{text(lot, 1)}(a, b):\n    """{text(lot, 12)}"""\n    return a + b\n' for n in range(20)]
    return {"path": f"src/m{number % 40}/f{number}.py", "content": "\n".join(parts)}


def module(number: int) -> dict[str, Any]:
    """Invent a code document."""
    return document(number, invented_names(random.Random(2_026)), random.Random(number)).model_dump()


MAKERS: Final[Mapping[str, Callable[[int], dict[str, Any]]]] = {
    "messages": session, "conversations": session, "reports": report, "files": file, "modules": module,
}  # fmt: skip


def fleet_environment(environment: Mapping[str, str], board: int) -> dict[str, str]:
    """Return the environment of a fleet, whose board is the server's database of this number."""
    server = environment["REDIS_URL"].rpartition("/")[0]
    return {**os.environ, **environment, "REDIS_URL": f"{server}/{board}", "QUERYMILL_LOG_LEVEL": "ERROR"}


@contextmanager
def workers(environments: Mapping[str, Mapping[str, str]]) -> Iterator[Fleets]:
    """Run the worker processes of each fleet."""
    started: dict[str, list[subprocess.Popen[bytes]]] = {name: [] for name in FLEETS}
    for name, (processes, threads, call_s) in FLEETS.items():
        for number in range(processes):
            command = [
                sys.executable, "-m", "celery", "-A", "tests.benchmarks.ingest_worker", "worker",
                "-Q", "search,ingest,embed,ranks", "-P", "threads", "-c", str(threads), "-n", f"{name}{number}@%h",
                "-l", "CRITICAL", "--without-gossip", "--without-mingle", "--without-heartbeat",
            ]  # fmt: skip
            own = {**environments[name], "BENCH_CALL_S": str(call_s)}
            started[name].append(
                subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
    try:
        yield started
    finally:
        for process in itertools.chain.from_iterable(started.values()):
            process.kill()
            process.wait()


def load(mill: Querymill, kind: str, collection: str, numbers: range) -> tuple[float, list[LoadProgress]]:
    """Ingest documents; returns the seconds and the outcomes."""
    documents = [MAKERS[kind](number) for number in numbers]
    started = time.perf_counter()
    way = loadable_named(kind).documents
    stream = io.BytesIO("\n".join(map(json.dumps, documents)).encode())
    good = (line for line in way.read_stream(stream) if isinstance(line, GoodLine))
    outcomes = list(ingest(mill, pack(good, way.asking(collection))))
    seconds = time.perf_counter() - started
    ended = [outcome for outcome in outcomes if outcome.document is not None]
    assert all(outcome.result is not None for outcome in ended), [outcome.reason for outcome in ended][:3]
    return seconds, ended


class Bench:
    """The measurements, each in a collection of its own."""

    def __init__(self, environments: Mapping[str, Mapping[str, str]]) -> None:
        self._environments = environments
        self._collections = (f"bench{number}" for number in itertools.count())

    def wake(self, started: Fleets) -> None:
        """Wait until every process of every fleet has worked: each has opened its connections by then."""
        for fleet, processes in started.items():
            workers_alive(self._environments[fleet]["REDIS_URL"], processes)
            with self._mill(fleet) as mill:
                for kind in ("conversations", "messages"):
                    load(mill, kind, next(self._collections), range(4))

    def measure(self, short: int, long: int) -> harness.Figures:
        """Take all figures once."""
        figures: harness.Figures = {}
        with self._mill("pace") as mill:
            for kind, size in SIZES.items():
                seconds, outcomes = load(mill, kind, next(self._collections), range(size))
                figures |= rates(kind, size, seconds, outcomes)
        figures |= self.writers() | self.peers()
        for peer in ("copy", "bm25s"):
            if (pace := figures.get(f"{peer}_messages_per_s")) is not None:
                figures[f"{peer}_over_ours"] = pace / figures["messages_per_s"]
        small, large = self.memory(short), self.memory(long)
        return figures | {"rss_short_mb": small, "rss_long_mb": large, "rss_long_ratio": large / small}

    def writers(self) -> harness.Figures:
        """Ingest with one writer and with four, of one slot each, whose model takes its time."""
        messages, paces = count_messages(SHARED), []
        for fleet in ("one", "four"):
            with self._mill(fleet) as mill:
                seconds, _ = load(mill, "messages", next(self._collections), range(SHARED))
            paces.append(messages / seconds)
        one, four = paces
        return {"writers_1_messages_per_s": one, "writers_4_messages_per_s": four, "writers_4_ratio": four / one}

    def _mill(self, fleet: str) -> Querymill:
        own = self._environments[fleet]
        return Querymill(settings=Settings.model_validate({"redis_url": own["REDIS_URL"]}))

    def memory(self, size: int) -> float:
        """Return the most memory of the command in MB, while it reads what is generated."""
        command = [str(Path(sys.executable).with_name("querymill")), "ingest", "conversations", "-"]
        process = subprocess.Popen(
            [*command, "--collection", next(self._collections)], env=dict(self._environments["pace"]),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdin is not None
        most = [0.0]

        def watch() -> None:
            while process.poll() is None:
                most[0] = max(most[0], psutil.Process(process.pid).memory_info().rss / 1e6)
                time.sleep(0.2)

        watching = threading.Thread(target=watch)
        watching.start()
        lines = [json.dumps(session(number, longer=LONGER)).encode() + b"\n" for number in range(IN_CIRCLE)]
        written = 0
        for line in itertools.cycle(lines):
            written += process.stdin.write(line)
            if written >= size:
                break
        process.stdin.close()
        assert process.wait() == 0
        watching.join()
        return most[0]

    def peers(self) -> harness.Figures:
        """Copy the messages into a plain table, and index them by bm25s."""
        rows = [message for number in range(SIZES["messages"]) for message in session(number)["messages"]]
        with psycopg.connect(self._environments["pace"]["DATABASE_URL"]) as connection:
            connection.execute("CREATE TEMPORARY TABLE plain (id text, role text, text text, created_at timestamptz)")
            started = time.perf_counter()
            with connection.cursor().copy("COPY plain FROM STDIN") as copy:
                for row in rows:
                    copy.write_row((row["message_id"], row["role"], row["text"], row["created_at"]))
            figures = {"copy_messages_per_s": len(rows) / (time.perf_counter() - started)}
        if harness.is_installed("bm25s"):
            import bm25s

            started = time.perf_counter()
            index = bm25s.BM25()
            index.index([row["text"].split() for row in rows], show_progress=False)
            figures["bm25s_messages_per_s"] = len(rows) / (time.perf_counter() - started)
        return figures


def count_messages(sessions: int) -> int:
    """Count the messages of the first sessions."""
    return sum(len(session(number)["messages"]) for number in range(sessions))


def rates(kind: str, size: int, seconds: float, outcomes: list[LoadProgress]) -> harness.Figures:
    """Return documents and parts a second."""
    parts = sum(outcome.result.total for outcome in outcomes if outcome.result is not None)
    messages = count_messages(size)
    match kind:
        case "messages":
            return {"sessions_per_s": size / seconds, "messages_per_s": messages / seconds}
        case "conversations":
            return {"conversations_per_s": size / seconds, "conversation_messages_per_s": messages / seconds}
        case "reports":
            return {"reports_per_s": size / seconds, "passages_per_s": parts / seconds}
        case _:
            return {"files_per_s": size / seconds}


def main() -> int:
    """Start the stack and the workers once, measure as often as asked."""
    short, long = (LARGE_SHORT, LARGE_LONG) if harness.options("ingest").large else (SHORT, LONG)
    with temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}) as stack:
        common = {
            **stack.environment(), "EMBEDDING_MODEL": "multilingual-e5-small", "PYTHONPATH": os.getcwd(),  # noqa: PTH109
            "MONGODB_URI": "mongodb://127.0.0.1:1/none",
        }  # fmt: skip
        migrate(common["DATABASE_URL"])
        environments = {name: fleet_environment(common, board) for board, name in enumerate(FLEETS)}
        bench = Bench(environments)
        with workers(environments) as started:
            bench.wake(started)
            return harness.run("ingest", lambda: bench.measure(short, long), TARGETS, harness.needing("bm25s", BM25S))


if __name__ == "__main__":
    sys.exit(main())
