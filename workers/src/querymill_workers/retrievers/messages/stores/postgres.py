"""Search messages in PostgreSQL. Every statement names its collection and runs as a role that sees no other.

Two walls keep collections apart: the predicates of the statements, and row-level security (``0004_messages.sql``).
Row-level security only binds unprivileged roles, so each transaction takes on such a role before its first statement.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from cachetools import TTLCache
from psycopg import sql
from psycopg.rows import TupleRow

from querymill_workers.postgres.connection import Pool, fetch_all
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.retrievers.messages.ports import Nearest
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres.sql")

#: A filter that leaves at most this many rows is searched exactly, in some milliseconds and without missing a row.
EXACT_ROWS: Final = 10_000
#: For how long a filter that left more rows is searched by index at once, in seconds. If the index finds too few rows,
#: the search is exact.
LARGE_FOR_S: Final = 60.0
#: Rows without a vector are counted up to this number.
MAX_SKIPPED: Final = 10_000
#: Rows that the index is asked for per row of the limit, at least ``MIN_CANDIDATES``.
CANDIDATES_PER_ROW: Final = 2
MIN_CANDIDATES: Final = 20

_COLUMNS: Final = sql.SQL(
    "v.vector_id, v.message_key, v.message_id, v.session_id, v.content, v.vector_type, v.created_at,"
    " s.name, s.user_name, m.role"
)
_JOINS: Final = sql.SQL(
    "LEFT JOIN chat_sessions AS s ON s.collection = %(collection)s AND s.session_id = v.session_id"
    " LEFT JOIN chat_messages AS m ON m.collection = %(collection)s AND m.session_id = v.session_id"
    " AND m.message_key = v.message_key"
)


class PostgresMessages:
    """`Messages` in PostgreSQL with pgvector. ``ef_search`` is the least breadth of an index search."""

    def __init__(self, pool: Pool, *, ef_search: int) -> None:
        self._pool = pool
        self._ef_search = ef_search
        self._large: TTLCache[tuple[MessageFilter, str], bool] = TTLCache(4_096, LARGE_FOR_S)
        self._lock = threading.Lock()

    def nearest(
        self, where: MessageFilter, vector: npt.NDArray[np.float32], *, model: str, limit: int, floor: float
    ) -> Nearest:
        """See `Messages.nearest`."""
        values = _values(where) | {"model": model, "vector": vector, "limit": limit, "floor": floor}
        with self._lock:
            large = (where, model) in self._large
        if not large:
            found, examined = self._exact(where, values, bound=EXACT_ROWS + 1)
            if examined <= EXACT_ROWS:
                return found
            with self._lock:
                self._large[where, model] = True
        found = self._by_index(where, values, dimensions=len(vector))
        return found if len(found.rows) == limit else self._exact(where, values, bound=None)[0]

    def _exact(self, where: MessageFilter, values: Mapping[str, Any], *, bound: int | None) -> tuple[Nearest, int]:
        """Compare the first ``bound`` rows of a filter, and return with the nearest how many rows were compared."""
        skipped, rows = self._read(
            where.collection,
            (_statement("without_vector", where), {**values, "bound": MAX_SKIPPED}),
            (_statement("nearest_exact", where), {**values, "bound": bound}),
        )
        return _nearest(rows, skipped, exact=True), rows[0][0]

    def _by_index(self, where: MessageFilter, values: Mapping[str, Any], *, dimensions: int) -> Nearest:
        candidates = max(MIN_CANDIDATES, CANDIDATES_PER_ROW * int(values["limit"]))
        ef_search = str(min(max(self._ef_search, candidates), 1_000))
        _, skipped, rows = fetch_all(
            self._pool,
            (_SQL["as_reader_by_index"], {"collection": where.collection, "ef_search": ef_search}),
            (_statement("without_vector", where), {**values, "bound": MAX_SKIPPED}),
            (_statement("nearest_approximate", where, dimensions=dimensions), {**values, "candidates": candidates}),
        )
        return _nearest(rows, skipped, exact=False)

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        values = _values(where) | {"pattern": f"%{escaped(text)}%", "limit": limit}
        (rows,) = self._read(where.collection, (_statement("containing", where), values))
        return [MessageRow(*row) for _, *row in rows], rows[0][0] if rows else 0

    def rows(
        self, where: MessageFilter, vector_ids: Sequence[str], vector: npt.NDArray[np.float32] | None, *, model: str
    ) -> Mapping[str, MessageRow]:
        """See `Messages.rows`."""
        values = _values(where) | {"vector_ids": list(vector_ids), "vector": vector, "model": model}
        (rows,) = self._read(where.collection, (_statement("message_rows", where), values))
        if vector is None:
            return {row[0]: MessageRow(*row[:-1]) for row in rows}
        return {row[0]: MessageRow(*row) for row in rows}

    def lacking_sessions(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """See `Messages.lacking_sessions`."""
        values = _values(where) | {"limit": limit}
        (rows,) = self._read(where.collection, (_statement("lacking_sessions_of", where), values))
        return [id_ for (id_,) in rows]

    def _read(self, collection: str, *asked: tuple[Any, Mapping[str, Any]]) -> list[list[TupleRow]]:
        """Run statements as the role that sees one collection, and return the rows of each."""
        _, *rows = fetch_all(self._pool, (SESSION["as_reader"], {"collection": collection}), *asked)
        return rows


def escaped(text: str) -> str:
    """Escape a text so that a LIKE pattern matches it literally."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def predicates(where: MessageFilter) -> sql.Composed:
    """Write a predicate for each filter that is set, and for no other."""
    session = sql.SQL("AND v.session_id = %(session_id)s")
    excluded = sql.SQL(
        "AND (v.message_id IS NULL OR v.message_id <> %(exclude_message_id)s)"
        " AND (v.around IS NULL OR %(exclude_message_id)s <> ALL(v.around))"
    )
    lacking = sql.SQL("AND v.model = %(lacking)s AND v.embedding IS NULL")
    given = (where.session_id, session), (where.exclude_message_id, excluded), (where.lacking, lacking)
    return sql.SQL(" ").join(predicate for value, predicate in given if value is not None)


def _statement(name: str, where: MessageFilter, *, dimensions: int = 0) -> sql.Composed:
    return sql.SQL(_SQL[name]).format(
        filters=predicates(where), columns=_COLUMNS, joins=_JOINS, dimensions=sql.Literal(dimensions)
    )


def _values(where: MessageFilter) -> dict[str, Any]:
    return {
        "collection": where.collection,
        "vector_types": list(where.vector_types),
        "session_id": where.session_id,
        "exclude_message_id": where.exclude_message_id,
        "lacking": where.lacking,
    }


def _nearest(rows: Sequence[TupleRow], skipped: Sequence[TupleRow], *, exact: bool) -> Nearest:
    """Read the rows of an exact or an index search. Each begins with the counts of examined and of passed rows."""
    found = [MessageRow(*row) for _, _, *row in rows if row[0] is not None]
    return Nearest(found, rows[0][1] if rows else 0, exact=exact, skipped=min(skipped[0][0], MAX_SKIPPED))
