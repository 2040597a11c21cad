"""Reports in PostgreSQL. Every statement names its collection."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from psycopg.types.json import Jsonb

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, lent, literal
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.reports.ports import FoundPassage, PassageText
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard

_SQL: Final = statements("querymill_workers.retrievers.reports.stores", "postgres.sql")

#: Collections whose list of reports is cached in memory. A list is read again once its generation has changed.
CACHED_COLLECTIONS = 64


class PostgresReports:
    """`Reports` on PostgreSQL with pgvector. Search is exact, because the filter by document leaves few rows."""

    kind: Final = "reports"

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._cards: LRUCache[tuple[str, str, int], Sequence[ReportCard]] = LRUCache(CACHED_COLLECTIONS)
        self._lock = threading.Lock()

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """See `Reports.cards`."""
        with lent(self._pool) as connection:
            row = connection.execute(_SQL["generation"], {"collection": collection}).fetchone()
            key = (collection, model, row[0] if row else 0)
            with self._lock:
                cached = self._cards.get(key)
            if cached is not None:
                return cached
            rows = connection.execute(_SQL["cards"], {"collection": collection, "model": model}).fetchall()
        cards = [_card(*row) for row in rows]
        with self._lock:
            self._cards[key] = cards
        return cards

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
        """See `Reports.search`."""
        texts = list(queries)
        statement = ("search_each" if per_document else "search_all") + ("_pages" if pages else "")
        values = {
            "collection": collection,
            "model": model,
            "documents": list(documents),
            "embeddings": [literal(vector) for vector in queries.values()],
            "depth": depth,
        }
        with lent(self._pool) as connection:
            rows = connection.execute(_SQL[statement], values).fetchall()
        return [FoundPassage(texts[number - 1], *passage) for number, *passage in rows]

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """See `Reports.texts`."""
        documents = sorted({key.document for key in keys})
        found: dict[HitKey, PassageText] = {}
        with lent(self._pool) as connection:
            rows = connection.execute(_SQL["cards_of"], {"collection": collection, "documents": documents})
            cards = {card.sha1: card for card in (_card(*row) for row in rows)}
            for unit in {key.unit for key in keys}:
                wanted = [key for key in keys if key.unit == unit]
                values = {
                    "collection": collection,
                    "documents": [key.document for key in wanted],
                    "numbers": [key.number for key in wanted],
                }
                for sha1, number, page, text in connection.execute(_SQL[f"{unit}_texts"], values):
                    key = HitKey(sha1, unit, number)
                    found[key] = PassageText(key, page, text, cards[sha1])
        return found

    def revision(self, collection: str, document: str) -> Revision | None:
        """See `Reports.revision`."""
        with lent(self._pool) as connection:
            values = {"collection": collection, "document": document}
            row = connection.execute(_SQL["revision"], values).fetchone()
        return None if row is None else Revision(row[0])

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """See `Reports.drafted`."""
        values = {"collection": collection, "document": document, "revision": revision}
        with lent(self._pool) as connection:
            return {number for (number,) in connection.execute(_SQL["drafted"], values)}

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """See `Reports.draft`."""
        rows = [
            {
                "collection": collection,
                "document": document,
                "revision": revision,
                "number": chunk.number,
                "page": chunk.page,
                "text": chunk.text,
                "tokens": chunk.tokens,
                "embedding": literal(vector),
            }
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]
        with lent(self._pool) as connection, connection.cursor() as cursor:
            cursor.executemany(_SQL["draft"], rows)

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """See `Reports.publish`."""
        place = {"collection": collection, "document": report.sha1, "revision": revision}
        row = place | {
            "title": report.title,
            "company": report.company,
            "aliases": list(report.aliases),
            "period": report.period,
            "published_at": report.published_at,
            "metadata": Jsonb(report.model_extra or {}),
            "model": model,
            "passages": chunks,
        }
        pages = [place | {"page": page.page, "text": page.text} for page in report.pages]
        with lent(self._pool) as connection, connection.cursor() as cursor:
            # Two versions of a report may be ingested at once; the later one must not be published with chunks missing.
            cursor.execute(_SQL["lock_report"], place)
            cursor.execute(_SQL["count_drafted"], place)
            if cursor.fetchone() != (chunks,):
                raise Unavailable("another version of the report has been published since")
            cursor.execute(_SQL["publish"], row)
            cursor.execute(_SQL["drop_pages"], place)
            cursor.executemany(_SQL["add_page"], pages)
            cursor.execute(_SQL["drop_other_revisions"], place)
            cursor.execute(_SQL["next_generation"], place)

    def collections(self) -> Sequence[str]:
        """See `Reports.collections`."""
        with lent(self._pool) as connection:
            return [name for (name,) in connection.execute(_SQL["collections"])]


def _card(
    sha1: str, title: str, company: str, aliases: list[str], period: str | None, published_at: object
) -> ReportCard:
    return ReportCard(sha1, title, company, tuple(aliases), period, published_at)  # type: ignore[arg-type]  # a date column
