"""The life of reports in PostgreSQL. Every statement names its collection."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import Cursor, sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.ports import Vectors
from querymill_workers.postgres.connection import Pool, literal, unhurried, within
from querymill_workers.postgres.filters import predicate
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.reports.ports import PendingPassage, PreparedReport
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.revisions import Content, Revision, content_in, revision_of
from querymill_workers.retrievers.reports.stores.documents import card_of
from querymill_workers.retrievers.reports.stores.postgres import COLUMNS, NOTED

_SQL: Final = statements("querymill_workers.retrievers.reports.stores", "postgres_life.sql")

#: Passages, or pages, that one statement stores.
STORED_AT_ONCE: Final = 1_000


class PostgresReportLife:
    """`ReportLife` on PostgreSQL with pgvector."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def searched_by(self, collection: str, *, first: str) -> str:
        """See `ReportLife.searched_by`."""
        values = {"collection": collection, "model": first}
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["searched_model"], values).fetchone()
            if row is None:
                connection.execute(_SQL["add_searched_model"], values)
                row = connection.execute(_SQL["searched_model"], values).fetchone()
        return first if row is None else str(row[0])

    def content(self, collection: str, document: str) -> Content | None:
        """See `ReportLife.content`."""
        row = self._row("revision", collection, document)
        return None if row is None else content_in(Revision(row[0]))

    def indexed(self, collection: str, document: str) -> int:
        """See `ReportLife.indexed`."""
        row = self._row("indexed", collection, document)
        return 0 if row is None else int(row[0])

    def set_indexed(self, collection: str, document: str, entries: int) -> None:
        """See `ReportLife.set_indexed`."""
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["set_indexed"], _place(collection, document) | {"indexed": entries})

    def put(self, collection: str, prepared: PreparedReport, *, models: Sequence[str]) -> None:
        """See `ReportLife.put`."""
        report, place = prepared.report, _place(collection, prepared.report.sha1)
        revisions = {model: revision_of(prepared.content, model) for model in models}
        with within(self._pool, collection) as connection, connection.cursor() as cursor:
            cursor.execute(_SQL["hold_report"], place)
            # No switch to another model happens in between.
            row = cursor.execute(_SQL["hold_searched_model"], place).fetchone()
            found_by = row[0] if row is not None and row[0] in revisions else models[0]
            for model, revision in revisions.items():
                _add_passages(cursor, place | {"revision": revision, "model": model}, prepared.chunks)
            cursor.execute(
                _SQL["publish"],
                _row_of(report)
                | place
                | {"revision": revisions[found_by], "model": found_by, "passages": len(prepared.chunks)}
                | {"tickers": list(prepared.tickers)},
            )
            cursor.execute(_SQL["drop_other_revisions"], place | {"revisions": list(revisions.values())})
            cursor.execute(_SQL["mark_embedded"], place)
            cursor.execute(_SQL["drop_pages"], place)
            for start in range(0, len(report.pages), STORED_AT_ONCE):
                pages = report.pages[start : start + STORED_AT_ONCE]
                columns = {"pages": [page.page for page in pages], "texts": [page.text for page in pages]}
                cursor.execute(_SQL["add_pages"], place | columns)
            cursor.execute(_SQL["next_generation"], place)

    def pending(self, collection: str, documents: Sequence[str], *, model: str, limit: int) -> Sequence[PendingPassage]:
        """See `ReportLife.pending`."""
        values = {"collection": collection, "documents": list(documents), "model": model, "limit": limit}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["pending"], values).fetchall()
        return [PendingPassage(sha1, Revision(revision), number, text) for sha1, revision, number, text in rows]

    def count_pending(self, collection: str, documents: Sequence[str], *, model: str) -> int:
        """See `ReportLife.count_pending`."""
        with within(self._pool, collection) as connection:
            values = {"collection": collection, "documents": list(documents), "model": model}
            row = connection.execute(_SQL["count_pending"], values).fetchone()
        return 0 if row is None else int(row[0])

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors) -> None:
        """See `ReportLife.fill`."""
        embeddings = [literal(vector) for vector in vectors]
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["fill"], _columns(collection, passages) | {"embeddings": embeddings})

    def set_aside(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """See `ReportLife.set_aside`."""
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["set_aside"], _columns(collection, passages))

    def finish_embedding(self, collection: str, document: str) -> None:
        """See `ReportLife.finish_embedding`."""
        with within(self._pool, collection) as connection:
            changed = connection.execute(_SQL["mark_embedded"], _place(collection, document)).fetchone()
            if changed is not None:
                # Workers of the release before cache which reports have all their vectors.
                connection.execute(_SQL["next_generation"], {"collection": collection})

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """See `ReportLife.lacking`."""
        values = {"collection": collection, "model": model, "part": part, "parts": parts}
        with within(self._pool, collection) as connection:
            return [sha1 for (sha1,) in connection.execute(_SQL["lacking"], values).fetchall()]

    def add_model(self, collection: str, document: str, *, model: str) -> None:
        """See `ReportLife.add_model`."""
        values = _place(collection, document) | {"model": model}
        with within(self._pool, collection) as connection:
            unhurried(connection)
            connection.execute(_SQL["add_model"], values)
            connection.execute(_SQL["try_again"], values)

    def switch(self, collection: str, *, model: str) -> bool:
        """See `ReportLife.switch`."""
        values = {"collection": collection, "model": model}
        with within(self._pool, collection) as connection:
            unhurried(connection)
            if connection.execute(_SQL["hold_model"], values).fetchone() is None:
                return False
            if connection.execute(_SQL["lacks_model"], values).fetchone() == (True,):
                return False
            connection.execute(_SQL["switch_reports"], values)
            connection.execute(_SQL["switch_model"], values)
            connection.execute(_SQL["next_generation"], values)
        return True

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `ReportLife.drop_other_models`."""
        with within(self._pool, collection) as connection:
            unhurried(connection)
            connection.execute(_SQL["drop_other_models"], {"collection": collection, "model": model})

    def ids(self, collection: str) -> Sequence[str]:
        """See `ReportLife.ids`."""
        with within(self._pool, collection) as connection:
            return [sha1 for (sha1,) in connection.execute(_SQL["ids"], {"collection": collection}).fetchall()]

    def chunks(self, collection: str, document: str) -> Sequence[Chunk]:
        """See `ReportLife.chunks`."""
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["passages"], _place(collection, document)).fetchall()
        return [Chunk(*row) for row in rows]

    def drop(self, collection: str, document: str) -> int:
        """See `ReportLife.drop`."""
        place = _place(collection, document)
        with within(self._pool, collection) as connection:
            row = connection.execute(_SQL["drop_report"], place).fetchone()
            connection.execute(_SQL["drop_passages"], place)
            connection.execute(_SQL["drop_pages"], place)
            connection.execute(_SQL["next_generation"], place)
            connection.execute(_SQL["mark_empty"], place)
        return 0 if row is None else int(row[0])

    def leave(self, collection: str) -> None:
        """See `ReportLife.leave`."""
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["drop_models"], {"collection": collection})
            connection.execute(_SQL["mark_empty"], {"collection": collection})

    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `ReportLife.listed`."""
        rows = self._filtered("listed", collection, conditions, limit=limit, after=after)
        return [card_of(*row[:4], pages=row[4], pending=row[5]) for row in rows]

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `ReportLife.count`."""
        ((counted,),) = self._filtered("count", collection, conditions)
        return int(counted)

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Report]:
        """See `ReportLife.whole`."""
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["whole"], {"collection": collection, "ids": list(ids)}).fetchall()
        names = ("sha1", "title", "company", "aliases", "period", "published_at")
        return {
            row[0]: Report.model_validate({**row[6], **dict(zip(names, row[:6], strict=True)), "pages": row[7] or []})
            for row in rows
        }

    def _filtered(
        self, statement: str, collection: str, conditions: Mapping[str, Any], **values: object
    ) -> list[TupleRow]:
        passing = predicate(conditions, COLUMNS, noted=NOTED)
        with within(self._pool, collection) as connection:
            return connection.execute(
                sql.SQL(_SQL[statement]).format(filter=passing.text),
                {"collection": collection, **values, **passing.values},
            ).fetchall()

    def _row(self, statement: str, collection: str, document: str) -> TupleRow | None:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], _place(collection, document)).fetchone()


def _add_passages(cursor: Cursor[TupleRow], values: dict[str, Any], chunks: Sequence[Chunk]) -> None:
    for start in range(0, len(chunks), STORED_AT_ONCE):
        stored = chunks[start : start + STORED_AT_ONCE]
        columns = {
            "numbers": [chunk.number for chunk in stored],
            "pages": [chunk.page for chunk in stored],
            "texts": [chunk.text for chunk in stored],
            "tokens": [chunk.tokens for chunk in stored],
        }
        cursor.execute(_SQL["add_passages"], values | columns)


def _columns(collection: str, passages: Sequence[PendingPassage]) -> dict[str, Any]:
    return _place(collection, passages[0].document) | {
        "revisions": [passage.revision for passage in passages],
        "numbers": [passage.number for passage in passages],
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
