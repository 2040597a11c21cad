"""Messages in PostgreSQL. Every statement names its collection and runs as a role that sees no other.

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
from psycopg.types.json import Jsonb

from querymill_workers.domain.sessions import MessageFilter, MessagePassage, MessageRow, PendingPassage
from querymill_workers.ports import Nearest, Revision, SessionDraft, Vectors
from querymill_workers.stores.postgres.connection import Pool, fetched, lent, literal
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
        values = _values(where) | {"model": model, "vector": vector, "most": most, "floor": floor}
        with self._lock:
            large = (where, model) in self._large
        if not large:
            found, examined = self._exact(where, values, bound=EXACT_ROWS + 1)
            if examined <= EXACT_ROWS:
                return found
            with self._lock:
                self._large[where, model] = True
        found = self._by_index(where, values, dimensions=len(vector))
        return found if len(found.rows) == most else self._exact(where, values, bound=None)[0]

    def _exact(self, where: MessageFilter, values: Mapping[str, Any], *, bound: int | None) -> tuple[Nearest, int]:
        """Compare the first rows of a filter; how many these were stands beside what was found."""
        skipped, rows = self._read(
            where.collection,
            (_statement("without_vector", where), {**values, "bound": MOST_SKIPPED}),
            (_statement("nearest_exact", where), {**values, "bound": bound}),
        )
        return _nearest(rows, skipped, exact=True), rows[0][0]

    def _by_index(self, where: MessageFilter, values: Mapping[str, Any], *, dimensions: int) -> Nearest:
        candidates = max(LEAST_CANDIDATES, CANDIDATES_PER_ROW * int(values["most"]))
        ef_search = str(min(max(EF_SEARCH, candidates), 1_000))
        _, skipped, rows = fetched(
            self._pool,
            (named()["as_reader_by_index"], {"collection": where.collection, "ef_search": ef_search}),
            (_statement("without_vector", where), {**values, "bound": MOST_SKIPPED}),
            (_statement("nearest_approximate", where, dimensions=dimensions), {**values, "candidates": candidates}),
        )
        return _nearest(rows, skipped, exact=False)

    def containing(self, where: MessageFilter, text: str, *, most: int) -> tuple[Sequence[MessageRow], int]:
        """See `Messages.containing`."""
        values = _values(where) | {"pattern": f"%{escaped(text)}%", "most": most}
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

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """See `Messages.revision`."""
        values = {"collection": collection, "session_id": session_id}
        (rows,) = self._read(collection, (named()["session_revision"], values))
        return Revision(rows[0][0]) if rows and rows[0][0] is not None else None

    def leaving(self, collection: str, draft: SessionDraft) -> Sequence[PendingPassage]:
        """See `Messages.leaving`."""
        ids = [passage.vector_id for passage in draft.passages]
        values = {"collection": collection, "session_id": draft.session.session_id, "vector_ids": ids}
        (rows,) = self._read(collection, (named()["leaving"], values))
        return [PendingPassage(*row) for row in rows]

    def put(self, collection: str, draft: SessionDraft, *, model: str) -> None:
        """See `Messages.put`."""
        session = draft.session
        place = {"collection": collection, "session_id": session.session_id}
        described = {
            "name": session.name,
            "user_name": session.user_name,
            "started_at": session.started_at,
            "metadata": Jsonb(session.model_extra or {}),
            "revision": draft.revision,
        }
        with self._within(collection) as connection:
            connection.execute(named()["lock_session"], place)
            connection.execute(named()["put_session"], place | described)
            connection.execute(named()["drop_messages"], place)
            connection.execute(named()["add_messages"], place | _message_columns(draft))
            columns = _passage_columns(draft.passages)
            connection.execute(named()["drop_passages"], place | columns)
            connection.execute(named()["put_passages"], place | columns | {"model": model})

    def unindexed(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Messages.unindexed`."""
        return self._listed("unindexed", collection, session_id, model)

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> None:
        """See `Messages.mark_indexed`."""
        with self._within(collection) as connection:
            connection.execute(named()["mark_indexed"], _pending_columns(collection, passages, model))

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Messages.pending`."""
        return self._listed("pending", collection, session_id, model)

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Messages.fill`."""
        embeddings = {"embeddings": [literal(vector) for vector in vectors]}
        with self._within(collection) as connection:
            connection.execute(named()["fill"], _pending_columns(collection, passages, model) | embeddings)

    def complete(self, collection: str, session_id: str, revision: Revision, *, model: str) -> None:
        """See `Messages.complete`."""
        values = {"collection": collection, "session_id": session_id, "revision": revision, "model": model}
        with self._within(collection) as connection:
            if connection.execute(named()["complete_session"], values).fetchone() is not None:
                connection.execute(named()["drop_other_models"], values)

    def _listed(self, statement: str, collection: str, session_id: str, model: str) -> Sequence[PendingPassage]:
        values = {"collection": collection, "session_id": session_id, "model": model}
        (rows,) = self._read(collection, (named()[statement], values))
        return [PendingPassage(*row) for row in rows]

    def _read(self, collection: str, *asked: tuple[Any, Mapping[str, Any]]) -> list[list[TupleRow]]:
        """Run statements that see one collection."""
        _, *rows = fetched(self._pool, (named()["as_reader"], {"collection": collection}), *asked)
        return rows

    @contextmanager
    def _within(self, collection: str) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection that sees one collection, for one transaction; its statements travel together."""
        with lent(self._pool) as connection, connection.pipeline():
            connection.execute(named()["as_reader"], {"collection": collection})
            yield connection


def escaped(text: str) -> str:
    """Write a text so that a pattern finds it as it stands."""
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def predicates(where: MessageFilter) -> str:
    """Write a predicate for what was given, and for nothing else."""
    session = "AND v.session_id = %(session_id)s" if where.session_id is not None else ""
    excluded = "AND (v.message_id IS NULL OR v.message_id <> %(exclude_message_id)s)"
    return f"{session} {excluded}" if where.exclude_message_id is not None else session


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
    }


def _nearest(rows: Sequence[TupleRow], skipped: Sequence[TupleRow], *, exact: bool) -> Nearest:
    """Read what either way to search found; each row begins with how many were examined, and how many passed."""
    found = [MessageRow(*row) for _, _, *row in rows if row[0] is not None]
    return Nearest(found, rows[0][1] if rows else 0, exact=exact, skipped=min(skipped[0][0], MOST_SKIPPED))


def _message_columns(draft: SessionDraft) -> dict[str, list[Any]]:
    given = draft.session.messages
    return {
        "keys": [message.key for message in draft.messages],
        "numbers": list(range(len(given))),
        "message_ids": [message.message_id for message in given],
        "roles": [message.role for message in given],
        "contents": [message.text for message in given],
        "times": [message.created_at for message in draft.messages],
        "metadata": [Jsonb(message.model_extra or {}) for message in given],
    }


def _passage_columns(passages: Sequence[MessagePassage]) -> dict[str, list[Any]]:
    return {
        "vector_ids": [passage.vector_id for passage in passages],
        "keys": [passage.message_key for passage in passages],
        "message_ids": [passage.message_id for passage in passages],
        "vector_types": [passage.vector_type for passage in passages],
        "contents": [passage.content for passage in passages],
        "times": [passage.created_at for passage in passages],
    }


def _pending_columns(collection: str, passages: Sequence[PendingPassage], model: str) -> dict[str, Any]:
    return {
        "collection": collection,
        "model": model,
        "vector_ids": [passage.vector_id for passage in passages],
        "contents": [passage.content for passage in passages],
    }
