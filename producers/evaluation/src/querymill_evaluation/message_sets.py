"""Evaluation sets as the `messages` kind sees them: what a query is filtered by is a session of ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querymill_evaluation.conversation_sets import UNDATED
from querymill_evaluation.sets import BadSet, SetQuery, at_line, read_judged, read_lines, sample
from querymill_shared.contracts.sessions import LONGEST_MESSAGE, MOST_MESSAGES, ChatMessage, ChatSession

#: Fields of the metadata that a set's queries may be filtered by, the widest first.
_UNITS = ("conversation_id", "session_id")


@dataclass(frozen=True, slots=True)
class MessageSet:
    """Sessions, and the queries that are asked of them; a message's id is the judged one."""

    name: str
    sessions: tuple[ChatSession, ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]


def read_message_set(
    folder: Path, *, max_queries: int | None = None, max_sessions: int | None = None, queries: str = "queries"
) -> MessageSet:
    """Read a set of messages, or of our own lines of sessions.

    ``max_sessions`` keeps the first so many, and the queries asked of them. Messages that name no session are in one
    of the set's, and a query that names none is asked of all.

    ``queries`` names the file of queries: those of another than "queries" need no judgements.

    Raises:
        BadSet: A file is missing or not of the format.
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
    """Name the session of ours that a message or a query belongs to, if it says so."""
    return next((str(metadata[name]) for name in _UNITS if name in metadata), None)


def filter_fields(query: SetQuery) -> dict[str, Any]:
    """Say what a query is filtered by, as its set means to be run."""
    fields = {"session_id": session_of(query.metadata), "exclude_message_id": query.metadata.get("exclude_message_id")}
    return {name: value for name, value in fields.items() if value is not None}


def _sessions(folder: Path) -> Iterator[ChatSession]:
    units: dict[str, list[ChatMessage]] = {}
    for number, line in read_lines(folder, "corpus"):
        with at_line(folder, "corpus", number):
            if "messages" in line:
                yield ChatSession.model_validate(line)
                continue
            unit = session_of(line.get("metadata") or {}) or f"{folder.name}-{number // MOST_MESSAGES}"
            units.setdefault(unit, []).append(_message(line))
    for name, messages in units.items():
        started_at = messages[0].created_at or UNDATED
        yield ChatSession(session_id=name, started_at=started_at, messages=tuple(messages))


def _message(line: Mapping[str, Any]) -> ChatMessage:
    metadata = line.get("metadata") or {}
    return ChatMessage.model_validate({
        "message_id": line["_id"],
        "role": metadata.get("message_role"),
        "text": line["text"][:LONGEST_MESSAGE],
        "created_at": metadata.get("created_at"),
        "user_name": metadata.get("user_name"),
    })  # fmt: skip
