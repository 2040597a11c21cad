"""Chat sessions in PostgreSQL: ingested, exported, dropped.

Every statement names its collection and runs as a role that sees no other, like the searches in ``postgres.py``.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_workers.postgres.connection import Pool, unhurried, within
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.statistics import ColumnStatistics
from querymill_workers.retrievers.messages.ports import ChangedTexts, DroppedSession, PreparedSession, Sessions
from querymill_workers.retrievers.messages.rules.sessions import MessageText, texts_of

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres_sessions.sql")

#: How long one statement may take that stores a session, in milliseconds: a session may have 64 MB.
PUT_MS: Final = 50_000
#: The columns of passages that statements choose an index by.
STATISTICS: Final = ("collection", "session_id", "vector_id", "vector_type", "text_id", "user_name")


class PostgresSessions(Sessions):
    """`Sessions` in PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._statistics = ColumnStatistics(pool, "chat_passages", STATISTICS)

    @override
    def put(self, collection: str, prepared: Sequence[PreparedSession]) -> Mapping[str, ChangedTexts]:
        place = {"collection": collection, "session_ids": [each.session.session_id for each in prepared]}
        messages, passages = _message_columns(prepared), _passage_columns(prepared)
        with within(self._pool, collection) as connection:
            unhurried(connection, limit_ms=PUT_MS)
            connection.execute(_SQL["put_sessions"], place | _session_columns(prepared))
            connection.execute(_SQL["drop_messages"], place | messages)
            connection.execute(_SQL["add_messages"], place | messages)
            dropped: dict[str, list[MessageText]] = {}
            for session_id, text_id, vector_type in connection.execute(_SQL["drop_passages"], place | passages):
                dropped.setdefault(session_id, []).append(MessageText(text_id, vector_type, ""))
            stored = {text_id for (text_id,) in connection.execute(_SQL["stored_texts"], place)}
            connection.execute(_SQL["put_passages"], place | passages)
        return {
            each.session.session_id: ChangedTexts(
                [text for text in texts_of(each.passages) if text.text_id not in stored],
                dropped.get(each.session.session_id, []),
            )
            for each in prepared
        }

    @override
    def grow(self, collection: str, passages: int) -> None:
        self._statistics.note(collection, passages)

    @override
    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        place = {"collection": collection, "session_id": session_id}
        with within(self._pool, collection) as connection:
            return [MessageText(*row) for row in connection.execute(_SQL["session_texts"], place)]

    @override
    def drop(self, collection: str, session_id: str) -> DroppedSession:
        place = {"collection": collection, "session_id": session_id}
        with within(self._pool, collection) as connection:
            texts = [MessageText(text_id, type_, "") for text_id, type_ in connection.execute(_SQL["text_ids"], place)]
            counted = connection.execute(_SQL["forget_passages"], place).fetchone()
            connection.execute(
                _SQL["drop_messages"], {**place, "session_ids": [session_id], "of_sessions": [], "keys": []}
            )
            was_there = connection.execute(_SQL["forget_session"], place).fetchone() is not None
        return DroppedSession(was_there, 0 if counted is None else int(counted[0]), texts)

    @override
    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        values = {"collection": collection, "session_ids": list(session_ids)}
        found: dict[str, dict[str, Any]] = {}
        with within(self._pool, collection) as connection:
            for session_id, name, user, started, metadata, *message in connection.execute(
                _SQL["whole_sessions"], values
            ):
                known = found.setdefault(session_id, _session(session_id, name, user, started, metadata))
                known["messages"].append(_message(*message))
        return found


def _session_columns(prepared: Sequence[PreparedSession]) -> dict[str, list[Any]]:
    sessions = [each.session for each in prepared]
    return {
        "names": [session.name for session in sessions],
        "user_names": [session.user_name for session in sessions],
        "starts": [session.started_at for session in sessions],
        "metadata": [Jsonb(session.model_extra or {}) for session in sessions],
    }


def _message_columns(prepared: Sequence[PreparedSession]) -> dict[str, list[Any]]:
    messages = [
        (each.session.session_id, number, message, given)
        for each in prepared
        for number, (message, given) in enumerate(zip(each.messages, each.session.messages, strict=True))
    ]
    return {
        "of_sessions": [session_id for session_id, *_ in messages],
        "keys": [message.key for *_, message, _ in messages],
        "numbers": [number for _, number, *_ in messages],
        "message_ids": [given.message_id for *_, given in messages],
        "roles": [given.role for *_, given in messages],
        "contents": [given.text for *_, given in messages],
        "times": [message.created_at for *_, message, _ in messages],
        "metadata": [Jsonb(given.model_extra or {}) for *_, given in messages],
    }


def _passage_columns(prepared: Sequence[PreparedSession]) -> dict[str, list[Any]]:
    sessions = [each.session for each in prepared for _ in each.passages]
    passages = [passage for each in prepared for passage in each.passages]
    return {
        "of_sessions": [session.session_id for session in sessions],
        "user_names": [session.user_name for session in sessions],
        "vector_ids": [passage.vector_id for passage in passages],
        "passage_keys": [passage.key for passage in passages],
        "keys": [passage.message_key for passage in passages],
        "message_ids": [passage.message_id for passage in passages],
        "vector_types": [passage.vector_type for passage in passages],
        "contents": [passage.content for passage in passages],
        "times": [passage.created_at for passage in passages],
        "arounds": [Jsonb(list(passage.around)) for passage in passages],
        "text_ids": [passage.text_id for passage in passages],
        "numbers": [passage.number for passage in passages],
        "starts": [passage.start for passage in passages],
        "passages": [passage.passages for passage in passages],
        "roles": [passage.role for passage in passages],
        "metadata": [Jsonb(dict(passage.metadata)) for passage in passages],
    }


def _session(
    session_id: str, name: str | None, user: str | None, started: datetime, metadata: dict[str, Any]
) -> dict[str, Any]:
    known = {"name": name, "user_name": user}
    given = {field: value for field, value in known.items() if value is not None}
    return metadata | {"session_id": session_id, "started_at": _written(started)} | given | {"messages": []}


def _message(
    message_id: str | None, role: str | None, text: str, created: datetime, metadata: dict[str, Any]
) -> dict[str, Any]:
    known = {"message_id": message_id, "role": role}
    given = {field: value for field, value in known.items() if value is not None}
    return metadata | given | {"text": text, "created_at": _written(created)}


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
