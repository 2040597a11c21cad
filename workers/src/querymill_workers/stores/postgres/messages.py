"""Searching messages in PostgreSQL. Every statement names its collection and runs as a role that sees no other.

Two walls: the predicates here, and row-level security (``0004_messages.sql``), which binds a plain role only: each
transaction becomes that role before its first statement, whoever connected.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import psycopg
from cachetools import TTLCache
from psycopg.rows import TupleRow

from querymill_workers.domain.sessions import MessageFilter, MessageRow
from querymill_workers.ports import Nearest
from querymill_workers.stores.postgres.connection import Pool, lent, literal
from querymill_workers.stores.postgres.queries import named

#: A filter that leaves at most this many rows is searched exactly: some milliseconds, and no row is missed.
EXACT_ROWS: Final = 10_000
#: How long a filter that left more is taken to do so still, in seconds. Where it does not, exact search takes over.
LARGE_FOR_S: Final = 60.0
#: Rows without a vector are counted up to here.
MOST_SKIPPED: Final = 10_000
#: Rows that the index finds for each that is asked for, at least ``LEAST_CANDIDATES``; measured on unclustered data
#: a wider search finds more.
CANDIDATES_PER_ROW: Final = 2
LEAST_CANDIDATES: Final = 20
EF_SEARCH: Final = 100

_COLUMNS: Final = (
    "v.vector_id, v.message_key, v.message_id, v.session_id, v.content, v.vector_type, v.created_at,"
    " s.name, s.user_name, m.role"
)
_JOINS: Final = (
    "LEFT JOIN chat_sessions AS s ON s.collection = %(collection)s AND s.session_id = v.session_id"
    " LEFT JOIN chat_messages AS m ON m.collection = %(collection)s AND m.session_id = v.session_id"
    " AND m.message_key = v.message_key"
)


class PostgresMessages:
    """`Messages` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._large: TTLCache[tuple[MessageFilter, str], bool] = TTLCache(4_096, LARGE_FOR_S)
        self._lock = threading.Lock()

    def nearest(
        self, where: MessageFilter, vector: npt.NDArray[np.float32], *, model: str, most: int, floor: float
    ) -> Nearest:
        """See `Messages.nearest`."""
        values = _values(where) | {"model": model, "vector": literal(vector), "most": most, "floor": floor}
        with self._lock:
            large = (where, model) in self._large
        with self._within(where.collection) as connection:
            if not large:
                found, examined = _nearest(connection, "nearest_exact", where, values | {"bound": EXACT_ROWS + 1})
                if examined <= EXACT_ROWS:
                    return found
                with self._lock:
                    self._large[where, model] = True
            found, _ = _by_index(connection, where, values, dimensions=len(vector))
            if len(found.rows) == most:
                return found
            return _nearest(connection, "nearest_exact", where, values | {"bound": None})[0]

    def without_vector(self, where: MessageFilter, *, model: str) -> int:
        """See `Messages.without_vector`."""
        values = _values(where) | {"model": model, "bound": MOST_SKIPPED}
        with self._within(where.collection) as connection:
            row = connection.execute(_statement("without_vector", where), values).fetchone()
        return min(row[0], MOST_SKIPPED) if row else 0

    def containing(self, where: MessageFilter, text: str, *, most: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        values = _values(where) | {"pattern": f"%{escaped(text)}%", "most": most}
        with self._within(where.collection) as connection:
            rows = connection.execute(_statement("containing", where), values).fetchall()
        return [MessageRow(*row) for _, *row in rows], rows[0][0] if rows else 0

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: npt.NDArray[np.float32] | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """See `Messages.rows`."""
        given = None if vector is None else literal(vector)
        values = _values(where) | {"vector_ids": list(vector_ids), "vector": given, "model": model}
        with self._within(where.collection) as connection:
            rows = connection.execute(_statement("message_rows", where), values).fetchall()
        if vector is None:
            return {row[0]: MessageRow(*row[:-1]) for row in rows}
        return {row[0]: MessageRow(*row) for row in rows}

    def lacking_sessions(self, where: MessageFilter, *, most: int) -> Sequence[str]:
        """See `Messages.lacking_sessions`."""
        values = _values(where) | {"most": most}
        with self._within(where.collection) as connection:
            return [id_ for (id_,) in connection.execute(_statement("lacking_sessions_of", where), values)]

    @contextmanager
    def _within(self, collection: str) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection that sees one collection, for one transaction.

        Statements travel together up to the first whose rows are read: a search waits for the server once.
        """
        with lent(self._pool) as connection, connection.pipeline():
            connection.execute(named()["as_reader"], {"collection": collection})
            yield connection


def escaped(text: str) -> str:
    """Write a text so that a pattern finds it as it stands."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def predicates(where: MessageFilter) -> str:
    """Write a predicate for what was given, and for nothing else."""
    session = "AND v.session_id = %(session_id)s"
    excluded = (
        "AND (v.message_id IS NULL OR v.message_id <> %(exclude_message_id)s)"
        " AND (v.around IS NULL OR %(exclude_message_id)s <> ALL(v.around))"
    )
    lacking = "AND v.model = %(lacking)s AND v.embedding IS NULL"
    given = (where.session_id, session), (where.exclude_message_id, excluded), (where.lacking, lacking)
    return " ".join(predicate for value, predicate in given if value is not None)


def _statement(name: str, where: MessageFilter, *, dimensions: int = 0) -> Any:
    parts = {"filters": predicates(where), "columns": _COLUMNS, "joins": _JOINS, "dimensions": str(dimensions)}
    text: str = named()[name]
    for part, written in parts.items():
        text = text.replace(f"{{{part}}}", written)
    return text


def _values(where: MessageFilter) -> dict[str, Any]:
    return {
        "collection": where.collection,
        "vector_types": list(where.vector_types),
        "session_id": where.session_id,
        "exclude_message_id": where.exclude_message_id,
        "lacking": where.lacking,
    }


def _nearest(
    connection: psycopg.Connection[TupleRow],
    name: str,
    where: MessageFilter,
    values: Mapping[str, Any],
    *,
    dimensions: int = 0,
) -> tuple[Nearest, int]:
    """Run one of the two ways to search; how many rows it examined stands beside what it found."""
    rows = connection.execute(_statement(name, where, dimensions=dimensions), values).fetchall()
    examined, passed = rows[0][:2] if rows else (0, 0)
    found = [MessageRow(*row) for _, _, *row in rows if row[0] is not None]
    return Nearest(found, passed, exact=name == "nearest_exact"), examined


def _by_index(
    connection: psycopg.Connection[TupleRow], where: MessageFilter, values: Mapping[str, Any], *, dimensions: int
) -> tuple[Nearest, int]:
    candidates = max(LEAST_CANDIDATES, CANDIDATES_PER_ROW * int(values["most"]))
    connection.execute(named()["by_index"], {"ef_search": str(min(max(EF_SEARCH, candidates), 1_000))})
    return _nearest(
        connection, "nearest_approximate", where, {**values, "candidates": candidates}, dimensions=dimensions
    )
