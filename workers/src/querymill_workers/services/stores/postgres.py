"""Vectors of single texts in PostgreSQL. Each statement names its collection and runs as a role that sees no other."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from typing_extensions import override

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
from querymill_workers.services.ports import TextVector, TextVectors, contents_of

_SQL: Final = statements("querymill_workers.services.stores", "postgres.sql")


class PostgresTextVectors(TextVectors):
    """`TextVectors` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        values = {"collection": collection, "model": model, "text_ids": list(text_ids)}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["stored_texts"], values).fetchall()
        return {text_id: ContentHash(content) for text_id, content in rows}

    @override
    def holds(self, collection: str) -> bool:
        with within(self._pool, collection) as connection:
            return bool(connection.execute(_SQL["any_text"], {"collection": collection}).fetchall())

    @override
    def drop(self, collection: str, *, text_ids: Collection[str], texts: Collection[str]) -> None:
        values = {"collection": collection, "text_ids": list(text_ids), "contents": list(contents_of(texts))}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["forget_texts"], values)

    @override
    def drop_all(self, collection: str) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["clear_texts"], {"collection": collection})

    @override
    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        rows = [
            {
                "collection": collection,
                "text_id": vector.text_id,
                "model": model,
                "content": vector.content,
                "embedding": literal(vector.embedding),
                "document": vector.document,
            }
            # In a fixed order, so that two jobs that write the same rows wait for each other instead of deadlocking.
            for vector in sorted(vectors, key=lambda vector: vector.text_id)
        ]
        with within(self._pool, collection) as connection, connection.cursor() as cursor:
            cursor.executemany(_SQL["store_text"], rows)

    @override
    def assign(self, collection: str, documents: Mapping[str, str], *, model: str) -> None:
        values = {"text_ids": list(documents), "documents": list(documents.values())}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["assign_texts"], {"collection": collection, "model": model} | values)
