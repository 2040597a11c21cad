"""Notes in PostgreSQL."""

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from querymill_shared.contracts.notes.ingest import Note
from querymill_workers.postgres.connection import Pool, lent
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.notes.ports import Notes

_SQL: Final = statements("querymill_workers.retrievers.notes.stores", "postgres.sql")


class PostgresNotes(Notes):
    """`Notes` on PostgreSQL."""

    kind: Final = "notes"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def put(self, collection: str, note: Note) -> None:
        values = {"collection": collection, "note_id": note.note_id, "content": note.text}
        with lent(self._pool) as connection:
            connection.execute(_SQL["put_note"], values)

    @override
    def texts(self, collection: str, note_ids: Sequence[str]) -> Mapping[str, str]:
        values = {"collection": collection, "note_ids": list(note_ids)}
        with lent(self._pool) as connection:
            return dict(connection.execute(_SQL["note_texts"], values).fetchall())

    @override
    def collections(self) -> Sequence[str]:
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["note_collections"]).fetchall()]
