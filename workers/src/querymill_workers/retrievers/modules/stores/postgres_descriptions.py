"""The descriptions of code documents and their vectors in PostgreSQL, where the words are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.modules.ports import NearDescriptions, PendingDescription, Vector
from querymill_workers.retrievers.modules.rules.documents import DocumentId, decode_id, encode_id

_SQL: Final = statements("querymill_workers.retrievers.modules.stores", "postgres_descriptions.sql")

#: Vectors dropped in one transaction.
DROPPED_AT_ONCE: Final = 2_000


class PostgresDescriptions:
    """`Descriptions` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def put(self, collection: str, passages: Mapping[DocumentId, Sequence[str]]) -> None:
        """See `Descriptions.put`."""
        rows = [
            PendingDescription(document, number, text)
            for document, texts in passages.items()
            for number, text in enumerate(texts)
        ]
        place = {"collection": collection, "documents": _encoded(list(passages)), **_columns(rows)}
        with within(self._pool, collection) as connection:
            for statement in ("drop_passages", "put_passages", "note_described"):
                connection.execute(_SQL[statement], place)

    def drop(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """See `Descriptions.drop`."""
        place = {"collection": collection, "documents": _encoded(documents), **_columns([])}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["drop_passages"], place)

    def undescribed(self, collection: str, *, limit: int) -> Sequence[DocumentId]:
        """See `Descriptions.undescribed`."""
        return [decode_id(document) for (document,) in self._rows("undescribed", collection, limit=limit)]

    def pending(self, collection: str, *, model: str, limit: int) -> Sequence[PendingDescription]:
        """See `Descriptions.pending`."""
        rows = self._rows("pending_passages", collection, model=model, limit=limit)
        return [PendingDescription(decode_id(document), number, text) for document, number, text in rows]

    def still_pending(
        self, collection: str, passages: Sequence[PendingDescription], *, model: str
    ) -> Sequence[PendingDescription]:
        """See `Descriptions.still_pending`."""
        left = set(self._rows("still_pending", collection, model=model, **_columns(passages)))
        return [passage for passage in passages if (encode_id(passage.document), passage.number) in left]

    def fill(
        self,
        collection: str,
        passages: Sequence[PendingDescription],
        vectors: Sequence[Vector | None],
        *,
        model: str,
    ) -> None:
        """See `Descriptions.fill`."""
        written = [None if vector is None else literal(vector) for vector in vectors]
        values = {"collection": collection, "model": model, "embeddings": written, **_columns(passages)}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["fill_passages"], values)

    def retry(self, collection: str, *, model: str) -> None:
        """See `Descriptions.retry`."""
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["drop_refused_passages"], {"collection": collection, "model": model})

    def count_pending(self, collection: str, *, model: str) -> int:
        """See `Descriptions.count_pending`."""
        ((pending,),) = self._rows("count_pending_descriptions", collection, model=model)
        return int(pending)

    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> NearDescriptions:
        """See `Descriptions.nearest`."""
        chosen = None if documents is None else _encoded(documents)
        values = {"vector": literal(vector), "model": model, "limit": limit, "documents": chosen}
        rows = self._rows("nearest_descriptions", collection, **values)
        found = [(decode_id(document), cosine) for _, document, cosine in rows if document is not None]
        return NearDescriptions(found, rows[0][0])

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Descriptions.drop_other_models`."""
        while self._rows("drop_other_description_vectors", collection, model=model, limit=DROPPED_AT_ONCE):
            pass

    def _rows(self, statement: str, collection: str, **values: Any) -> list[tuple[Any, ...]]:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], values | {"collection": collection}).fetchall()


def _encoded(documents: Sequence[DocumentId]) -> list[str]:
    return sorted({encode_id(document) for document in documents})


def _columns(passages: Sequence[PendingDescription]) -> dict[str, list[Any]]:
    return {
        "owners": [encode_id(passage.document) for passage in passages],
        "numbers": [passage.number for passage in passages],
        "texts": [passage.text for passage in passages],
    }
