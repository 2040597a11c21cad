"""The register of code documents in PostgreSQL, where their words are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id
from querymill_workers.retrievers.modules.stores.register import Register

_SQL: Final = statements("querymill_workers.retrievers.modules.stores", "postgres_register.sql")


class PostgresRegister(Register):
    """`Register` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def registered(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, str]:
        encoded = {encode_id(document): document for document in documents}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["registered"], _place(collection, documents)).fetchall()
        return {encoded[name]: record for name, record in rows}

    @override
    def register(self, collection: str, documents: Sequence[DocumentId], record: str) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["register"], {**_place(collection, documents), "record": record})

    @override
    def strike(self, collection: str, documents: Sequence[DocumentId]) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["strike"], _place(collection, documents))


def _place(collection: str, documents: Sequence[DocumentId]) -> dict[str, Any]:
    return {"collection": collection, "documents": sorted({encode_id(document) for document in documents})}
