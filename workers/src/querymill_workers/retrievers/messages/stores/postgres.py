"""Search messages in PostgreSQL. Every statement names its collection and runs as a role that sees no other.

Two walls keep collections apart: the predicates of the statements, and row-level security.
Row-level security only binds unprivileged roles, so each transaction takes on such a role before its first statement.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from cachetools import TTLCache
from psycopg import sql
from psycopg.rows import TupleRow
from typing_extensions import override

from querymill_workers.postgres.connection import Pool
from querymill_workers.postgres.filters import Column, Predicate, predicate
from querymill_workers.postgres.metadata_index import MetadataTables
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.postgres.reading import fetch_all, snapshot
from querymill_workers.postgres.vector_index import LARGE_ROWS, VectorIndexes
from querymill_workers.retrievers.messages.ports import Messages, Nearest
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, MessageSpan
from querymill_workers.vectors.postgres import VectorTables

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres.sql")

VECTORS: Final = VectorTables("chat_passages", "chat_vectors", document="session_id", texts=("content",))

#: A filter that leaves at most this many rows is searched exactly, in some milliseconds and without missing a row.
EXACT_ROWS: Final = LARGE_ROWS
#: For how long a filter that left more rows is searched by index at once, in seconds. If the
#: index finds too few rows, the search is exact.
LARGE_FOR_S: Final = 60.0
#: Rows without a vector are counted up to this number.
MAX_SKIPPED: Final = 10_000
#: Rows that are considered for each message of the limit, at least ``MIN_CANDIDATES``. A message may have several: its
#: context, and passages of either.
CANDIDATES_PER_ROW: Final = 2
MIN_CANDIDATES: Final = 20
#: If they are rows of too few messages, so many times as many are considered.
MORE: Final = 8
#: The widest search of an index, which pgvector limits.
MAX_BREADTH: Final = 1_000

#: Where the reserved fields of a filter are stored.
_FIELDS: Final = {
    "user_name": Column(sql.SQL("p.user_name")),
    "role": Column(sql.SQL("p.role")),
    "session_id": Column(sql.SQL("p.session_id")),
    "time": Column(sql.SQL("p.created_at"), "time"),
}
#: The metadata of a passage is that of its session and that of its message.
_NOTED: Final = MetadataTables(sql.SQL("p.session_id"), "messages", "chat_messages", "session_id")
_WHOLE: Final = sql.SQL(
    "CASE WHEN p.text_id IS NULL THEN p.content ELSE ("
    "SELECT string_agg(part.content, '' ORDER BY part.number) FROM chat_passages AS part"
    " WHERE part.collection = %(collection)s AND part.text_id = p.text_id) END"
)
_COLUMNS: Final = sql.SQL(
    "coalesce(p.text_id, p.vector_id), p.message_key, p.message_id, p.session_id, {}, p.vector_type, p.created_at,"
    " s.name, s.user_name, m.role, p.metadata, m.number"
).format(_WHOLE)
_PASSAGE: Final = sql.SQL(
    "CASE WHEN p.text_id IS NOT NULL THEN ARRAY[p.start, p.start + length(p.content), p.number, p.passages] END"
)
#: The columns of a row that is ranked but not shown, in the same places. They need no join.
_BRIEF_COLUMNS: Final = sql.SQL(
    "coalesce(p.text_id, p.vector_id), p.message_key, p.message_id, p.session_id, '', p.vector_type, p.created_at,"
    " NULL, NULL, NULL, '{{}}'::jsonb, NULL::integer"
).format()
_NO_PASSAGE: Final = sql.SQL("NULL::integer[]")
_JOINS: Final = sql.SQL(
    "LEFT JOIN chat_sessions AS s ON s.collection = %(collection)s AND s.session_id = p.session_id"
    " LEFT JOIN chat_messages AS m ON m.collection = %(collection)s AND m.session_id = p.session_id"
    " AND m.message_key = p.message_key"
)


#: The rows without a vector of a model: those that wait, those refused, and those that only other models have.
_LACKING: Final = sql.SQL(
    "AND (p.session_id, p.key) IN ("
    "SELECT session_id, key FROM chat_passages WHERE collection = %(collection)s AND waiting"
    " UNION ALL SELECT session_id, key FROM chat_vectors"
    " WHERE collection = %(collection)s AND model = %(lacking)s AND embedding IS NULL"
    " UNION ALL SELECT v.session_id, v.key FROM chat_vectors AS v WHERE v.collection = %(collection)s"
    " AND (v.model < %(lacking)s OR v.model > %(lacking)s) AND NOT EXISTS (SELECT FROM chat_vectors AS own"
    " WHERE own.collection = %(collection)s AND own.model = %(lacking)s AND own.session_id = v.session_id"
    " AND own.key = v.key))"
)


class PostgresMessages(Messages):
    """`Messages` in PostgreSQL with pgvector. ``ef_search`` is the least breadth of an index search."""

    def __init__(self, pool: Pool, near: VectorIndexes, *, ef_search: int) -> None:
        self._pool = pool
        self._ef_search = ef_search
        self._near = near
        self._large: TTLCache[tuple[MessageFilter, str], bool] = TTLCache(4_096, LARGE_FOR_S)
        self._lock = threading.Lock()

    @contextmanager
    @override
    def snapshot(self) -> Iterator[None]:
        with snapshot(self._pool):
            yield

    @override
    def nearest(
        self,
        where: MessageFilter,
        vector: npt.NDArray[np.float32],
        *,
        model: str,
        limit: int,
        floor: float,
        brief: bool = False,
    ) -> Nearest:
        values = {"model": model, "vector": vector, "limit": limit, "floor": floor, "brief": brief}
        with self._lock:
            large = (where, model) in self._large
        if not large:
            found, examined = self._exact(where, values, bound=EXACT_ROWS + 1)
            if examined <= EXACT_ROWS:
                return found
            with self._lock:
                self._large[where, model] = True
        if self._near.exists(where.collection, model):
            found = self._by_index(where, values)
            if len(found.rows) == limit:
                return found
        return self._exact(where, values, bound=None)[0]

    def _exact(self, where: MessageFilter, values: Mapping[str, Any], *, bound: int | None) -> tuple[Nearest, int]:
        """Compare the first ``bound`` rows of a filter, and return with the nearest how many rows were compared."""
        candidates = _candidates(int(values["limit"]))
        while True:
            skipped, rows = self._read(
                where,
                ("without_vector", {**values, "bound": MAX_SKIPPED}),
                ("nearest_exact", {**values, "bound": bound, "candidates": candidates}),
            )
            found, examined = _nearest(rows, skipped, exact=True), rows[0][0]
            if (
                len(found.rows) == values["limit"]
                or candidates >= examined
                or (bound is not None and examined >= bound)
            ):
                return found, examined
            candidates *= MORE

    def _by_index(self, where: MessageFilter, values: Mapping[str, Any]) -> Nearest:
        """Search by index, wider if too few messages are found."""
        candidates = _candidates(int(values["limit"]))
        while True:
            breadth = min(max(self._ef_search, candidates), MAX_BREADTH)
            lacking = _asked("without_vector", where, {**values, "bound": MAX_SKIPPED})
            near = _asked("nearest_approximate", where, {**values, "candidates": candidates})
            as_reader = (_SQL["as_reader_by_index"], {"collection": where.collection, "ef_search": str(breadth)})
            _, skipped, rows = fetch_all(self._pool, as_reader, lacking, near)
            found = _nearest(rows, skipped, exact=False)
            if len(found.rows) == values["limit"] or not rows or rows[0][0] < candidates or candidates >= MAX_BREADTH:
                return found
            candidates *= MORE

    @override
    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        (rows,) = self._read(where, ("containing", {"pattern": f"%{escaped(text)}%", "limit": limit}))
        return [_row(row) for _, *row in rows], rows[0][0] if rows else 0

    @override
    def rows(
        self,
        where: MessageFilter,
        vector_ids: Sequence[str],
        vector: npt.NDArray[np.float32] | None,
        *,
        model: str,
        brief: bool = False,
    ) -> Mapping[str, MessageRow]:
        values = {"vector_ids": list(vector_ids), "vector": vector, "model": model, "brief": brief}
        (rows,) = self._read(where, ("message_rows", values))
        return {row[0]: _row(row) for row in rows}

    @override
    def sessions_of(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        (rows,) = self._read(where, ("sessions_of", {"limit": limit}))
        return [id_ for (id_,) in rows]

    def _read(self, where: MessageFilter, *asked: tuple[str, Mapping[str, Any]]) -> list[list[TupleRow]]:
        """Run statements as the role that sees one collection, and return the rows of each."""
        as_reader = (SESSION["as_reader"], {"collection": where.collection})
        _, *rows = fetch_all(self._pool, as_reader, *(_asked(name, where, values) for name, values in asked))
        return rows


def escaped(text: str) -> str:
    """Escape a text so that a LIKE pattern matches it literally."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def predicates(where: MessageFilter, noted: MetadataTables | None = _NOTED) -> sql.Composed:
    """Write a predicate for each filter that is set, and for no other."""
    session = sql.SQL("AND p.session_id = %(session_id)s")
    excluded = sql.SQL(
        "AND ({}((p.message_id IS NULL OR p.message_id <> %(exclude_message_id)s)"
        " AND (p.around IS NULL OR %(exclude_message_id)s <> ALL(p.around))))"
    ).format(sql.SQL("" if where.exclude_session_id is None else "p.session_id <> %(exclude_session_id)s OR "))
    conditions = sql.SQL("AND {}").format(_conditions(where, noted).text)
    given = (
        (where.session_id, session),
        (where.exclude_message_id, excluded),
        (where.lacking, _LACKING),
        (where.conditions or None, conditions),
    )
    return sql.SQL(" ").join(part for value, part in given if value is not None)


