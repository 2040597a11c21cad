"""The ranks of conversations in PostgreSQL: versions of references and ranks, one of which is active."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import psycopg
from typing_extensions import override

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.faults import Refused
from querymill_workers.postgres.connection import Pool, lent, unhurried, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.conversations.ports.ranks import (
    ConversationRanks,
    Published,
    RankMode,
    RankRow,
    Underway,
)
from querymill_workers.retrievers.conversations.ports.sessions import PreparedConversation
from querymill_workers.retrievers.conversations.rules import rank
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.reference_search import FactTable, ReferenceColumns
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.postgres import fetch_stored, write_session
from querymill_workers.retrievers.conversations.stores.postgres_graph import (
    WEIGHTS,
    PostgresGraph,
    put_page_ranks,
    reference_columns,
)

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres.sql", "postgres_ranks.sql")

#: References stored in one statement.
_AT_ONCE: Final = 20_000
#: Time limit of the statements of a rebuild, in milliseconds: they take longer than those of a search.
_TIMEOUT_MS: Final = 300_000


class _Rebuild(NamedTuple):
    """The row of a rebuild. ``sessions`` and ``edges`` are None until it is published."""

    name: str
    version: int
    mode: RankMode
    since: int
    sessions: int | None
    edges: int | None


class PostgresRanks(ConversationRanks):
    """`ConversationRanks` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    @override
    def graph(self, collection: str) -> Iterator[PostgresGraph]:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["hold_ranks"], {"collection": collection})
            graph = PostgresGraph(connection, collection)
            yield graph
            graph.close()

    @override
    def updates(self, collection: str) -> int:
        return self._count("rank_updates", collection)

    @override
    def waiting(self, collection: str) -> int:
        return self._count("rank_waiting", collection)

    @override
    def find_facts(
        self, collection: str, version: str, facts_of: Callable[[ChatSession], SessionFacts], *, limit: int
    ) -> bool:
        values: dict[str, Any] = {"collection": collection, "version": version, "limit": limit}
        with self._lent_for_long(collection) as connection:
            stale = connection.execute(_SQL["stale_facts"], values).fetchall()
            if not stale:
                return connection.execute(_SQL["stale_facts_elsewhere"], values).fetchone() is not None
            stored = fetch_stored(connection, collection, [id_ for id_, _, _ in stale])
            for id_, number, phrases in stale:
                known = stored[id_]
                facts = facts_of(known.session)
                prepared = PreparedConversation(known.session, facts, version, known.revision, known.history)
                place = {"collection": collection, "session_id": id_, "number": number, "phrases": phrases}
                connection.execute(_SQL["drop_conversation_phrases"], place)
                write_session(connection, collection, prepared)
        return True

    @override
    def begin(self, collection: str, rebuild: str, *, mode: RankMode, over: Collection[str] = ()) -> set[int]:
        values: dict[str, Any] = {"collection": collection, "rebuild": rebuild, "mode": mode}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["hold_rebuilds"], values)
            known = connection.execute(_SQL["known_rebuilds"], values).fetchall()
            if known and rebuild not in [name for name, _ in known]:
                newest, is_published = known[0]
                if not is_published and newest not in over:
                    raise Underway(newest)
            connection.execute(_SQL["begin_rebuild"], values)
            version = fetch_newest(connection, collection, rebuild).version
            rows = connection.execute(_SQL["rebuild_parts"], values | {"version": version})
            return {part for (part,) in rows}

    @override
    def table(self, collection: str) -> FactTable:
        with self._lent_for_long(collection) as connection, connection.cursor(binary=True) as cursor:
            rows = cursor.execute(_SQL["fact_table"], {"collection": collection}).fetchall()
        ids, started, explicit, sizes, phrases = zip(*rows, strict=True) if rows else ((),) * 5
        return FactTable(
            ids,
            np.array(started, np.int64),
            np.array(explicit, bool),
            np.array(sizes, np.int64),
            np.fromiter(chain.from_iterable(phrases), np.int64),
        )

    @override
    def draft(self, collection: str, rebuild: str, part: int, found: ReferenceColumns, table: FactTable) -> None:
        references = list(found.references(table))
        with self._lent_for_long(collection) as connection:
            version = fetch_newest(connection, collection, rebuild).version
            place: dict[str, Any] = {"collection": collection, "version": version}
            if connection.execute(_SQL["note_rebuild_part"], {**place, "part": part}).fetchone() is None:
                return
            for start in range(0, len(references), _AT_ONCE):
                columns = reference_columns(references[start : start + _AT_ONCE])
                connection.execute(_SQL["add_references"], place | columns)

    @override
    def publish(self, collection: str, rebuild: str, *, parts: int) -> Published | None:
        with self._lent_for_long(collection) as connection:
            connection.execute(_SQL["hold_ranks"], {"collection": collection})
            known = fetch_newest(connection, collection, rebuild)
            if known.sessions is not None and known.edges is not None:
                return Published(known.sessions, known.edges, known.version)
            place: dict[str, Any] = {"collection": collection, "version": known.version}
            if len(connection.execute(_SQL["rebuild_parts"], place).fetchall()) < parts:
                return None
            return activate(connection, collection, known)

    @override
    def rebuilt_before(self, moment: datetime) -> Sequence[tuple[str, RankMode]]:
        with lent(self._pool) as connection:
            return connection.execute(_SQL["rebuilt_before"], {"moment": moment}).fetchall()

    @override
    def top(self, collection: str, *, now: datetime, limit: int) -> Sequence[RankRow]:
        weights = {
            "base": rank.BASE_WEIGHT,
            "depth": rank.DEPTH_WEIGHT,
            "reference": rank.REFERENCE_WEIGHT,
            "quality": rank.QUALITY_WEIGHT,
            "recency": rank.RECENCY_WEIGHT,
            "time_constant_days": rank.TIME_CONSTANT_DAYS,
        }
        with within(self._pool, collection) as connection:
            rows = connection.execute(
                _SQL["top_ranks"], {"collection": collection, "limit": limit, "now": now, **weights}
            )
            return [
                RankRow(id_, name, last_active, RankParts(*parts), referred)
                for id_, name, last_active, *parts, referred in rows
            ]

    def _count(self, statement: str, collection: str) -> int:
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL[statement], {"collection": collection}).fetchone()
        return row[0] if row else 0

    @contextmanager
    def _lent_for_long(self, collection: str) -> Iterator[psycopg.Connection]:
        with within(self._pool, collection) as connection:
            unhurried(connection, limit_ms=_TIMEOUT_MS)
            yield connection


