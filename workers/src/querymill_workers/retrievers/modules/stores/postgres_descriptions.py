"""The descriptions of code documents in PostgreSQL, where the words are."""

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.modules.ports import Descriptions, NearDescriptions
from querymill_workers.retrievers.modules.rules.documents import DocumentId, read_id, shown_id
from querymill_workers.vectors.keys import keys_of
from querymill_workers.vectors.ports import Vector
from querymill_workers.vectors.postgres import VectorTables

_SQL: Final = statements("querymill_workers.retrievers.modules.stores", "postgres_descriptions.sql")

VECTORS: Final = VectorTables("module_passages", "module_vectors")


class PostgresDescriptions(Descriptions):
    """`Descriptions` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def put(self, collection: str, passages: Mapping[DocumentId, Sequence[str]]) -> None:
        rows = [
            (shown_id(document), key, text)
            for document, texts in passages.items()
            for key, text in zip(keys_of(texts), texts, strict=True)
        ]
        place = {
            "collection": collection,
            "documents": _shown(list(passages)),
            "owners": [document for document, _, _ in rows],
            "keys": [key for _, key, _ in rows],
            "texts": [text for _, _, text in rows],
        }
        with within(self._pool, collection) as connection:
            for statement in ("drop_passages", "put_passages"):
                connection.execute(_SQL[statement], place)

    @override
    def drop(self, collection: str, documents: Sequence[DocumentId]) -> None:
        self.put(collection, {document: [] for document in documents})

    @override
    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> NearDescriptions:
        chosen = None if documents is None else _shown(documents)
        values = {"vector": literal(vector), "model": model, "limit": limit, "documents": chosen}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["nearest_descriptions"], values | {"collection": collection}).fetchall()
        found = [(read_id(document), cosine) for _, document, cosine in rows if document is not None]
        return NearDescriptions(found, rows[0][0])


def _shown(documents: Sequence[DocumentId]) -> list[str]:
    return sorted({shown_id(document) for document in documents})
