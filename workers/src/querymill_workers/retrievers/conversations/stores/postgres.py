"""Conversations in PostgreSQL. Each statement names its collection and runs as a role that sees no other."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import TupleRow
from typing_extensions import override

from querymill_workers.jobs.faults import Conflict
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, across, lent, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversation,
    ConversationInfo,
    Conversations,
    Extension,
    Outline,
    PreparedConversation,
    Replacement,
    StoredConversation,
    conversation_of,
)
from querymill_workers.retrievers.conversations.rules.rank import RankParts, parts_of
from querymill_workers.retrievers.conversations.rules.references import Reference, leading
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.postgres_bulk import (
    add_sessions,
    extend_sessions,
    replace_sessions,
)
from querymill_workers.retrievers.conversations.stores.postgres_rows import (
    add_live_messages,
    facts_columns,
    fold,
    live_messages,
    outline_of,
    session_columns,
)

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres.sql")

#: A phrase that at least this many sessions have counts as common when leading phrases are chosen.
_RARE: Final = 200


class PostgresConversations(Conversations):
    """`Conversations` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def generation(self, collection: str) -> int:
        with lent(self._pool) as connection:
            row = connection.execute(_SQL["conversation_generation"], {"collection": collection}).fetchone()
        return row[0] if row else 0

    @override
    def sessions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Conversation]:
        values = {"collection": collection, "session_ids": list(session_ids)}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["conversation_sessions"], values)
            live = live_messages(connection.execute(_SQL["conversation_live"], values))
            return {
                id_: conversation_of(fold(id_, document, live[id_], whole=whole, said=said).session, RankParts(*parts))
                for id_, document, whole, said, *parts in rows.fetchall()
            }

    @override
    def describe(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, ConversationInfo]:
        values = {"collection": collection, "session_ids": list(session_ids)}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["conversation_heads"], values).fetchall()
        return {
            id_: ConversationInfo(id_, name, user_name, started_at, last_active, opening, RankParts(*parts), metadata)
            for id_, name, user_name, started_at, last_active, opening, metadata, *parts in rows
        }

    @override
    def references(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Sequence[Reference]]:
        values = {"collection": collection, "session_ids": list(session_ids)}
        found: dict[str, list[Reference]] = {id_: [] for id_ in session_ids}
        with within(self._pool, collection) as connection:
            for row in connection.execute(_SQL["conversation_referred"], values):
                found[row[1]].append(Reference(*row))
        return found

    @override
    def largest_version(self, at_least_us: int) -> int:
        with across(self._pool) as connection:
            row = connection.execute(_SQL["largest_version"], {"at_least_us": at_least_us}).fetchone()
        return 0 if row is None else int(row[0])

    @override
    def drop_remains(self, collection: str) -> None:
        place = {"collection": collection}
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["conversations_held"], place).fetchone()
            if row is not None and row[0]:
                return
            for rest in ("changes", "references", "ranks", "rebuilds", "rebuild_parts"):
                connection.execute(_SQL[f"leave_{rest}"], place)

    @override
    def stored(self, collection: str, session_id: str) -> StoredConversation | None:
        with within(self._pool, collection) as connection:
            return fetch_stored(connection, collection, [session_id]).get(session_id)

    @override
    def stored_all(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, StoredConversation]:
        with within(self._pool, collection) as connection:
            return fetch_stored(connection, collection, session_ids)

    @override
    def outlines(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Outline]:
        place = {"collection": collection, "session_ids": list(session_ids)}
        with within(self._pool, collection) as connection:
            found = connection.execute(_SQL["conversation_outlines"], place).fetchall()
            signs: defaultdict[str, list[Any]] = defaultdict(list)
            for id_, us, job, message, sign in connection.execute(_SQL["conversation_signs"], place):
                signs[id_].append(((us, job), message, sign))
        return {row[0]: outline_of(row, signs[row[0]]) for row in found}

    @override
    def put(self, collection: str, prepared: PreparedConversation, *, replacing: Revision | None) -> None:
        place = {"collection": collection, "session_id": prepared.facts.session_id}
        with within(self._pool, collection) as connection:
            changed, known = _begin_change(connection, place, replacing)
            if known is not None:
                connection.execute(
                    _SQL["drop_conversation_phrases"], {**place, "number": known[0], "phrases": known[2]}
                )
                connection.execute(_SQL["drop_conversation_messages"], place)
            else:
                connection.execute(_SQL["conversation_total"], {**place, "change": 1})
            write_session(connection, collection, prepared)
            add_live_messages(connection, collection, {place["session_id"]: prepared.kept.live})
            put_own_parts(connection, collection, prepared.facts, version=changed)

    @override
    def put_all(self, collection: str, replacements: Sequence[Replacement]) -> None:
        with within(self._pool, collection) as connection:
            add_sessions(connection, collection, [new.prepared for new in replacements if new.replacing is None])
            replace_sessions(connection, collection, [new for new in replacements if new.replacing is not None])

    @override
    def extend(self, collection: str, extensions: Sequence[Extension]) -> None:
        with within(self._pool, collection) as connection:
            extend_sessions(connection, collection, extensions)

    @override
    def drop(self, collection: str, session_id: str) -> bool:
        place = {"collection": collection, "session_id": session_id}
        with within(self._pool, collection) as connection:
            if connection.execute(_SQL["conversation_known"], place).fetchone() is None:
                return False
            changed = connection.execute(_SQL["conversation_change"], place).fetchone()
            known = connection.execute(_SQL["conversation_known"], place).fetchone()
            if known is None or changed is None:
                return False
            connection.execute(_SQL["conversation_total"], {**place, "change": -1})
            connection.execute(_SQL["drop_conversation_phrases"], {**place, "number": known[0], "phrases": known[2]})
            connection.execute(_SQL["drop_conversation_rank"], {**place, "version": changed[0]})
            connection.execute(_SQL["drop_conversation_messages"], place)
            connection.execute(_SQL["drop_conversation"], place)
        return True