def _conditions(where: MessageFilter, noted: MetadataTables | None) -> Predicate:
    return predicate(where.conditions, _FIELDS, metadata=sql.SQL("p.metadata"), noted=noted)


def _statement(
    name: str, where: MessageFilter, *, model: str | None = None, dimensions: int = 0, brief: bool = False
) -> sql.Composed:
    """Write a statement. That which uses the index of a collection and model has literals, as the index has."""
    # The vector index is walked in its order, whatever else an index could find.
    noted = None if name == "nearest_approximate" else _NOTED
    return sql.SQL(_SQL[name]).format(
        filters=predicates(where, noted),
        columns=_BRIEF_COLUMNS if brief else _COLUMNS,
        joins=sql.SQL("") if brief else _JOINS,
        passage=_NO_PASSAGE if brief else _PASSAGE,
        collection=sql.Literal(where.collection),
        model=sql.Literal(model),
        dimensions=sql.Literal(dimensions),
    )


def _asked(name: str, where: MessageFilter, values: Mapping[str, Any]) -> tuple[sql.Composed, dict[str, Any]]:
    """Write a statement with its values."""
    vector = values.get("vector")
    dimensions = 0 if vector is None else len(vector)
    brief = bool(values.get("brief"))
    statement = _statement(name, where, model=values.get("model"), dimensions=dimensions, brief=brief)
    return statement, _values(where) | dict(values)


