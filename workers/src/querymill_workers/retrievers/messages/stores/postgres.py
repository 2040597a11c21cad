"""Search messages in PostgreSQL. Every statement names its collection and runs as a role that sees no other.

Two walls keep collections apart: the predicates of the statements, and row-level security (``0004_messages.sql``).
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

from querymill_workers.postgres.connection import Pool
from querymill_workers.postgres.filters import Column, Predicate, predicate
from querymill_workers.postgres.lookups import Noted, Spelled
from querymill_workers.postgres.near import LARGE_ROWS, NearIndexes
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.postgres.reading import fetch_all, snapshot
from querymill_workers.retrievers.messages.ports import Nearest
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, Passage

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres.sql")

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
    "user_name": Column(sql.SQL("v.user_name")),
    "role": Column(sql.SQL("v.role")),
    "session_id": Column(
        sql.SQL("v.session_id"),
        spelled=Spelled(
            sql.SQL("SELECT o.session_id FROM chat_sessions AS o WHERE o.collection = %(collection)s AND {}"),
            text=sql.SQL("o.session_id"),
            absent=sql.SQL("FALSE"),
        ),
    ),
    "time": Column(sql.SQL("v.created_at"), "time"),
}
#: The metadata of a passage is that of its session and that of its message.
_NOTED: Final = Noted(sql.SQL("v.session_id"), ["chat_sessions", "chat_messages"], "session_id")
_WHOLE: Final = sql.SQL(
    "CASE WHEN v.text_id IS NULL THEN v.content ELSE ("
    "SELECT string_agg(part.content, '' ORDER BY part.number) FROM chat_message_vectors AS part"
    " WHERE part.collection = %(collection)s AND part.text_id = v.text_id AND part.model = v.model) END"
)
_COLUMNS: Final = sql.SQL(
    "coalesce(v.text_id, v.vector_id), v.message_key, v.message_id, v.session_id, {}, v.vector_type, v.created_at,"
    " s.name, s.user_name, m.role, v.metadata, m.number"
).format(_WHOLE)
_PASSAGE: Final = sql.SQL(
    "CASE WHEN v.text_id IS NOT NULL THEN ARRAY[v.start, v.start + length(v.content), v.number, v.passages] END"
)
#: The columns of a row that is ranked but not shown, in the same places. They need no join.
_BRIEF_COLUMNS: Final = sql.SQL(
    "coalesce(v.text_id, v.vector_id), v.message_key, v.message_id, v.session_id, '', v.vector_type, v.created_at,"
    " NULL, NULL, NULL, '{{}}'::jsonb, NULL::integer"
).format()
_NO_PASSAGE: Final = sql.SQL("NULL::integer[]")
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
        self._near = NearIndexes(pool, "chat_message_vectors")
        self._large: TTLCache[tuple[MessageFilter, str], bool] = TTLCache(4_096, LARGE_FOR_S)
        self._lock = threading.Lock()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `Messages.snapshot`."""
        with snapshot(self._pool):
            yield

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
        """See `Messages.nearest`."""
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

    def containing(self, where: MessageFilter, text: str, *, limit: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        (rows,) = self._read(where, ("containing", {"pattern": f"%{escaped(text)}%", "limit": limit}))
        return [_row(row) for _, *row in rows], rows[0][0] if rows else 0

    def rows(
        self,
        where: MessageFilter,
        vector_ids: Sequence[str],
        vector: npt.NDArray[np.float32] | None,
        *,
        model: str,
        brief: bool = False,
    ) -> Mapping[str, MessageRow]:
        """See `Messages.rows`."""
        values = {"vector_ids": list(vector_ids), "vector": vector, "model": model, "brief": brief}
        (rows,) = self._read(where, ("message_rows", values))
        return {row[0]: _row(row) for row in rows}

    def sessions_of(self, where: MessageFilter, *, limit: int) -> Sequence[str]:
        """See `Messages.sessions_of`."""
        (rows,) = self._read(where, ("sessions_of", {"limit": limit}))
        return [id_ for (id_,) in rows]

    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:
        """See `Messages.index_if_large`."""
        return self._near.make(collection, model, dimensions=dimensions)

    def drop_index(self, collection: str, *, model: str) -> None:
        """See `Messages.drop_index`."""
        self._near.drop(collection, model)

    def _read(self, where: MessageFilter, *asked: tuple[str, Mapping[str, Any]]) -> list[list[TupleRow]]:
        """Run statements as the role that sees one collection, and return the rows of each."""
        as_reader = (SESSION["as_reader"], {"collection": where.collection})
        _, *rows = fetch_all(self._pool, as_reader, *(_asked(name, where, values) for name, values in asked))
        return rows


def escaped(text: str) -> str:
    """Escape a text so that a LIKE pattern matches it literally."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def predicates(where: MessageFilter, noted: Noted | None = _NOTED) -> sql.Composed:
    """Write a predicate for each filter that is set, and for no other."""
    session = sql.SQL("AND v.session_id = %(session_id)s")
    excluded = sql.SQL(
        "AND ({}((v.message_id IS NULL OR v.message_id <> %(exclude_message_id)s)"
        " AND (v.around IS NULL OR %(exclude_message_id)s <> ALL(v.around))))"
    ).format(sql.SQL("" if where.exclude_session_id is None else "v.session_id <> %(exclude_session_id)s OR "))
    lacking = sql.SQL("AND v.model = %(lacking)s AND v.embedding IS NULL")
    conditions = sql.SQL("AND {}").format(_conditions(where, noted).text)
    given = (
        (where.session_id, session),
        (where.exclude_message_id, excluded),
        (where.lacking, lacking),
        (where.conditions or None, conditions),
    )
    return sql.SQL(" ").join(part for value, part in given if value is not None)


def _conditions(where: MessageFilter, noted: Noted | None) -> Predicate:
    return predicate(where.conditions, _FIELDS, metadata=sql.SQL("v.metadata"), noted=noted)


def _statement(
    name: str, where: MessageFilter, *, model: str | None = None, dimensions: int = 0, brief: bool = False
) -> sql.Composed:
    """Write a statement. That which uses the index of a collection and model has literals, as the index has."""
    # The index of near vectors is walked in its order, whatever else an index could find.
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
    passage = None if cut is None or raw is None else Passage(*cut)
    return MessageRow(*columns, raw, passage, metadata, number)  # type: ignore[call-arg]  # ten columns
