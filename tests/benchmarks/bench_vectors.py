"""The whole way of a message search in PostgreSQL, beside plain pgvector SQL and FAISS flat, on the same vectors.

Generated vectors in clusters, as embeddings lie. Ours is `PostgresMessages.nearest`: role, row-level security, the
choice between exact and approximate, the counts, and the joins to session and message. Plain SQL
is one statement on a table of nothing but numbers and vectors, with the same index at the same width; under a
filter it scans the filter's rows, which measured best. It is asked with the vector written out, as most people
do, and with pgvector's binary adapter, which ours uses too. Recall is against FAISS flat: without FAISS it is left
out. ``--large`` asks a million too.

A small collection is asked twice, in turn: in a database of its own, and in the one with the large collections.
"""

import functools
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector.psycopg import register_vector
from pgvector.psycopg.vector import VectorBinaryDumper

from querymill_embedded import StackPart, temporary_stack
from querymill_shared.settings import Settings
from querymill_workers.postgres.connection import literal, open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.postgres.vector_index import BREADTH, NEIGHBOURS
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.postgres import PostgresMessages
from tests.benchmarks import harness
from tests.fixtures.chats import messages_in

if TYPE_CHECKING:
    import faiss

Matrix = npt.NDArray[np.float32]

SIZES = {"100k": 100_000, "1m": 1_000_000}
DIMENSIONS, CLUSTERS, SPREAD, QUERIES, MOST = 384, 1_000, 0.6, 100, 10
#: How widely both search the index: our default.
EF_SEARCH = Settings().querymill_ef_search
#: Collections that are asked alone and beside a larger one; the second only beside a million.
SMALL = {"10k": 10_000}
#: Which share of the rows each filter leaves; the rest is in small sessions.
FILTERS = {"1pct": 0.01, "10pct": 0.1}
PEER = "faiss"
TARGETS = {
    "recall_at_10_100k": (">=", 0.97),
    "ratio_to_sql_100k": ("<=", 1.3),
    "filtered_1pct_recall_100k": (">=", 0.97),
    "filtered_10pct_recall_100k": (">=", 0.97),
    "beside_ratio_10k": ("<=", 1.2),
}
LARGE_TARGETS = {"beside_ratio_100k": ("<=", 1.2)}


@dataclass(frozen=True)
class Loaded:
    """Vectors with the session of each, and queries."""

    label: str
    vectors: Matrix
    sessions: npt.NDArray[np.str_]
    queries: Matrix


def main() -> int:
    """Load every size once, then ask all three in turn as often as asked."""
    large = harness.options("vectors").large
    sizes = SIZES if large else {"100k": SIZES["100k"]}
    small = SMALL | ({"100k": SIZES["100k"]} if large else {})
    with temporary_stack(parts={StackPart.POSTGRES}) as stack, ExitStack() as opened:
        url = stack.environment()["DATABASE_URL"]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER ROLE CURRENT_USER SET maintenance_work_mem = '2GB'")
            connection.execute("CREATE DATABASE alone")
        every = {label: generated(label, size) for label, size in (sizes | small).items()}
        beside = opened.enter_context(Server.of(url, list(every.values())))
        alone = opened.enter_context(
            Server.of(f"{url.rsplit('/', 1)[0]}/alone", [every[label] for label in small])
        )  # fmt: skip

        def measure() -> harness.Figures:
            figures: harness.Figures = {}
            for label in sizes:
                figures |= measured(beside.messages, beside.connection, every[label])
            for label in small:
                figures |= in_turn(every[label], alone.messages, beside.messages)
            return figures

        targets = TARGETS | (LARGE_TARGETS if large else {})
        return harness.run("vectors", measure, targets, harness.needing(PEER, peer_figures(sizes)))


@dataclass(frozen=True)
class Server:
    """A database with some collections, loaded and indexed."""

    messages: PostgresMessages
    connection: psycopg.Connection

    @classmethod
    @contextmanager
    def of(cls, url: str, made: Sequence[Loaded]) -> Iterator["Server"]:
        migrate(url)
        with open_pool(url, max_size=2) as pool, psycopg.connect(url, autocommit=True) as connection:
            register_vector(connection)
            connection.adapters.register_dumper(np.ndarray, VectorBinaryDumper)
            messages = messages_in(pool, ef_search=EF_SEARCH)
            for loaded in made:
                load(connection, loaded)
                messages._near.make(loaded.label, "m", dimensions=DIMENSIONS)
                index(connection, loaded.label)
            connection.execute("VACUUM (ANALYZE)")
            yield cls(messages, connection)


