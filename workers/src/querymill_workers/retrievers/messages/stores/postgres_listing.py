"""Chat sessions in PostgreSQL as a list shows and an export holds them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from psycopg import sql

from querymill_shared.contracts.documents import DocumentCard
from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.filters import Column, predicate
from querymill_workers.postgres.metadata_index import Noted, Spelled
from querymill_workers.postgres.queries import statements

_SQL: Final = statements("querymill_workers.retrievers.messages.stores", "postgres_sessions.sql")
#: Where the reserved fields of a filter on sessions are stored.
_FIELDS: Final = {
    "user_name": Column(sql.SQL("s.user_name")),
    "role": Column(
        sql.SQL(
            "ARRAY(SELECT m.role FROM chat_messages AS m"
            " WHERE m.collection = s.collection AND m.session_id = s.session_id)"
        ),
        many=True,
        spelled=Spelled(
            sql.SQL("SELECT m.session_id FROM chat_messages AS m WHERE m.collection = %(collection)s AND {}"),
            text=sql.SQL("m.role"),
            absent=sql.SQL("m.role IS NULL"),
        ),
    ),
    "session_id": Column(sql.SQL("s.session_id")),
    "time": Column(sql.SQL("s.started_at"), "time"),
}
_NOTED: Final = Noted(sql.SQL("s.session_id"), ["chat_sessions"], "session_id")


class SessionListing:
    """Lists, counts and reads whole sessions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `Sessions.listed`."""
        statement, values = _filtered("list_sessions", conditions)
        with within(self._pool, collection) as connection:
            rows = connection.execute(
                statement, {**values, "collection": collection, "limit": limit, "after": after}
            ).fetchall()
        return [
            DocumentCard(id=id_, title=name, when=when, size=size, unit="messages", metadata=metadata)
            for id_, name, when, size, metadata in rows
        ]

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `Sessions.count`."""
        statement, values = _filtered("count_sessions", conditions)
        with within(self._pool, collection) as connection:
            row = connection.execute(statement, {**values, "collection": collection}).fetchone()
        return 0 if row is None else int(row[0])

    def whole(self, collection: str, session_ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """See `Sessions.whole`."""
        values = {"collection": collection, "session_ids": list(session_ids)}
        found: dict[str, dict[str, Any]] = {}
        with within(self._pool, collection) as connection:
            for session_id, name, user, started, metadata, *message in connection.execute(
                _SQL["whole_sessions"], values
            ):
                known = found.setdefault(session_id, _session(session_id, name, user, started, metadata))
                known["messages"].append(_message(*message))
        return found


def _filtered(name: str, conditions: Mapping[str, Any]) -> tuple[sql.Composed, Mapping[str, Any]]:
    filters = predicate(conditions, _FIELDS, metadata=sql.SQL("s.metadata"), noted=_NOTED)
    return sql.SQL(_SQL[name]).format(filters=filters.text), filters.values


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
