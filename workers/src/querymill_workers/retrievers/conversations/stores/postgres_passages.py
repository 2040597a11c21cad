"""Passages of conversations, in PostgreSQL with pgvector. Every statement names its collection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import sql
from psycopg.rows import TupleRow
from typing_extensions import override

from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.postgres.reading import fetch_all
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.retrievers.conversations.ports.passages import (
    CutSession,
    NearSession,
    NearSessions,
    PassageFilter,
    Passages,
)
from querymill_workers.retrievers.conversations.rules.embedded_passages import EmbeddedPassage
from querymill_workers.vectors.ports import Vector
from querymill_workers.vectors.postgres import VectorTables

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres_passages.sql")

VECTORS: Final = VectorTables("conversation_passages", "conversation_vectors", document="session_id")
#: The passages of so many sessions are compared one by one, index or not.
EXACT_SESSIONS: Final = 1_000
#: Passages that an index search looks at for each session that is wanted, and how far it is widened.
PASSAGES_PER_SESSION: Final = 8
WIDEST: Final = 6_400
#: The widest search of an index, which pgvector limits.
MAX_BREADTH: Final = 1_000

_JOINED: Final = sql.SQL(
    "JOIN conversation_passages AS p ON p.collection = v.collection AND p.session_id = v.session_id AND p.key = v.key"
)


class PostgresPassages(Passages):
    """`Passages` on PostgreSQL with pgvector. ``ef_search`` is the least breadth of an index search."""

    def __init__(self, pool: Pool, near: VectorIndexes, *, ef_search: int) -> None:
        self._pool = pool
        self._ef_search = ef_search
        self._near = near

    @override
    def put(self, collection: str, cut: Sequence[CutSession]) -> None:
        ids = [session.session_id for session in cut]
        with within(self._pool, collection) as connection:
            values = {"collection": collection, "session_ids": ids} | _columns(cut)
            connection.execute(_SQL["drop_changed_passages"], values)
            connection.execute(_SQL["put_passages"], values)

    @override
    def lasts(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, EmbeddedPassage]:
        found = self._rows("last_passages", collection, session_ids=list(session_ids))
        return {id_: EmbeddedPassage(*rest) for id_, *rest in found}

    @override
    def grow(self, collection: str, cut: Sequence[CutSession]) -> None:
        ordered = sorted(cut, key=lambda session: session.session_id)
        grown = [session for session in ordered if session.passages]
        firsts = {
            "from_sessions": [session.session_id for session in grown],
            "from_numbers": [session.passages[0].number for session in grown],
        }
        with within(self._pool, collection) as connection:
            values = {"collection": collection, **_columns(ordered)}
            connection.execute(_SQL["drop_passages_from"], values | firsts)
            connection.execute(_SQL["put_passages"], values)

    @override
    def drop(self, collection: str, session_id: str) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["drop_passages"], {"collection": collection, "session_id": session_id})

    @override
    def nearest(self, collection: str, vector: Vector, *, model: str, limit: int, where: PassageFilter) -> NearSessions:
        values = _values(where) | {"collection": collection, "model": model, "vector": vector, "limit": limit}
        if _is_wide(where) and self._near.exists(collection, model):
            found = self._by_index(where, values)
            if found is not None:
                return found
        as_reader = (SESSION["as_reader"], {"collection": collection})
        _, counted, rows = fetch_all(self._pool, as_reader, (_counts(where), values), (_exact(where), values))
        return NearSessions([_near(row) for row in rows], counted[0][1])

    def _by_index(self, where: PassageFilter, values: Mapping[str, Any]) -> NearSessions | None:
        """Search by index, wider while the passages are of too few sessions. None if they are to the end."""
        collection, wanted = str(values["collection"]), int(values["limit"])
        statement = sql.SQL(_SQL["nearest_approximate"]).format(
            collection=sql.Literal(collection),
            model=sql.Literal(values["model"]),
            dimensions=sql.Literal(len(values["vector"])),
            sessions=_among(where, "v"),
        )
        candidates = PASSAGES_PER_SESSION * wanted
        while candidates <= WIDEST:
            breadth = str(min(max(self._ef_search, candidates), MAX_BREADTH))
            # First what is pending: a vector that comes in between is counted and found, never neither.
            as_reader = (SESSION["as_reader"], {"collection": collection})
            by_index = (_SQL["as_reader_by_index"], {"collection": collection, "ef_search": breadth})
            asked = (statement, {**values, "candidates": candidates})
            _, counted, _, rows = fetch_all(self._pool, as_reader, (_counts(where), values), by_index, asked)
            if len(rows) == wanted:
                return NearSessions([_near(row) for row in rows], counted[0][1], exact=False)
            candidates *= PASSAGES_PER_SESSION
        return None

    def _rows(self, statement: str, collection: str, **values: Any) -> list[TupleRow]:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], values | {"collection": collection}).fetchall()


def _is_wide(where: PassageFilter) -> bool:
    """Return whether a search may go by index: a narrow filter would starve it, and a time is none of its columns."""
    if where.start is not None or where.end is not None:
        return False
    return where.sessions is None or len(where.sessions) > EXACT_SESSIONS


def _exact(where: PassageFilter) -> sql.Composed:
    return sql.SQL(_SQL["nearest_exact"]).format(**_predicates(where))


def _counts(where: PassageFilter) -> sql.Composed:
    passages = sql.SQL(" ").join((_among(where, "p"), _timed(where)))
    return sql.SQL(_SQL["passage_counts"]).format(**_predicates(where), passages=passages)


def _predicates(where: PassageFilter) -> dict[str, sql.Composable]:
    timed = _timed(where)
    return {
        "joined": _JOINED if where.start is not None or where.end is not None else sql.SQL(""),
        "vectors": sql.SQL(" ").join((_among(where, "v"), timed)),
    }


def _among(where: PassageFilter, table: str) -> sql.Composable:
    if where.sessions is None:
        return sql.SQL("")
    return sql.SQL("AND {}.session_id = ANY(%(sessions)s::text[])").format(sql.Identifier(table))


def _timed(where: PassageFilter) -> sql.Composable:
    parts = [
        "AND p.last_at >= %(from)s" if where.start is not None else "",
        "AND p.first_at < %(until)s" if where.end is not None else "",
    ]
    return sql.SQL(" ").join(sql.SQL(part) for part in parts)


def _values(where: PassageFilter) -> dict[str, Any]:
    sessions = None if where.sessions is None else list(where.sessions)
    return {"sessions": sessions, "from": where.start, "until": where.end}


def _near(row: TupleRow) -> NearSession:
    session_id, cosine, *columns = row
    return NearSession(session_id, cosine, EmbeddedPassage(*columns))


def _columns(cut: Sequence[CutSession]) -> dict[str, list[Any]]:
    rows = [(session.session_id, passage) for session in cut for passage in session.passages]
    return {
        "sessions": [session_id for session_id, _ in rows],
        "keys": [passage.key for _, passage in rows],
        "numbers": [passage.number for _, passage in rows],
        "places": [passage.place for _, passage in rows],
        "messages": [passage.message for _, passage in rows],
        "starts": [passage.start for _, passage in rows],
        "firsts": [passage.first_at for _, passage in rows],
        "lasts": [passage.last_at for _, passage in rows],
        "texts": [passage.text for _, passage in rows],
    }
