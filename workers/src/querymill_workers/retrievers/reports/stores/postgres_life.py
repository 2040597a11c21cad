"""The life of reports in PostgreSQL. Every statement names its collection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.reports.ports import PreparedReport, ReportLife
from querymill_workers.retrievers.reports.rules.chunking import Chunk

_SQL: Final = statements("querymill_workers.retrievers.reports.stores", "postgres_life.sql")

#: Passages, or pages, that one statement stores.
STORED_AT_ONCE: Final = 1_000


class PostgresReportLife(ReportLife):
    """`ReportLife` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def indexed(self, collection: str, document: str) -> int:
        row = self._row("indexed", collection, document)
        return 0 if row is None else int(row[0])

    @override
    def set_indexed(self, collection: str, document: str, entries: int) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["set_indexed"], _place(collection, document) | {"indexed": entries})

    @override
    def put(self, collection: str, prepared: PreparedReport) -> None:
        report, place = prepared.report, _place(collection, prepared.report.sha1)
        with within(self._pool, collection) as connection:
            connection.execute(
                _SQL["put_report"],
                _row_of(report) | place | {"passages": len(prepared.chunks), "tickers": list(prepared.tickers)},
            )
            connection.execute(_SQL["drop_other_passages"], place | {"keys": list(prepared.keys)})
            for start in range(0, len(prepared.chunks), STORED_AT_ONCE):
                chosen = slice(start, start + STORED_AT_ONCE)
                connection.execute(
                    _SQL["put_passages"], place | _columns(prepared.keys[chosen], prepared.chunks[chosen])
                )
            connection.execute(_SQL["drop_pages"], place)
            for start in range(0, len(report.pages), STORED_AT_ONCE):
                pages = report.pages[start : start + STORED_AT_ONCE]
                columns = {"pages": [page.page for page in pages], "texts": [page.text for page in pages]}
                connection.execute(_SQL["add_pages"], place | columns)
            connection.execute(_SQL["next_generation"], place)

    @override
    def chunks(self, collection: str, document: str) -> Sequence[Chunk]:
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["passages"], _place(collection, document)).fetchall()
        return [Chunk(*row) for row in rows]

    @override
    def drop(self, collection: str, document: str) -> int:
        place = _place(collection, document)
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["drop_report"], place).fetchone()
            connection.execute(_SQL["drop_passages"], place)
            connection.execute(_SQL["drop_pages"], place)
            connection.execute(_SQL["next_generation"], place)
        return 0 if row is None else int(row[0])

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Report]:
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["whole"], {"collection": collection, "ids": list(ids)}).fetchall()
        names = ("sha1", "title", "company", "aliases", "period", "published_at")
        return {
            row[0]: Report.model_validate({**row[6], **dict(zip(names, row[:6], strict=True)), "pages": row[7] or []})
            for row in rows
        }

    def _row(self, statement: str, collection: str, document: str) -> TupleRow | None:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], _place(collection, document)).fetchone()


def _columns(keys: Sequence[str], chunks: Sequence[Chunk]) -> dict[str, Any]:
    return {
        "keys": list(keys),
        "numbers": [chunk.number for chunk in chunks],
        "pages": [chunk.page for chunk in chunks],
        "texts": [chunk.text for chunk in chunks],
        "tokens": [chunk.tokens for chunk in chunks],
    }


def _row_of(report: Report) -> dict[str, Any]:
    return {
        "title": report.title,
        "company": report.company,
        "aliases": list(report.aliases),
        "period": report.period,
        "published_at": report.published_at,
        "metadata": Jsonb(report.model_extra or {}),
    }


def _place(collection: str, document: str) -> dict[str, Any]:
    return {"collection": collection, "document": document}