def _begin_change(
    connection: psycopg.Connection, place: Mapping[str, str], replacing: Revision | None
) -> tuple[int, TupleRow | None]:
    """Raise the generation, and return the version of the ranks and what is known of the session.

    Raises:
        Conflict: The session has another revision.
    """
    changed = connection.execute(_SQL["conversation_change"], place).fetchone()
    known = connection.execute(_SQL["conversation_known"], place).fetchone()
    if (known[1] if known else None) != replacing:
        raise Conflict(f"session {place['session_id']!r} has changed since it was read")
    return changed[0] if changed else 0, known


def fetch_stored(
    connection: psycopg.Connection, collection: str, session_ids: Sequence[str]
) -> Mapping[str, StoredConversation]:
    """Fetch sessions with their histories."""
    values = {"collection": collection, "session_ids": list(session_ids)}
    rows = connection.execute(_SQL["conversation_stored"], values)
    live = live_messages(connection.execute(_SQL["conversation_live"], values))
    return {
        id_: fold(id_, document, live[id_], whole=whole, said=said, revision=revision)
        for id_, document, whole, said, revision in rows.fetchall()
    }


def write_session(connection: psycopg.Connection, collection: str, prepared: PreparedConversation) -> None:
    """Write a session without its live messages, and its postings. The caller has removed the old postings."""
    facts = prepared.facts
    place: dict[str, Any] = {"collection": collection, "session_id": facts.session_id}
    phrases = sorted(facts.key_phrases)
    columns = facts_columns(facts) | {"leading": pick_leading(connection, collection, phrases), "phrases": phrases}
    row = connection.execute(_SQL["put_conversation"], place | session_columns(prepared) | columns).fetchone()
    connection.execute(_SQL["add_conversation_phrases"], place | columns | {"number": row[0] if row else 0})


def put_own_parts(connection: psycopg.Connection, collection: str, facts: SessionFacts, *, version: int) -> None:
    """Write the parts of a rank that depend on the session alone."""
    own = parts_of(facts, 0)
    parts = {"base": own.base, "depth": own.depth, "quality": own.quality, "version": version}
    place = {"collection": collection, "session_id": facts.session_id}
    connection.execute(_SQL["put_conversation_rank"], place | parts)


def pick_leading(connection: psycopg.Connection, collection: str, phrases: Sequence[int]) -> list[int]:
    """Pick the leading phrases of a session. Any phrases would do; the rarest make the search shortest."""
    values = {"collection": collection, "phrases": list(phrases), "bound": _RARE}
    rows = connection.execute(_SQL["conversation_rarity"], values).fetchall()
    rows.sort(key=lambda row: (row[1], row[0]))
    return [phrase for phrase, _ in rows[: leading(len(phrases))]]