def in_turn(loaded: Loaded, alone: PostgresMessages, beside: PostgresMessages) -> harness.Figures:
    """Ask a collection in both databases, query by query."""
    where = MessageFilter(loaded.label, ("message",))
    times: dict[str, list[float]] = {"alone": [], "beside": []}
    for query in (*loaded.queries[:10], *loaded.queries):
        for name, messages in (("alone", alone), ("beside", beside)):
            ask = functools.partial(messages.nearest, where, query, model="m", limit=MOST, floor=0.5)
            times[name].append(milliseconds(ask))
    p50 = {name: statistics.median(taken[10:]) for name, taken in times.items()}
    return {
        f"alone_p50_ms_{loaded.label}": p50["alone"],
        f"beside_p50_ms_{loaded.label}": p50["beside"],
        f"beside_ratio_{loaded.label}": p50["beside"] / p50["alone"],
    }


def peer_figures(labels: Iterable[str]) -> list[str]:
    """Name what is measured by FAISS: its own speed, and the recall of ours."""
    return [
        figure
        for label in labels
        for figure in (
            f"recall_at_10_{label}", *(f"filtered_{name}_recall_{label}" for name in FILTERS),
            f"faiss_flat_p50_ms_{label}",
        )
    ]  # fmt: skip


def generated(label: str, size: int) -> Loaded:
    """Draw vectors around centres, and queries as near to them."""
    chance = np.random.default_rng(size)
    centres = chance.standard_normal((CLUSTERS, DIMENSIONS), dtype=np.float32)

    def drawn(count: int) -> Matrix:
        around = centres[chance.integers(CLUSTERS, size=count)]
        rows = around + SPREAD * chance.standard_normal((count, DIMENSIONS), dtype=np.float32)
        of_length_one: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return of_length_one

    sessions = np.array([f"rest{number % 5_000}" for number in range(size)])
    shuffled, start = chance.permutation(size), 0
    for name, share in FILTERS.items():
        sessions[shuffled[start : start + int(share * size)]] = name
        start += int(share * size)
    return Loaded(label, drawn(size), sessions, drawn(QUERIES))


