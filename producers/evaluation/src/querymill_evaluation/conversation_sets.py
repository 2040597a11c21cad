"""Evaluation sets for `conversations`: each document is a session, with its messages if it has any."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from querymill.broken_rules import rule_broken
from querymill_evaluation.sets import BadSet, SetQuery, read_parts, sample
from querymill_shared.contracts.fields import MAX_NAME_CHARS
from querymill_shared.contracts.sessions import MAX_MESSAGE_CHARS, ChatSession

#: The time of a document that has none of its own.
UNDATED: Final = datetime(2020, 1, 1, tzinfo=UTC)
#: Metadata fields that hold when a question was asked.
_ASKED_AT: Final = ("committed_at", "created_at")


@dataclass(frozen=True, slots=True)
class ConversationSet:
    """Sessions with their collections, and the queries.

    ``after`` is a day after the last message. ``undated`` is True if no document has a time.
    """

    name: str
    sessions: tuple[tuple[str, ChatSession], ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]
    after: datetime
    undated: bool

    def collection(self, metadata: Mapping[str, Any]) -> str:
        """Name the collection of a document or a query: one for each repository that the set names."""
        return collection_of(self.name, metadata)


def read_conversation_set(
    folder: Path, *, max_queries: int | None = None, max_sessions: int | None = None
) -> ConversationSet:
    """Read a set. If ``max_sessions`` cuts it, judged sessions are kept first.

    Raises:
        BadSet: A file is missing or malformed.
    """
    try:
        qrels, queries, corpus = read_parts(folder)
        queries = list(sample(queries, max_queries))
        judged = {document for query in queries for document in qrels[query.query_id]}
        corpus.sort(key=lambda line: _id_of(line) not in judged)
        sessions = [
            (collection_of(folder.name, line.get("metadata") or {}), _session(line)) for line in corpus[:max_sessions]
        ]
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    moments = [moment for _, session in sessions for moment in _moments(session)]
    last = max(moments, default=UNDATED)
    undated = set(moments) <= {UNDATED}
    return ConversationSet(folder.name, tuple(sessions), tuple(queries), qrels, last + timedelta(days=1), undated)


def collection_of(name: str, metadata: Mapping[str, Any]) -> str:
    """Name the collection of a document or a query, so that no repository sees the sessions of another."""
    repo = metadata.get("repo")
    return name if repo is None else f"{name}.{re.sub('[^A-Za-z0-9._-]', '.', str(repo))}"[:64]


def asked_at(query: SetQuery) -> str | None:
    """Return when a question was asked, or None if the set does not say."""
    return next((str(query.metadata[name]) for name in _ASKED_AT if query.metadata.get(name)), None)


def _id_of(line: Mapping[str, Any]) -> str:
    return str(line["_id"] if "_id" in line else line["session_id"])


def _session(line: Mapping[str, Any]) -> ChatSession:
    try:
        return ChatSession.model_validate(line if "messages" in line else _session_of_document(line))
    except ValidationError as error:
        raise ValueError(f"document {_id_of(line)}: {rule_broken(error)}") from error


def _session_of_document(line: Mapping[str, Any]) -> dict[str, Any]:
    metadata = line.get("metadata") or {}
    messages = metadata.get("messages") or [{"text": line["text"][:MAX_MESSAGE_CHARS]}]
    return {
        "session_id": line["_id"],
        # The title of an article may be longer than a name.
        "name": (line.get("title") or "")[:MAX_NAME_CHARS] or None,
        "started_at": metadata.get("started_at") or UNDATED,
        "messages": [_message(message) for message in messages],
    }


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in ("role", "text", "created_at", "user_name") if message.get(name)}


def _moments(session: ChatSession) -> list[datetime]:
    return [session.started_at, *(message.created_at for message in session.messages if message.created_at)]
