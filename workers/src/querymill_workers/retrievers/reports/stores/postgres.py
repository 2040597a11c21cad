"""Reports in PostgreSQL. Every statement names its collection."""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from typing_extensions import override

from querymill_workers.postgres.connection import Pool, literal, within
from querymill_workers.postgres.queries import statements
from querymill_workers.postgres.reading import snapshot
from querymill_workers.retrievers.reports.ports import (
    FoundPassage,
    MeasuredPassage,
    PassageText,
    Reports,
    UnembeddedReports,
)
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard
from querymill_workers.vectors.postgres import VectorTables

_SQL: Final = statements("querymill_workers.retrievers.reports.stores", "postgres.sql")

VECTORS: Final = VectorTables("report_passages", "report_vectors", document="sha1")

#: Collections whose list of reports is cached in memory. A list is read again once its generation has changed.
CACHED_COLLECTIONS = 64


class PostgresReports(Reports):
    """`Reports` on PostgreSQL with pgvector. Search is exact, because the filter by document leaves few rows."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cards: LRUCache[tuple[str, int], Sequence[ReportCard]] = LRUCache(CACHED_COLLECTIONS)
        self._lock = threading.Lock()

    @contextmanager
    @override
    def reading(self) -> Iterator[None]:
        with snapshot(self._pool):
            yield

    @override
    def cards(self, collection: str) -> Sequence[ReportCard]:
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["generation"], {"collection": collection}).fetchone()
            key = (collection, row[0] if row else 0)
            with self._lock:
                cached = self._cards.get(key)
            if cached is not None:
                return cached
            rows = connection.execute(_SQL["cards"], {"collection": collection}).fetchall()
        cards = [_card(*row) for row in rows]
        with self._lock:
            self._cards[key] = cards
        return cards

    @override
    def search(
        self,
        collection: str,
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
        documents: Sequence[str],
        depth: int,
        per_document: bool,
        pages: bool,
    ) -> list[FoundPassage]:
        texts = list(queries)
        statement = ("search_each" if per_document else "search_all") + ("_pages" if pages else "")
        values = {
            "collection": collection,
            "model": model,
            "documents": list(documents),
            "embeddings": [literal(vector) for vector in queries.values()],
            "depth": depth,
        }
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL[statement], values).fetchall()
        return [FoundPassage(texts[number - 1], *passage) for number, *passage in rows]

    @override
    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        documents = sorted({key.document for key in keys})
        found: dict[HitKey, PassageText] = {}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["cards_of"], {"collection": collection, "documents": documents})
            cards = {card.sha1: (card, metadata) for card, metadata in ((_card(*row[:6]), row[6]) for row in rows)}
            for unit in {key.unit for key in keys}:
                wanted = [key for key in keys if key.unit == unit]
                values = {
                    "collection": collection,
                    "documents": [key.document for key in wanted],
                    "numbers": [key.number for key in wanted],
                }
                for sha1, number, page, text in connection.execute(_SQL[f"{unit}_texts"], values):
                    key = HitKey(sha1, unit, number)
                    found[key] = PassageText(key, page, text, *cards[sha1])
        return found

    @override
    def waiting(self, collection: str, documents: Sequence[str], *, model: str) -> UnembeddedReports:
        values = {"collection": collection, "model": model, "documents": list(documents)}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["waiting"], values).fetchall()
        return UnembeddedReports([row[0] for row in rows], sum(row[1] for row in rows), sum(row[2] for row in rows))

    @override
    def unembedded(self, collection: str, chunks: Sequence[HitKey], *, model: str) -> Mapping[HitKey, int]:
        values = {
            "collection": collection,
            "model": model,
            "documents": [key.document for key in chunks],
            "numbers": [key.number for key in chunks],
        }
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["unembedded"], values).fetchall()
        return {HitKey(sha1, "chunk", number): page for sha1, number, page in rows}

    @override
    def measured(
        self,
        collection: str,
        chunks: Sequence[HitKey],
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
    ) -> Mapping[HitKey, MeasuredPassage]:
        texts = list(queries)
        values = {
            "collection": collection,
            "model": model,
            "documents": [key.document for key in chunks],
            "numbers": [key.number for key in chunks],
            "embeddings": [literal(vector) for vector in queries.values()],
        }
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["measured"], values).fetchall()
        pages: dict[HitKey, int] = {}
        products: dict[HitKey, dict[str, float]] = defaultdict(dict)
        for sha1, number, page, query, inner_product in rows:
            key = HitKey(sha1, "chunk", number)
            pages[key] = page
            if inner_product is not None:
                products[key][texts[query - 1]] = inner_product
        return {key: MeasuredPassage(page, products.get(key, {})) for key, page in pages.items()}


def _card(
    sha1: str, title: str, company: str | None, aliases: list[str], period: str | None, published_at: object
) -> ReportCard:
    return ReportCard(sha1, title, company, tuple(aliases), period, published_at)  # type: ignore[arg-type]  # a date column
