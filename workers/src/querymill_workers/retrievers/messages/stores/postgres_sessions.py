"""Chat sessions in PostgreSQL: ingested, embedded, embedded with another model, dropped.

Every statement names its collection and runs as a role that sees no other, like the searches in ``postgres.py``.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, lent, literal
from querymill_workers.postgres.queries import SESSION, statements
from querymill_workers.retrievers.messages.ports import PreparedSession
from querymill_workers.retrievers.messages.rules.sessions import MessagePassage, PendingPassage

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres_sessions.sql")

#: Sessions that one process changes at the same time. Each holds a connection of the pool and needs a second one.
MAX_CHANGING: Final = 6


class PostgresSessions:
    """`Sessions` in PostgreSQL with pgvector."""

    kind: Final = "messages"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._may_change = threading.BoundedSemaphore(MAX_CHANGING)

    @contextmanager
    def changing(self, collection: str, session_id: str) -> Iterator[None]:
        """See `Sessions.changing`."""
        place = {"collection": collection, "session_id": session_id}
        with self._may_change, lent(self._pool) as connection:
            connection.execute(_SQL["session_change"], place)
            yield

    def revision(self, collection: str, session_id: str) -> Revision | None:
        """See `Sessions.revision`."""
        values = {"collection": collection, "session_id": session_id}
        with self._within(collection) as connection:
            row = connection.execute(_SQL["session_revision"], values).fetchone()
        return None if row is None or row[0] is None else Revision(row[0])

    def ids(self, collection: str) -> Sequence[str]:
        """See `Sessions.ids`."""
        with self._within(collection) as connection:
            return [id_ for (id_,) in connection.execute(_SQL["session_ids"], {"collection": collection})]

    def passages_except(self, collection: str, session_id: str, *, keeping: Sequence[str]) -> Sequence[PendingPassage]:
        """See `Sessions.passages_except`."""
        return self._listed("passages_except", collection, session_id, vector_ids=list(keeping))

    def put(self, collection: str, prepared: PreparedSession, *, models: Sequence[str]) -> None:
        """See `Sessions.put`."""
        session = prepared.session
        place = {"collection": collection, "session_id": session.session_id}
        described = {
            "name": session.name,
            "user_name": session.user_name,
            "started_at": session.started_at,
            "metadata": Jsonb(session.model_extra or {}),
            "revision": prepared.revision,
        }
        with self._within(collection) as connection:
            connection.execute(_SQL["put_session"], place | described)
            messages = _message_columns(prepared)
            connection.execute(_SQL["drop_messages"], place | messages)
            connection.execute(_SQL["add_messages"], place | messages)
            columns = _passage_columns(prepared.passages)
            connection.execute(_SQL["drop_passages"], place | columns)
            connection.execute(_SQL["put_passages"], place | columns | {"models": list(models)})

    def passages(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.passages`."""
        return self._listed("session_passages", collection, session_id)

    def unindexed(self, collection: str, session_id: str) -> Sequence[PendingPassage]:
        """See `Sessions.unindexed`."""
        return self._listed("unindexed", collection, session_id)

    def mark_indexed(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """See `Sessions.mark_indexed`."""
        with self._within(collection) as connection:
            connection.execute(_SQL["mark_indexed"], _pending_columns(collection, passages))

    def complete(self, collection: str, session_id: str, revision: Revision) -> None:
        """See `Sessions.complete`."""
        values = {"collection": collection, "session_id": session_id, "revision": revision}
        with self._within(collection) as connection:
            connection.execute(_SQL["complete_session"], values)

    def forget(self, collection: str, session_id: str) -> bool:
        """See `Sessions.forget`."""
        place = {"collection": collection, "session_id": session_id}
        with self._within(collection) as connection:
            connection.execute(_SQL["forget_passages"], place)
            connection.execute(_SQL["drop_messages"], place | {"keys": []})
            return connection.execute(_SQL["forget_session"], place).fetchone() is not None

    def await_embedding(self, collection: str, session_id: str, *, models: Sequence[str], token: str) -> str | None:
        """See `Sessions.await_embedding`."""
        values = {"collection": collection, "session_id": session_id, "models": list(models), "token": token}
        with self._within(collection) as connection:
            row = connection.execute(_SQL["await_embedding"], values).fetchone()
        return None if row is None else str(row[0])

    def begin_embedding(self, collection: str, session_id: str) -> None:
        """See `Sessions.begin_embedding`."""
        with self._within(collection) as connection:
            connection.execute(_SQL["begin_embedding"], {"collection": collection, "session_id": session_id})

    def pending(self, collection: str, session_id: str, *, model: str) -> Sequence[PendingPassage]:
        """See `Sessions.pending`."""
        return self._listed("pending", collection, session_id, model=model)

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors, *, model: str) -> None:
        """See `Sessions.fill`."""
        embeddings = {"model": model, "embeddings": [literal(vector) for vector in vectors]}
        with self._within(collection) as connection:
            connection.execute(_SQL["fill"], _pending_columns(collection, passages) | embeddings)

    def searched_by(self, collection: str, *, first: str | None = None) -> str | None:
        """See `Sessions.searched_by`."""
        values = {"collection": collection, "model": first}
        with self._within(collection) as connection:
            if first is not None:
                connection.execute(_SQL["first_model"], values)
            row = connection.execute(_SQL["searched_model"], values).fetchone()
        return None if row is None else str(row[0])

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """See `Sessions.lacking`."""
        values = {"collection": collection, "model": model, "part": part, "parts": parts}
        with self._within(collection) as connection:
            connection.execute(SESSION["unhurried"])
            return [id_ for (id_,) in connection.execute(_SQL["lacking_sessions"], values)]

    def add_model(self, collection: str, session_id: str, *, model: str) -> None:
        """See `Sessions.add_model`."""
        values = {"collection": collection, "session_id": session_id, "model": model}
        with self._within(collection) as connection:
            connection.execute(_SQL["add_model"], values)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `Sessions.switch`."""
        values = {"collection": collection, "model": model}
        with self._within(collection) as connection:
            connection.execute(SESSION["unhurried"])
            return connection.execute(_SQL["switch_model"], values).fetchone() is not None

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Sessions.drop_other_models`."""
        with self._within(collection) as connection:
            connection.execute(SESSION["unhurried"])
            connection.execute(_SQL["drop_other_models"], {"collection": collection, "model": model})

    def collections(self) -> Sequence[str]:
        """See `Sessions.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["chat_collections"])]

    def _listed(self, statement: str, collection: str, session_id: str, **values: Any) -> Sequence[PendingPassage]:
        place = {"collection": collection, "session_id": session_id}
        with self._within(collection) as connection:
            return [PendingPassage(*row) for row in connection.execute(_SQL[statement], place | values)]

    @contextmanager
    def _within(self, collection: str) -> Iterator[psycopg.Connection[TupleRow]]:
        """Lend a connection that sees one collection, for one transaction."""
        with lent(self._pool) as connection, connection.pipeline():
            connection.execute(SESSION["as_reader"], {"collection": collection})
            yield connection


def _message_columns(prepared: PreparedSession) -> dict[str, list[Any]]:
    given = prepared.session.messages
    return {
        "keys": [message.key for message in prepared.messages],
        "numbers": list(range(len(given))),
        "message_ids": [message.message_id for message in given],
        "roles": [message.role for message in given],
        "contents": [message.text for message in given],
        "times": [message.created_at for message in prepared.messages],
        "metadata": [Jsonb(message.model_extra or {}) for message in given],
    }


def _passage_columns(passages: Sequence[MessagePassage]) -> dict[str, list[Any]]:
    return {
        "vector_ids": [passage.vector_id for passage in passages],
        "keys": [passage.message_key for passage in passages],
        "message_ids": [passage.message_id for passage in passages],
        "vector_types": [passage.vector_type for passage in passages],
        "contents": [passage.content for passage in passages],
        "times": [passage.created_at for passage in passages],
        "arounds": [Jsonb(list(passage.around)) for passage in passages],
    }


def _pending_columns(collection: str, passages: Sequence[PendingPassage]) -> dict[str, Any]:
    return {
        "collection": collection,
        "vector_ids": [passage.vector_id for passage in passages],
        "contents": [passage.content for passage in passages],
    }
