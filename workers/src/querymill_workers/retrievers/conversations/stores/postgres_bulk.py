"""Many conversations at once, new ones and those that grow, in statements of many rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg

from querymill_workers.jobs.faults import Conflict
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.conversations.ports.sessions import Extension, PreparedConversation, Replacement
from querymill_workers.retrievers.conversations.rules.rank import parts_of
from querymill_workers.retrievers.conversations.rules.references import leading
from querymill_workers.retrievers.conversations.stores.postgres_rows import (
    add_live_messages,
    extended_columns,
    facts_columns,
    session_columns,
)

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres.sql", "postgres_bulk.sql")

#: A phrase that at least this many sessions have counts as common when leading phrases are chosen.
RARE: Final = 200

HasFacts = PreparedConversation | Extension


def add_sessions(connection: psycopg.Connection, collection: str, prepared: Sequence[PreparedConversation]) -> None:
    """Write new sessions, their postings and their own parts of the ranks.

    Raises:
        Conflict: One of them is stored already.
    """
    if not prepared:
        return
    # In a fixed order, so that two writers wait for each other instead of deadlocking.
    ordered = sorted(prepared, key=lambda item: item.facts.session_id)
    ids = [item.facts.session_id for item in ordered]
    place = {"collection": collection, "session_ids": ids}
    raised = connection.execute(_SQL["conversation_changes"], place)
    stored = connection.execute(_SQL["conversations_known"], place)
    rarity = connection.execute(_SQL["conversation_rarity"], {
        "collection": collection, "bound": RARE,
        "phrases": sorted(set().union(*(item.facts.key_phrases for item in ordered))),
    })  # fmt: skip
    if known := [id_ for (id_,) in stored]:
        raise Conflict(f"session {known[0]!r} has changed since it was read")
    (version,) = raised.fetchone() or (0,)
    leads = _leading(ordered, dict(rarity.fetchall()))
    connection.execute(_SQL["conversation_total"], {"collection": collection, "change": len(ordered)})
    numbers = _put(connection, collection, ordered, leads)
    add_live_messages(connection, collection, {item.facts.session_id: item.kept.live for item in ordered})
    connection.execute(_SQL["add_phrases"], {"collection": collection, **_postings(ordered, leads, numbers)})
    connection.execute(_SQL["put_ranks"], {"collection": collection, "version": version, **_ranks(ordered)})


def replace_sessions(connection: psycopg.Connection, collection: str, replacements: Sequence[Replacement]) -> None:
    """Write sessions in place of those that are stored.

    Raises:
        Conflict: One of them has another revision than is replaced, or is gone.
    """
    if not replacements:
        return
    ordered = sorted(replacements, key=lambda new: new.prepared.facts.session_id)  # as in `add_sessions`
    prepared = [new.prepared for new in ordered]
    ids = [item.facts.session_id for item in prepared]
    place = {"collection": collection, "session_ids": ids}
    raised = connection.execute(_SQL["conversation_changes"], place)
    known = {id_: rest for id_, *rest in connection.execute(_SQL["conversations_extended"], place)}
    for new, id_ in zip(ordered, ids, strict=True):
        if known.get(id_, (0, None))[1] != new.replacing:
            raise Conflict(f"session {id_!r} has changed since it was read")
    (version,) = raised.fetchone() or (0,)
    former = [{"collection": collection, "number": known[id_][0], "phrases": known[id_][2]} for id_ in ids]
    _execute_many(connection, "drop_conversation_phrases", former)
    connection.execute(_SQL["drop_live_messages"], place)
    rarity = connection.execute(_SQL["conversation_rarity"], {
        "collection": collection, "bound": RARE,
        "phrases": sorted(set().union(*(item.facts.key_phrases for item in prepared))),
    })  # fmt: skip
    leads = _leading(prepared, dict(rarity.fetchall()))
    numbers = _put(connection, collection, prepared, leads)
    add_live_messages(connection, collection, {item.facts.session_id: item.kept.live for item in prepared})
    connection.execute(_SQL["add_phrases"], {"collection": collection, **_postings(prepared, leads, numbers)})
    connection.execute(_SQL["put_ranks"], {"collection": collection, "version": version, **_ranks(prepared)})


def extend_sessions(connection: psycopg.Connection, collection: str, extensions: Sequence[Extension]) -> None:
    """Add live messages to sessions.

    Raises:
        Conflict: One of them has another revision than is extended.
    """
    ordered = sorted(extensions, key=lambda each: each.facts.session_id)  # as in `add_sessions`
    place = {"collection": collection, "session_ids": [each.facts.session_id for each in ordered]}
    raised = connection.execute(_SQL["conversation_changes"], place)
    known = {id_: rest for id_, *rest in connection.execute(_SQL["conversations_extended"], place)}
    for each in ordered:
        if known.get(each.facts.session_id, (0, None))[1] != each.replacing:
            raise Conflict(f"session {each.facts.session_id!r} has changed since it was read")
    (version,) = raised.fetchone() or (0,)
    _execute_many(connection, "extend_conversation", [
        {"collection": collection, "session_id": each.facts.session_id, **extended_columns(each)} for each in ordered
    ])  # fmt: skip
    add_live_messages(connection, collection, {each.facts.session_id: each.messages for each in ordered})
    _replace_phrases(connection, collection, ordered, known)
    connection.execute(_SQL["put_ranks"], {"collection": collection, "version": version, **_ranks(ordered)})


def _replace_phrases(
    connection: psycopg.Connection, collection: str, extensions: Sequence[Extension], known: Mapping[str, Sequence[Any]]
) -> None:
    """Replace the key phrases of those sessions that have others than before."""
    changed = [
        (each, number, phrases)
        for each in extensions
        for number, _, phrases, explicit in [known[each.facts.session_id]]
        if (frozenset(phrases), explicit) != (each.facts.key_phrases, each.facts.explicit)
    ]
    if not changed:
        return
    new = [each for each, _, _ in changed]
    rarity = connection.execute(_SQL["conversation_rarity"], {
        "collection": collection, "bound": RARE,
        "phrases": sorted(set().union(*(each.facts.key_phrases for each in new))),
    })  # fmt: skip
    leads = _leading(new, dict(rarity.fetchall()))
    rows = [
        {
            "collection": collection, "session_id": each.facts.session_id, "number": number, "leading": leading_,
            "phrases": sorted(each.facts.key_phrases), "former": phrases,
        }
        for (each, number, phrases), leading_ in zip(changed, leads, strict=True)
    ]  # fmt: skip
    _execute_many(connection, "drop_conversation_phrases", [{**row, "phrases": row["former"]} for row in rows])
    _execute_many(connection, "replace_conversation_phrases", rows)
    postings = _postings(new, leads, [number for _, number, _ in changed])
    connection.execute(_SQL["add_phrases"], {"collection": collection, **postings})


def _execute_many(connection: psycopg.Connection, statement: str, rows: Sequence[Mapping[str, Any]]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(_SQL[statement], rows)


def pick_rarest(phrases: Sequence[int], sessions: Mapping[int, int]) -> list[int]:
    """Pick the leading phrases of a session. Any phrases would do; the rarest make the search shortest."""
    ordered = sorted(phrases, key=lambda phrase: (sessions[phrase], phrase))
    return ordered[: leading(len(ordered))]


def _leading(prepared: Sequence[HasFacts], sessions: Mapping[int, int]) -> list[list[int]]:
    return [pick_rarest(sorted(item.facts.key_phrases), sessions) for item in prepared]


def _put(
    connection: psycopg.Connection, collection: str, prepared: Sequence[PreparedConversation], leads: Sequence[Any]
) -> list[int]:
    """Write the rows of sessions, and return their numbers."""
    rows = [
        {
            "collection": collection,
            "session_id": item.facts.session_id,
            "phrases": sorted(item.facts.key_phrases),
            "leading": leading_,
            **session_columns(item),
            **facts_columns(item.facts),
        }
        for item, leading_ in zip(prepared, leads, strict=True)
    ]
    numbers: list[int] = []
    with connection.cursor() as cursor:
        cursor.executemany(_SQL["put_conversation"], rows, returning=True)
        while True:
            numbers += [number for (number,) in cursor.fetchall()]
            if not cursor.nextset():
                return numbers


def _postings(
    prepared: Sequence[HasFacts], leads: Sequence[Sequence[int]], numbers: Sequence[int]
) -> dict[str, list[Any]]:
    rows = [
        (phrase, number, len(item.facts.key_phrases), phrase in leading_, item.facts.explicit)
        for item, leading_, number in zip(prepared, map(frozenset, leads), numbers, strict=True)
        for phrase in sorted(item.facts.key_phrases)
    ]
    names = ("phrases", "numbers", "sizes", "leads", "explicit")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _ranks(prepared: Sequence[HasFacts]) -> dict[str, list[Any]]:
    parts = [parts_of(item.facts, 0) for item in prepared]
    return {
        "session_ids": [item.facts.session_id for item in prepared],
        "bases": [part.base for part in parts],
        "depths": [part.depth for part in parts],
        "qualities": [part.quality for part in parts],
    }