def _values(where: MessageFilter) -> dict[str, Any]:
    return {
        "collection": where.collection,
        "vector_types": list(where.vector_types),
        "session_id": where.session_id,
        "exclude_message_id": where.exclude_message_id,
        "exclude_session_id": where.exclude_session_id,
        "lacking": where.lacking,
    } | dict(_conditions(where, _NOTED).values)


def _candidates(limit: int) -> int:
    return max(MIN_CANDIDATES, CANDIDATES_PER_ROW * limit)


def _nearest(rows: Sequence[TupleRow], skipped: Sequence[TupleRow], *, exact: bool) -> Nearest:
    """Read the rows of an exact or an index search. Each begins with the counts of examined and of passed rows."""
    found = [_row(row) for _, _, *row in rows if row[0] is not None]
    lacking, pending = (min(count, MAX_SKIPPED) for count in skipped[0])
    return Nearest(found, rows[0][1] if rows else 0, exact=exact, skipped=lacking, pending=pending)


def _row(row: Sequence[Any]) -> MessageRow:
    """Read a row: its columns, and after them its cosine and its passage, if they are given."""
    columns, metadata, number = row[:10], row[10], row[11]
    raw, cut = row[12:] if len(row) > len(columns) + 2 else (None, None)
    passage = None if cut is None or raw is None else MessageSpan(*cut)
    return MessageRow(*columns, raw, passage, metadata, number)  # type: ignore[call-arg]  # ten columns
