"""What is known of documents, in PostgreSQL: written together with what filters look up, listed and counted."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from psycopg import sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import RESERVED, Retriever
from querymill_workers.documents.ports import Documents, Entry
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, across, within
from querymill_workers.postgres.filters import Column, Predicate, predicate
from querymill_workers.postgres.metadata_index import FIELDS, MetadataTables
from querymill_workers.postgres.queries import statements

_SQL: Final = statements("querymill_workers.documents", "store.sql")
#: The reserved fields that are the id of their document.
_IDS: Final[Mapping[Retriever, str]] = {"files": "path", "messages": "session_id", "conversations": "session_id"}
#: The least time between two moments: the end of a span is excluded by it.
_MOMENT: Final = timedelta(microseconds=1)


class PostgresDocuments(Documents):
    """`Documents` of one retriever, on PostgreSQL."""

    def __init__(self, pool: Pool, retriever: Retriever) -> None:
        self._pool = pool
        self._retriever: Retriever = retriever
        self._noted = MetadataTables(sql.SQL("d.document"), retriever)
        self._columns = _columns_of(retriever)

    @property
    @override
    def kind(self) -> Retriever:
        return self._retriever

    @override
    def put(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        self._write("given_documents", collection, entries)

    @override
    def extend(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        self._write("extended_documents", collection, entries)

    def _write(self, given: str, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        latest = {entry.document: (entry, revision) for entry, revision in entries}
        if not latest:
            return
        statement = sql.SQL(_SQL["put_documents"]).format(given=sql.SQL(_SQL[given]).format())
        with within(self._pool, collection) as connection:
            connection.execute(statement, self._place(collection) | self._rows(list(latest.values())))

    def _rows(self, entries: Sequence[tuple[Entry, Revision]]) -> dict[str, list[Any]]:
        known = [entry for entry, _ in entries]
        return {
            "documents": [entry.document for entry in known],
            "revisions": [revision for _, revision in entries],
            "titles": [entry.title for entry in known],
            "sizes": [entry.size for entry in known],
            "units": [entry.unit for entry in known],
            "moments": [entry.when for entry in known],
            "times": [_array(_times(entry)) for entry in known],
            "reserved": [Jsonb(self._reserved(entry)) for entry in known],
            "metadata": [Jsonb(dict(entry.metadata)) for entry in known],
        }

    def _reserved(self, entry: Entry) -> dict[str, Any]:
        """Return the reserved fields as they are stored: without the id, and without what is stored as times."""
        stored: dict[str, Any] = {}
        for name, given in entry.fields.items():
            values = [each for each in _values(given) if each is not None]
            if name == _IDS.get(self._retriever) or any(isinstance(each, datetime) for each in values):
                continue
            texts = [each.isoformat() if isinstance(each, date) else each for each in dict.fromkeys(values)]
            stored[name] = (texts if isinstance(given, list | tuple) else texts[0]) if texts else None
        return stored

    @override
    def drop(self, collection: str, ids: Collection[str]) -> None:
        if ids:
            with within(self._pool, collection) as connection:
                connection.execute(_SQL["drop_documents"], self._place(collection) | {"documents": list(ids)})

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        rows = self._chosen("listed_documents", collection, conditions, limit=limit, after=after)
        return [
            DocumentCard(id=id_, title=title, when=when, size=size, unit=unit, metadata=metadata)
            for id_, title, when, size, unit, metadata in rows
        ]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        ((counted,),) = self._chosen("count_documents", collection, conditions)
        return int(counted)

    @override
    def ids(
        self,
        collection: str,
        conditions: Mapping[str, Any],
        *,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Sequence[str]:
        rows = self._chosen("passing_documents", collection, conditions, start=start, end=end)
        return [document for (document,) in rows]

    @override
    def revisions(self, collection: str, ids: Collection[str] | None = None) -> Mapping[str, Revision]:
        values = self._place(collection) | {"documents": None if ids is None else list(ids)}
        with within(self._pool, collection) as connection:
            return {id_: Revision(found) for id_, found in connection.execute(_SQL["document_revisions"], values)}

    @override
    def collections(self) -> Sequence[str]:
        with across(self._pool) as connection:
            rows = connection.execute(_SQL["document_collections"], {"retriever": self._retriever})
            return [name for (name,) in rows]

    def _chosen(
        self,
        statement: str,
        collection: str,
        conditions: Mapping[str, Any],
        *,
        start: datetime | None = None,
        end: datetime | None = None,
        **values: Any,
    ) -> Sequence[TupleRow]:
        """Run a statement on the documents that pass a filter and have a time within a span."""
        filters = [self._predicate(conditions, "filter")]
        if start is not None or end is not None:
            span = {"from": start, "to": None if end is None else end - _MOMENT}
            written = {side: moment.isoformat() for side, moment in span.items() if moment is not None}
            filters.append(self._predicate({"time": written}, "span"))
        for each in filters:
            values |= each.values
        passes = sql.SQL(" AND ").join([each.text for each in filters])
        with within(self._pool, collection) as connection:
            asked = sql.SQL(_SQL[statement]).format(passes=passes)
            return connection.execute(asked, self._place(collection) | values).fetchall()

    def _predicate(self, conditions: Mapping[str, Any], prefix: str) -> Predicate:
        return predicate(
            conditions, self._columns, types=RESERVED[self._retriever], metadata=FIELDS.format(sql.SQL("d")),
            noted=self._noted, prefix=prefix,
        )  # fmt: skip

    def _place(self, collection: str) -> dict[str, Any]:
        return {"collection": collection, "retriever": self._retriever}


def _columns_of(retriever: Retriever) -> dict[str, Column]:
    """Return the reserved fields that have a column: times, and what is the document's id."""
    times = {
        name: Column(sql.SQL("d.times"), type_, many=True, earliest=sql.SQL("d.first_at"), latest=sql.SQL("d.last_at"))
        for name, type_ in RESERVED[retriever].items()
        if type_ != "text"
    }
    ids = {_IDS[retriever]: Column(sql.SQL("d.document"))} if retriever in _IDS else {}
    return times | ids


def _times(entry: Entry) -> Sequence[datetime]:
    """Return what a filter on a time sees. A day is its beginning in UTC."""
    moments = [each for given in entry.fields.values() for each in _values(given) if isinstance(each, date)]
    return [each if isinstance(each, datetime) else datetime.combine(each, time.min, UTC) for each in moments]


def _values(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else (given,)


def _array(moments: Sequence[datetime]) -> str:
    """Write moments as an array of PostgreSQL: those of many documents are no array of arrays."""
    return "{" + ",".join(f'"{moment.isoformat()}"' for moment in moments) + "}"