def fetch_newest(connection: psycopg.Connection, collection: str, rebuild: str) -> _Rebuild:
    """Fetch a rebuild if it is the newest of its collection.

    Raises:
        Refused: Another rebuild has begun since.
    """
    row = connection.execute(_SQL["newest_rebuild"], {"collection": collection}).fetchone()
    if row is None or row[0] != rebuild:
        raise Refused(f"another rebuild of {collection!r} has begun since")
    return _Rebuild(*row)


def activate(connection: psycopg.Connection, collection: str, rebuild: _Rebuild) -> Published:
    """Rank all sessions by the references of a rebuild, and make its version the active one."""
    place: dict[str, Any] = {"collection": collection, "version": rebuild.version}
    connection.execute(_SQL["hold_collection"], place)
    full = {"messages": rank.MESSAGES, "keywords": rank.KEYWORDS}
    connection.execute(_SQL["rank_all"], place | full | WEIGHTS)
    if rebuild.mode == "pagerank":
        put_page_ranks(connection, collection, rebuild.version)
    connection.execute(_SQL["put_version_in_force"], place | {"mode": rebuild.mode})
    connection.execute(_SQL["wait_again"], place | {"since": rebuild.since})
    for leftover in ("forget_changes", "forget_references", "forget_ranks", "forget_rebuild_parts", "forget_rebuilds"):
        connection.execute(_SQL[leftover], place)
    row = connection.execute(_SQL["published_rebuild"], place | {"rebuild": rebuild.name}).fetchone()
    sessions, edges = row or (0, 0)
    return Published(sessions, edges, rebuild.version)
