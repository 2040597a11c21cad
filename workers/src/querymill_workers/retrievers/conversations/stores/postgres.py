"""Conversations in PostgreSQL. Each statement names its collection and runs as a role that sees no other."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import psycopg

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, joined, lent
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversation,
    ConversationInfo,
    PreparedConversation,
    StoredConversation,
    conversation_of,
)
from querymill_workers.retrievers.conversations.rules.rank import RankParts, parts_of
from querymill_workers.retrievers.conversations.rules.references import Reference, leading
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres.sql")

#: A phrase that at least this many sessions have counts as common when leading phrases are chosen.
_RARE: Final = 200
#: How many sessions a process may hold or wait for at once: each takes a connection of the pool.
MAX_CHANGING: Final = 6
#: A writer that sends no statement for longer than this loses its lock on the session, in milliseconds.
MAX_SILENCE_MS: Final = 120_000


class PostgresConversations:
    """`Conversations` on PostgreSQL."""

    kind: Final = "conversations"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._may_change = threading.BoundedSemaphore(MAX_CHANGING)

    @contextmanager
    def changing(self, collection: str, session_id: str) -> Iterator[None]:
        """See `Conversations.changing`."""
        place = {"collection": collection, "session_id": session_id}
        with self._may_change, joined(self._pool) as connection:
            connection.execute(_SQL["conversation_patience"], {"silence": str(MAX_SILENCE_MS)})
            connection.execute(_SQL["hold_conversation"], place)
            connection.execute(SESSION["hurried"])
            yield

    def generation(self, collection: str) -> int:
        """See `Conversations.generation`."""
        with lent(self._pool) as connection:
            row = connection.execute(_SQL["conversation_generation"], {"collection": collection}).fetchone()
        return row[0] if row else 0

    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        """See `Conversations.sessions`."""
        values = {"collection": collection, "session_ids": list(session_ids)}
        with lent_to(self._pool, collection) as connection:
            rows = connection.execute(_SQL["conversation_sessions"], values).fetchall()
        return {
            id_: conversation_of(ChatSession.model_validate_json(document), RankParts(*parts))
            for id_, document, *parts in rows
        }

    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        """See `Conversations.describe`."""
        values = {"collection": collection, "session_ids": list(session_ids)}
        with lent_to(self._pool, collection) as connection:
            rows = connection.execute(_SQL["conversation_heads"], values).fetchall()
        return {
            id_: ConversationInfo(id_, name, user_name, started_at, last_active, opening, RankParts(*parts))
            for id_, name, user_name, started_at, last_active, opening, *parts in rows
        }

    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        """See `Conversations.references`."""
        values = {"collection": collection, "session_ids": list(session_ids)}
        found: dict[str, list[Reference]] = {id_: [] for id_ in session_ids}
        with lent_to(self._pool, collection) as connection:
            for row in connection.execute(_SQL["conversation_referred"], values):
                found[row[1]].append(Reference(*row))
        return found

    def active_between(self, collection: str, start: datetime | None, end: datetime | None) -> Sequence[str]:
        """See `Conversations.active_between`."""
        values = {"collection": collection, "start": start, "end": end}
        with lent_to(self._pool, collection) as connection:
            return [id_ for (id_,) in connection.execute(_SQL["conversation_active"], values)]

    def collections(self) -> Sequence[str]:
        """See `Conversations.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["conversation_collections_filled"])]

    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        """See `Conversations.stored`."""
        with lent_to(self._pool, collection) as connection:
            row = connection.execute(
                _SQL["conversation_stored"], {"collection": collection, "session_id": session_id}
            ).fetchone()
        return None if row is None else StoredConversation(ChatSession.model_validate_json(row[0]), Revision(row[1]))

    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        """See `Conversations.put`."""
        place = {"collection": collection, "session_id": prepared.facts.session_id}
        with lent_to(self._pool, collection) as connection:
            changed = connection.execute(_SQL["conversation_change"], place).fetchone()
            known = connection.execute(_SQL["conversation_known"], place).fetchone()
            if (known[1] if known else None) != replacing:
                raise Unavailable(f"session {place['session_id']!r} has changed since it was read")
            if known is not None:
                connection.execute(
                    _SQL["drop_conversation_phrases"], {**place, "number": known[0], "phrases": known[2]}
                )
            else:
                connection.execute(_SQL["conversation_total"], {**place, "change": 1})
            write_session(connection, collection, prepared)
            put_own_parts(connection, collection, prepared.facts, version=changed[0] if changed else 0)

    def drop(self, collection: str, session_id: str) -> bool:
        """See `Conversations.drop`."""
        place = {"collection": collection, "session_id": session_id}
        with lent_to(self._pool, collection) as connection:
            if connection.execute(_SQL["conversation_known"], place).fetchone() is None:
                return False
            changed = connection.execute(_SQL["conversation_change"], place).fetchone()
            known = connection.execute(_SQL["conversation_known"], place).fetchone()
            if known is None or changed is None:
                return False
            connection.execute(_SQL["conversation_total"], {**place, "change": -1})
            connection.execute(_SQL["drop_conversation_phrases"], {**place, "number": known[0], "phrases": known[2]})
            connection.execute(_SQL["drop_conversation_rank"], {**place, "version": changed[0]})
            connection.execute(_SQL["drop_conversation"], place)
        return True


@contextmanager
def lent_to(pool: Pool, collection: str) -> Iterator[psycopg.Connection]:
    """Lend a connection that sees one collection, for one transaction.

    Statements are sent together, up to the first whose rows are read.
    """
    with lent(pool) as connection, connection.pipeline():
        connection.execute(SESSION["as_reader"], {"collection": collection})
        yield connection


def write_session(connection: psycopg.Connection, collection: str, prepared: PreparedConversation) -> None:
    """Write a session and its postings. The caller has removed the old postings."""
    session, facts = prepared.session, prepared.facts
    place: dict[str, Any] = {"collection": collection, "session_id": facts.session_id}
    phrases = sorted(facts.key_phrases)
    columns = facts_columns(facts) | {"leading": pick_leading(connection, collection, phrases), "phrases": phrases}
    described = {
        "name": session.name,
        "user_name": session.user_name,
        "times": [message.created_at or session.started_at for message in session.messages],
        "document": session.model_dump_json(),
        "revision": prepared.revision,
        "facts_version": prepared.facts_version,
    }
    row = connection.execute(_SQL["put_conversation"], place | described | columns).fetchone()
    connection.execute(_SQL["add_conversation_phrases"], place | columns | {"number": row[0] if row else 0})


def put_own_parts(connection: psycopg.Connection, collection: str, facts: SessionFacts, *, version: int) -> None:
    """Write the parts of a rank that depend on the session alone."""
    own = parts_of(facts, 0)
    parts = {"base": own.base, "depth": own.depth, "quality": own.quality, "version": version}
    place = {"collection": collection, "session_id": facts.session_id}
    connection.execute(_SQL["put_conversation_rank"], place | parts)


def facts_columns(facts: SessionFacts) -> dict[str, Any]:
    """Return facts by column."""
    return {
        "started_at": facts.started_at,
        "last_active": facts.last_active,
        "messages": facts.messages,
        "keywords": facts.keywords,
        "solved": facts.solved,
        "explicit": facts.explicit,
    }


def pick_leading(connection: psycopg.Connection, collection: str, phrases: Sequence[int]) -> list[int]:
    """Pick the leading phrases of a session. Any phrases would do; the rarest make the search shortest."""
    values = {"collection": collection, "phrases": list(phrases), "bound": _RARE}
    rows = connection.execute(_SQL["conversation_rarity"], values).fetchall()
    rows.sort(key=lambda row: (row[1], row[0]))
    return [phrase for phrase, _ in rows[: leading(len(phrases))]]