def load(connection: psycopg.Connection, loaded: Loaded) -> None:
    """Store the vectors in a plain table, and from there among the messages' own."""
    label = loaded.label
    connection.execute(f"CREATE TABLE plain_{label} (number integer, session text, embedding vector({DIMENSIONS}))")
    with connection.cursor() as cursor, cursor.copy(f"COPY plain_{label} FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["int4", "text", "vector"])
        for number, (session, vector) in enumerate(zip(loaded.sessions, loaded.vectors, strict=True)):
            copy.write_row((number, str(session), vector))
    connection.execute("SET querymill.across = on")
    connection.execute(
        "INSERT INTO chat_passages (collection, session_id, key, vector_id, message_key, vector_type, content,"
        " created_at) SELECT %s, session, number, number, '#' || number, 'message', 'message ' || number, now()"
        f" FROM plain_{label}",
        [label],
    )
    connection.execute(
        "INSERT INTO chat_vectors (collection, model, session_id, key, embedding)"
        f" SELECT %s, 'm', session, number, embedding FROM plain_{label}",
        [label],
    )
    connection.execute(
        "INSERT INTO chat_sessions SELECT DISTINCT %s, session, session, 'user', now(), '{}'::jsonb"
        f" FROM plain_{label}",
        [label],
    )
    connection.execute(
        "INSERT INTO chat_messages SELECT %s, session, '#' || number, number, null, 'user', 'x', now(), '{}'::jsonb"
        f" FROM plain_{label}",
        [label],
    )


def index(connection: psycopg.Connection, label: str) -> None:
    """Make the index of a plain table, the same as ours."""
    connection.execute("SET statement_timeout = 0")
    connection.execute(
        f"CREATE INDEX ON plain_{label} USING hnsw ((embedding::halfvec({DIMENSIONS})) halfvec_cosine_ops)"
        f" WITH (m = {NEIGHBOURS}, ef_construction = {BREADTH})"
    )
    connection.execute(f"CREATE INDEX ON plain_{label} (session)")


def measured(messages: PostgresMessages, connection: psycopg.Connection, loaded: Loaded) -> harness.Figures:
    """Take every figure of one size once."""
    connection.execute(f"SET hnsw.ef_search = {EF_SEARCH}")
    figures, whole = compared(messages, connection, loaded, None)
    filtered: dict[str, list[set[int]]] = {}
    for name in FILTERS:
        taken, filtered[name] = compared(messages, connection, loaded, name)
        figures |= taken
    return figures | (beside(loaded, whole, filtered) if harness.is_installed(PEER) else {})


def beside(loaded: Loaded, found: list[set[int]], filtered: Mapping[str, list[set[int]]]) -> harness.Figures:
    """Measure FAISS flat, and the recall of what ours found, whole and under each filter, against it."""
    import faiss

    label = loaded.label
    whole = flat(loaded.vectors)
    figures = {f"recall_at_10_{label}": recall(found, found_by(whole, loaded.queries))}
    for name, ours in filtered.items():
        places = np.flatnonzero(loaded.sessions == name)
        near = [places[rows] for rows in found_by(flat(loaded.vectors[places]), loaded.queries)]
        figures[f"filtered_{name}_recall_{label}"] = recall(ours, near)
    faiss.omp_set_num_threads(1)
    taken = [milliseconds(functools.partial(whole.search, query[None], MOST)) for query in loaded.queries]
    return figures | {f"faiss_flat_p50_ms_{label}": statistics.median(taken)}


def compared(
    messages: PostgresMessages, connection: psycopg.Connection, loaded: Loaded, session: str | None
) -> tuple[harness.Figures, list[set[int]]]:
    """Ask every query both ways, one after the other; return the times, and what ours found."""
    where = MessageFilter(loaded.label, ("message",), session)
    statement = plain(loaded.label, session)
    times: dict[str, list[float]] = {"ours": [], "sql": [], "sql_binary": []}
    found: list[set[int]] = []

    def ours(query: Matrix) -> None:
        near = messages.nearest(where, query, model="m", limit=MOST, floor=0.5)
        found.append({int(row.vector_id) for row in near.rows})

    def sql(query: Matrix) -> None:
        connection.execute(statement, {"vector": literal(query), "session": session}).fetchall()

    def sql_binary(query: Matrix) -> None:
        connection.execute(statement, {"vector": query, "session": session}).fetchall()

    for query in loaded.queries[:10]:
        ours(query)
        sql(query)
        sql_binary(query)
    found.clear()
    for plainly, taken in ((sql, times["sql"]), (sql_binary, times["sql_binary"])):
        found.clear()
        for query in loaded.queries:
            times["ours"].append(milliseconds(functools.partial(ours, query)))
            taken.append(milliseconds(functools.partial(plainly, query)))
    return figures_of(times, f"filtered_{session}_" if session else "", loaded.label), found


def figures_of(times: Mapping[str, Sequence[float]], prefix: str, label: str) -> harness.Figures:
    """Turn times into figures."""
    p50 = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        f"{prefix}p50_ms_{label}": p50["ours"],
        f"{prefix}p99_ms_{label}": statistics.quantiles(times["ours"], n=100)[98],
        f"{prefix}sql_p50_ms_{label}": p50["sql"],
        f"{prefix}ratio_to_sql_{label}": p50["ours"] / p50["sql"],
        f"{prefix}ratio_to_binary_sql_{label}": p50["ours"] / p50["sql_binary"],
    }


def plain(label: str, session: str | None) -> str:
    """Write the plain statement."""
    half = f"embedding::halfvec({DIMENSIONS}) <=> %(vector)s::halfvec({DIMENSIONS})"
    if session is None:
        return (
            f"SELECT number, session, 1 - (embedding <=> %(vector)s::vector) FROM plain_{label}"
            f" ORDER BY {half} LIMIT {MOST}"
        )
    return (
        "SELECT number, session, 1 - distance"
        " FROM (SELECT number, session, embedding <=> %(vector)s::vector AS distance"
        f" FROM plain_{label} WHERE session = %(session)s OFFSET 0) AS filtered ORDER BY distance LIMIT {MOST}"
    )


def flat(vectors: Matrix) -> "faiss.IndexFlatIP":
    """Build the exact index of unit vectors, whose inner product is their cosine."""
    import faiss

    made = faiss.IndexFlatIP(DIMENSIONS)
    made.add(np.ascontiguousarray(vectors))
    return made


def found_by(made: "faiss.IndexFlatIP", queries: Matrix) -> npt.NDArray[np.int64]:
    """Find the true nearest of every query."""
    _, rows = made.search(queries, MOST)
    return np.asarray(rows)


def recall(found: Sequence[set[int]], truth: Iterable[npt.NDArray[np.int64]]) -> float:
    """Average the share of the true nearest that were found."""
    return statistics.fmean(
        len(rows.intersection(near.tolist())) / MOST for rows, near in zip(found, truth, strict=True)
    )


def milliseconds(run: Callable[[], object]) -> float:
    """Time one call."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
