"""Conversations as rows: columns of what is written, and histories of what is read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg.types.json import Json, Jsonb

from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.conversations.history import Acceptance, FieldWrite, History, LiveMessage, session_of
from querymill_workers.retrievers.conversations.ports.sessions import (
    Extension,
    Outline,
    PreparedConversation,
    StoredConversation,
)
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.sketch import Sketch, signs_in

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres.sql")


def fold(
    session_id: str, document: str, live: Sequence[LiveMessage], *, whole: bool, said: Any, revision: str = ""
) -> StoredConversation:
    """Return a session as its document and its live messages give it.

    Raises:
        ValueError: Nothing is stored of it.
    """
    history = History(ChatSession.model_validate_json(document) if whole else None, tuple(live), said_of(said))
    session = session_of(session_id, history)
    if session is None:
        raise ValueError(f"session {session_id!r} has neither a document nor live messages")
    return StoredConversation(session, Revision(revision), history)


def live_messages(rows: Iterable[Sequence[Any]]) -> Mapping[str, Sequence[LiveMessage]]:
    """Group rows of live messages by session."""
    found: defaultdict[str, list[LiveMessage]] = defaultdict(list)
    for session_id, us, job, place, message in rows:
        found[session_id].append(LiveMessage((us, job), place, ChatMessage.model_validate(message)))
    return found


def said_of(stored: Mapping[str, Any]) -> dict[str, FieldWrite]:
    """Read what updates said of a session."""
    update = {name: value for name, (_, _, value) in stored.items()}
    if "started_at" in update:
        update["started_at"] = datetime.fromisoformat(update["started_at"])
    return {name: FieldWrite((us, job), update[name]) for name, (us, job, _) in stored.items()}


def said_columns(said: Mapping[str, FieldWrite]) -> Jsonb:
    """Return what updates said of a session as it is stored: by field its version and its value."""
    columns = {}
    for name, heard in said.items():
        value = heard.value.isoformat() if isinstance(heard.value, datetime) else heard.value
        columns[name] = [*heard.version, value]
    return Jsonb(columns)


def outline_of(row: Sequence[Any], signs: Sequence[tuple[Acceptance, str | None, int]]) -> Outline:
    """Return the outline of a session from its row and the signs of its live messages."""
    id_, started_at, last_active, messages, keywords, solved, explicit, phrases, *rest = row
    version, revision, sketch, said, whole = rest
    facts = SessionFacts(id_, started_at, last_active, messages, keywords, solved, explicit, frozenset(phrases))
    return Outline(facts, version, Revision(revision), Sketch.of_json(sketch), said_of(said), signs, whole)


def add_live_messages(
    connection: psycopg.Connection, collection: str, live: Mapping[str, Sequence[LiveMessage]]
) -> None:
    """Add live messages of sessions."""
    sent = [(id_, each) for id_, messages in live.items() for each in messages]
    if not sent:
        return
    columns = {
        "session_ids": [id_ for id_, _ in sent],
        "accepted_us": [each.version[0] for _, each in sent],
        "job_ids": [each.version[1] for _, each in sent],
        "places": [each.place for _, each in sent],
        "signs": [int(signs_in(each.message)) for _, each in sent],
        "messages": [each.message.model_dump_json() for _, each in sent],
    }
    connection.execute(_SQL["add_conversation_messages"], {"collection": collection, **columns})


def session_columns(prepared: PreparedConversation) -> dict[str, Any]:
    """Return the columns of a session without its facts.

    The document of one that never was put whole holds its first message, which lists show.
    """
    session, kept = prepared.session, prepared.kept
    document = kept.whole or session.model_copy(update={"messages": session.messages[:1]})
    return {
        "name": session.name,
        "user_name": session.user_name,
        "document": document.model_dump_json(),
        "revision": prepared.revision,
        "facts_version": prepared.facts_version,
        "whole": kept.whole is not None,
        "said": said_columns(kept.said),
        "sketch": None if prepared.sketch is None else Json(prepared.sketch.to_json()),
        "metadata": Jsonb(session.model_extra or {}),
    }


def extended_columns(extension: Extension) -> dict[str, Any]:
    """Return the columns that change when a session is extended."""
    name, user_name = (extension.said.get(field) for field in ("name", "user_name"))
    return facts_columns(extension.facts) | {
        "name": None if name is None else name.value,
        "user_name": None if user_name is None else user_name.value,
        "revision": extension.revision,
        "said": said_columns(extension.said),
        "sketch": Json(extension.sketch.to_json()),
    }


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
