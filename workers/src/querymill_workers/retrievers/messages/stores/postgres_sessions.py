"""Chat sessions in PostgreSQL: ingested, embedded, embedded with another model, dropped.

Every statement names its collection and runs as a role that sees no other, like the searches in ``postgres.py``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg.types.json import Jsonb

from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, lent, literal, unhurried, within
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.statistics import Statistics
from querymill_workers.retrievers.messages.ports import ChangedTexts, DroppedSession, PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import MessageText, PendingPassage, texts_of
from querymill_workers.retrievers.messages.stores.postgres_listing import SessionListing

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres_sessions.sql")

#: How long one statement may take that stores a session, in milliseconds: a session may have 64 MB.
PUT_MS: Final = 50_000
#: The columns of passages that statements choose an index by.
STATISTICS: Final = ("collection", "model", "session_id", "vector_id", "vector_type", "text_id", "user_name")


class PostgresSessions(SessionListing):
    """`Sessions` in PostgreSQL with pgvector."""

    kind: Final = "messages"

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._statistics = Statistics(pool, "chat_message_vectors", STATISTICS)

    def revisions(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Revision]:
        """See `Sessions.revisions`."""
        values = {"collection": collection, "session_ids": list(session_ids)}
        with within(self._pool, collection) as connection:
            return {id_: Revision(revision) for id_, revision in connection.execute(_SQL["revisions"], values)}

    def ids(self, collection: str) -> Sequence[str]:
        """See `Sessions.ids`."""
        with within(self._pool, collection) as connection:
            return [id_ for (id_,) in connection.execute(_SQL["session_ids"], {"collection": collection})]

    def put(
        self, collection: str, prepared: Sequence[PreparedSession], *, models: Sequence[str]
    ) -> Mapping[str, ChangedTexts]:
        """See `Sessions.put`."""
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
            connection.execute(_SQL["put_passages"], place | passages | {"models": list(models)})
        return {
            each.session.session_id: ChangedTexts(
                [text for text in texts_of(each.passages) if text.text_id not in stored],
                dropped.get(each.session.session_id, []),
            )
            for each in prepared
        }

    def grow(self, collection: str, passages: int) -> None:
        """See `Sessions.grow`."""
        self._statistics.note(collection, passages)

    def texts(self, collection: str, session_id: str) -> Sequence[MessageText]:
        """See `Sessions.texts`."""
        place = {"collection": collection, "session_id": session_id}
        with within(self._pool, collection) as connection:
            return [MessageText(*row) for row in connection.execute(_SQL["session_texts"], place)]

    def forget(self, collection: str, session_id: str) -> DroppedSession:
        """See `Sessions.forget`."""
        place = {"collection": collection, "session_id": session_id}
        with within(self._pool, collection) as connection:
            texts = [MessageText(text_id, type_, "") for text_id, type_ in connection.execute(_SQL["text_ids"], place)]
            counted = connection.execute(_SQL["forget_passages"], place).fetchone()
            connection.execute(_SQL["forget_messages"], place)
            was_there = connection.execute(_SQL["forget_session"], place).fetchone() is not None
        return DroppedSession(was_there, 0 if counted is None else int(counted[0]), texts)

    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        """See `Sessions.await_embedding`."""
        values = {
            "collection": collection, "session_ids": list(tokens), "tokens": list(tokens.values()),
            "models": list(models),
        }  # fmt: skip
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["await_embedding"], values).fetchall()
        return dict(rows)

    def begin_embedding(self, collection: str, session_ids: Sequence[str]) -> None:
        """See `Sessions.begin_embedding`."""
        with within(self._pool, collection) as connection:
            values = {"collection": collection, "session_ids": list(session_ids)}
            connection.execute(_SQL["begin_embedding"], values)

    def pending(
        self, collection: str, session_ids: Sequence[str], *, model: str, limit: int
    ) -> Sequence[PendingPassage]:
        """See `Sessions.pending`."""
        values = {"collection": collection, "session_ids": list(session_ids), "model": model, "limit": limit}
        with within(self._pool, collection) as connection:
            return [PendingPassage(*row) for row in connection.execute(_SQL["pending"], values)]

    def count_pending(self, collection: str, session_ids: Sequence[str], *, model: str) -> int:
        """See `Sessions.count_pending`."""
        values = {"collection": collection, "session_ids": list(session_ids), "model": model}
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["pending_count"], values).fetchone()
        return 0 if row is None else int(row[0])

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Sessions.fill`."""
        embeddings = {"model": model, "embeddings": [literal(vector) for vector in vectors]}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["fill"], _pending_columns(collection, passages) | embeddings)

    def refuse(self, collection: str, passages: Sequence[PendingPassage], *, model: str) -> Sequence[str]:
        """See `Sessions.refuse`."""
        with within(self._pool, collection) as connection:
            values = _pending_columns(collection, passages) | {"model": model}
            return [id_ for (id_,) in connection.execute(_SQL["refuse"], values)]

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """See `Sessions.searched_by`."""
        values = {"collection": collection, "model": first}
        with within(self._pool, collection) as connection:
            if first is not None:
                connection.execute(_SQL["first_model"], values)
            row = connection.execute(_SQL["searched_model"], values).fetchone()
        return None if row is None else str(row[0])

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """See `Sessions.lacking`."""
        values = {"collection": collection, "model": model, "part": part, "parts": parts}
        with within(self._pool, collection) as connection:
            unhurried(connection)
            return [id_ for (id_,) in connection.execute(_SQL["lacking_sessions"], values)]

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """See `Sessions.add_model`."""
        values = {"collection": collection, "session_id": session_id, "model": model}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["add_model"], values)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Sessions.switch`."""
        values = {"collection": collection, "model": model}
        with within(self._pool, collection) as connection:
            unhurried(connection)
            return connection.execute(_SQL["switch_model"], values).fetchone() is not None

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Sessions.drop_other_models`."""
        with within(self._pool, collection) as connection:
            unhurried(connection)
            connection.execute(_SQL["drop_other_models"], {"collection": collection, "model": model})

    def collections(self) -> Sequence[str]:
        """See `Sessions.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["chat_collections"])]

    def leave(self, collection: str) -> str | None:
        """See `Sessions.leave`."""
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["leave_collection"], {"collection": collection}).fetchone()
        return None if row is None else str(row[0])


def _session_columns(prepared: Sequence[PreparedSession]) -> dict[str, list[Any]]:
    sessions = [each.session for each in prepared]
    return {
        "names": [session.name for session in sessions],
        "user_names": [session.user_name for session in sessions],
        "starts": [session.started_at for session in sessions],
        "metadata": [Jsonb(session.model_extra or {}) for session in sessions],
        "revisions": [each.revision for each in prepared],
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


def _pending_columns(collection: str, passages: Sequence[PendingPassage]) -> dict[str, Any]:
    return {
        "collection": collection,
        "vector_ids": [passage.vector_id for passage in passages],
        "contents": [passage.content for passage in passages],
    }
