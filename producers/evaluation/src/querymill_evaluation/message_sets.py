"""Evaluation sets for `messages`: the unit that filters the queries of a set is a session."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querymill_evaluation.conversation_sets import UNDATED
from querymill_evaluation.sets import BadSet, SetQuery, at_line, read_judged, read_lines, sample
from querymill_shared.contracts.sessions import MAX_MESSAGE_CHARS, MAX_MESSAGES, ChatMessage, ChatSession

#: Metadata fields that may filter queries; the first that is there names the session.
_UNITS = ("conversation_id", "session_id")


@dataclass(frozen=True, slots=True)
class MessageSet:
    """Sessions, and the queries about them. Judgements name the ids of messages."""

    name: str
    sessions: tuple[ChatSession, ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]


def read_message_set(
    folder: Path, *, max_queries: int | None = None, max_sessions: int | None = None, queries: str = "queries"
) -> MessageSet:
    """Read a set of messages, or of sessions as `querymill ingest messages` reads them.

    ``max_sessions`` keeps the first sessions, and the queries about them. Messages that name no session are put into
    sessions named after the set. A query that names no session is asked of all.

    ``queries`` is the name of the file of queries. Queries of a file other than "queries" need no judgements.

    Raises:
        BadSet: A file is missing or malformed.
    """
    try:
        qrels, asked = read_judged(folder, queries, unjudged=queries != "queries")
        sessions = list(_sessions(folder))[:max_sessions]
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    known = {session.session_id for session in sessions}
    kept = [query for query in asked if session_of(query.metadata) in {None, *known}]
    return MessageSet(folder.name, tuple(sessions), sample(kept, max_queries), qrels)


def session_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the session that a message or a query belongs to, or None if it names none."""
    return next((str(metadata[name]) for name in _UNITS if name in metadata), None)


def filter_fields(query: SetQuery) -> dict[str, Any]:
    """Return the request fields that filter a query as its set intends."""
    fields = {"session_id": session_of(query.metadata), "exclude_message_id": query.metadata.get("exclude_message_id")}
    return {name: value for name, value in fields.items() if value is not None}


def _sessions(folder: Path) -> Iterator[ChatSession]:
    units: dict[str, list[ChatMessage]] = {}
    for number, line in read_lines(folder, "corpus"):
        with at_line(folder, "corpus", number):
            if "messages" in line:
                yield ChatSession.model_validate(line)
                continue
            unit = session_of(line.get("metadata") or {}) or f"{folder.name}-{number // MAX_MESSAGES}"
            units.setdefault(unit, []).append(_message(line))
    for name, messages in units.items():
        started_at = messages[0].created_at or UNDATED
        yield ChatSession(session_id=name, started_at=started_at, messages=tuple(messages))


def _message(line: Mapping[str, Any]) -> ChatMessage:
    metadata = line.get("metadata") or {}
    return ChatMessage.model_validate({
        "message_id": line["_id"],
        "role": metadata.get("message_role"),
        "text": line["text"][:MAX_MESSAGE_CHARS],
        "created_at": metadata.get("created_at"),
        "user_name": metadata.get("user_name"),
    })  # fmt: skip
