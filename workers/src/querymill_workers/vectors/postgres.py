"""Vectors in PostgreSQL with pgvector: one adapter over the tables of each retriever."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

import numpy as np
from psycopg import sql
from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.filters import Retriever
from querymill_shared.counters import FleetCounters
from querymill_shared.values import value
from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.vector_index import VectorIndexes
from querymill_workers.vectors.ports import (
    WHOLE,
    CollectionPart,
    Passage,
    PassageCounts,
    RefusedEmbedding,
    RefusedKey,
    RefusedPassage,
    Vector,
    Vectors,
)
from querymill_workers.vectors.rules.worth import VectorsWorth

_SQL: Final = statements("querymill_workers.vectors", "postgres.sql")

#: Vectors dropped in one transaction.
DROPPED_AT_ONCE: Final = 2_000


def _as_stored(_document: str, text: str) -> str:
    return text


@value
class VectorTables:
    """The tables of a retriever's passages and vectors.

    Both have the columns ``collection``, ``key`` and one for the document, by the name ``document``. The text that is
    embedded is what ``text_of`` returns of the document and of the passage's columns ``texts``.
    """

    passages: str
    vectors: str
    document: str = "document"
    texts: Sequence[str] = ("text",)
    text_of: Callable[..., str] = _as_stored


class PostgresVectors(Vectors):
    """`Vectors` on PostgreSQL. Refusals are counted in ``fleet_counters``."""

    def __init__(
        self,
        pool: Pool,
        retriever: Retriever,
        tables: VectorTables,
        fleet_counters: FleetCounters,
        indexes: VectorIndexes | None = None,
    ) -> None:
        self._retriever: Retriever = retriever
        self._pool = pool
        self._fleet_counters = fleet_counters
        self._indexes = indexes
        self._text_of = tables.text_of
        names = {name: sql.Identifier(getattr(tables, name)) for name in ("passages", "vectors", "document")}
        texts = sql.SQL(", ").join(sql.Identifier("p", name) for name in tables.texts)
        self._sql = {name: sql.SQL(text).format(**names, texts=texts) for name, text in _SQL.items()}

    @property
    @override
    def retriever(self) -> Retriever:
        return self._retriever

    @override
    def pending(
        self,
        collection: str,
        *,
        model: str,
        limit: int,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
        after: Passage | None = None,
    ) -> Sequence[Passage]:
        behind = ("", "") if after is None else after[:2]
        place = _part(part) | {"documents": _list(documents), "after": behind[0], "after_key": behind[1]}
        rows = self._rows("pending_passages", collection, model=model, limit=limit, **place)
        return [Passage(document, key, self._text_of(document, *texts)) for document, key, *texts in rows]

    @override
    def still_pending(self, collection: str, passages: Sequence[Passage], *, model: str) -> Sequence[Passage]:
        left = set(self._rows("still_pending", collection, model=model, **_places(passages)))
        return [passage for passage in passages if (passage.document, passage.key) in left]

    @override
    def fill(self, collection: str, results: Mapping[Passage, Vector | RefusedEmbedding], *, model: str) -> None:
        found = list(results.values())
        reasons = [result.reason if isinstance(result, RefusedEmbedding) else None for result in found]
        self._run(
            "fill_vectors",
            collection,
            model=model,
            embeddings=[None if isinstance(result, RefusedEmbedding) else literal(result) for result in found],
            reasons=reasons,
            **_places(list(results)),
        )
        if refused := sum(reason is not None for reason in reasons):
            self._fleet_counters.count(f"texts_refused/{self._retriever}", refused)

    @override
    def retry(
        self,
        collection: str,
        *,
        model: str | None = None,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
    ) -> None:
        self._run("retry_refused", collection, model=model, documents=_list(documents), **_part(part))

    @override
    def counts(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, part: CollectionPart = WHOLE
    ) -> PassageCounts:
        (row,) = self._rows("passage_counts", collection, model=model, documents=_list(documents), **_part(part))
        return PassageCounts(*row)

    @override
    def lacking(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, unawaited: bool = False
    ) -> Mapping[str, int]:
        values = {"model": model, "documents": _list(documents), "unawaited": unawaited}
        return dict(self._rows("lacking_documents", collection, **values))

    @override
    def active_model(self, collection: str, *, first: str | None = None) -> str | None:
        place = {"collection": collection, "kind": self._retriever, "model": first}
        with within(self._pool, collection) as connection:
            if first is not None:
                connection.execute(self._sql["first_model"], place)
            row = connection.execute(self._sql["active_model"], place).fetchone()
        return None if row is None else str(row[0])

    @override
    def switch(self, collection: str, *, model: str) -> bool:
        return bool(self._rows("switch_model", collection, model=model))

    @override
    def drop_model(self, collection: str) -> None:
        place = {"collection": collection, "kind": self._retriever, "documents": None}
        with within(self._pool, collection) as connection:
            connection.execute(self._sql["drop_model"], place)
            connection.execute(self._sql["drop_worth"], place | {"model": None})
            connection.execute(self._sql["begin_embedding"], place)

    @override
    def drop_other_models(self, collection: str, *, model: str) -> None:
        self._run("drop_worth", collection, model=model)
        while self._rows("drop_other_vectors", collection, model=model, limit=DROPPED_AT_ONCE):
            pass

    @override
    def sample(self, collection: str, *, model: str, limit: int) -> Sequence[tuple[Passage, Vector]]:
        rows = self._rows("sample_vectors", collection, model=model, limit=limit)
        return [
            (Passage(document, key, self._text_of(document, *texts)), np.array(vector, np.float32))
            for document, key, vector, *texts in rows
        ]

    @override
    def still_stored(self, collection: str, passages: Sequence[Passage]) -> Sequence[Passage]:
        left = set(self._rows("still_stored", collection, **_places(passages)))
        return [passage for passage in passages if (passage.document, passage.key) in left]

    @override
    def keep_worth(self, collection: str, worth: VectorsWorth, *, model: str) -> None:
        self._run("keep_worth", collection, model=model, worth=Jsonb(asdict(worth)))

    @override
    def worth(self, collection: str, *, model: str) -> VectorsWorth | None:
        rows = self._rows("worth", collection, model=model)
        if not rows:
            return None
        known = {field.name for field in fields(VectorsWorth)}  # a later release may keep more
        kept = {name: value for name, value in rows[0][0].items() if name in known}
        return VectorsWorth(**kept | {"points": tuple((raw, similarity) for raw, similarity in kept["points"])})

    @override
    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        given = {"documents": list(tokens), "tokens": list(tokens.values()), "models": list(models)}
        return dict(self._rows("await_embedding", collection, **given))

    @override
    def is_awaited(self, collection: str) -> bool:
        return bool(self._rows("is_awaited", collection))

    @override
    def begin_embedding(self, collection: str, documents: Collection[str] | None) -> None:
        self._run("begin_embedding", collection, documents=_list(documents))

    @override
    def refused(self, collection: str, *, limit: int, after: RefusedKey | None = None) -> Sequence[RefusedPassage]:
        behind = dict(zip(("after", "after_key", "after_model"), after or ("", "", ""), strict=True))
        rows = self._rows("refused_passages", collection, limit=limit, **behind)
        return [RefusedPassage(RefusedKey(*key), reason, at) for *key, reason, at in rows]

    @override
    def count_refused(self, collection: str) -> int:
        ((counted,),) = self._rows("count_refused", collection)
        return int(counted)

    @override
    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:
        return self._indexes is not None and self._indexes.make(collection, model, dimensions=dimensions)

    @override
    def drop_index(self, collection: str, *, model: str) -> None:
        if self._indexes is not None:
            self._indexes.drop(collection, model)

    def _rows(self, statement: str, collection: str, **values: Any) -> list[tuple[Any, ...]]:
        with within(self._pool, collection) as connection:
            place = {"collection": collection, "kind": self._retriever}
            return connection.execute(self._sql[statement], values | place).fetchall()

    def _run(self, statement: str, collection: str, **values: Any) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(self._sql[statement], values | {"collection": collection, "kind": self._retriever})


def _list(documents: Collection[str] | None) -> list[str] | None:
    return None if documents is None else list(documents)


def _places(passages: Sequence[Passage]) -> dict[str, list[str]]:
    return {"documents": [each.document for each in passages], "keys": [each.key for each in passages]}


def _part(part: CollectionPart) -> dict[str, Any]:
    return {"part": part.number, "parts": part.of}
