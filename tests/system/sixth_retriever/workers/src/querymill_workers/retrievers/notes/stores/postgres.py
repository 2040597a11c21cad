"""Notes in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.notes.ingest import Note
from querymill_workers.postgres.connection import Pool, lent
from querymill_workers.postgres.queries import statements

_SQL: Final = statements("querymill_workers.retrievers.notes.stores", "postgres.sql")


class PostgresNotes:
    """`Notes` on PostgreSQL."""

    kind: Final = "notes"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def put(self, collection: str, note: Note) -> None:
        """See `Notes.put`."""
        values = {"collection": collection, "note_id": note.note_id, "content": note.text}
        with lent(self._pool) as connection:
            connection.execute(_SQL["put_note"], values)

    def texts(self, collection: str, note_ids: Sequence[str]) -> Mapping[str, str]:
        """See `Notes.texts`."""
        values = {"collection": collection, "note_ids": list(note_ids)}
        with lent(self._pool) as connection:
            return dict(connection.execute(_SQL["note_texts"], values).fetchall())

    def collections(self) -> Sequence[str]:
        """See `Notes.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["note_collections"]).fetchall()]
