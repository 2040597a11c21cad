"""Vectors of single texts in PostgreSQL. Every statement names its collection."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.connection import Pool, lent, literal
from querymill_workers.postgres.queries import statements
from querymill_workers.services.ports import TextVector

_SQL: Final = statements("querymill_workers.services.stores", "postgres.sql")


class PostgresTextVectors:
    """`TextVectors` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """See `TextVectors.stored`."""
        values = {"collection": collection, "model": model, "text_ids": list(text_ids)}
        with lent(self._pool) as connection:
            rows = connection.execute(_SQL["stored_texts"], values).fetchall()
        return {text_id: ContentHash(content) for text_id, content in rows}

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """See `TextVectors.store`."""
        rows = [
            {
                "collection": collection,
                "text_id": vector.text_id,
                "model": model,
                "content": vector.content,
                "embedding": literal(vector.embedding),
            }
            # In a fixed order, so that two jobs that write the same rows wait for each other instead of deadlocking.
            for vector in sorted(vectors, key=lambda vector: vector.text_id)
        ]
        with lent(self._pool) as connection, connection.cursor() as cursor:
            cursor.executemany(_SQL["store_text"], rows)
