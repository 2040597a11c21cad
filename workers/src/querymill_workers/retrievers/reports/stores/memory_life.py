"""The life of reports in memory."""

from collections.abc import Mapping, Sequence

from typing_extensions import override

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.retrievers.reports.ports import PreparedReport, ReportLife
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.stores.memory import MemoryReports, StoredReport


class MemoryReportLife(ReportLife):
    """`ReportLife` without a server, over what `MemoryReports` searches."""

    def __init__(self, reports: MemoryReports) -> None:
        self._reports = reports
        self._lock = reports.lock

    @override
    def indexed(self, collection: str, document: str) -> int:
        stored = self._stored(collection, document)
        return 0 if stored is None else stored.indexed

    @override
    def set_indexed(self, collection: str, document: str, entries: int) -> None:
        stored = self._stored(collection, document)
        if stored is not None:
            stored.indexed = entries

    @override
    def put(self, collection: str, prepared: PreparedReport) -> None:
        with self._lock:
            self._reports.stored[collection, prepared.report.sha1] = StoredReport(prepared, len(prepared.chunks))
            self._reports.vectors.drop_orphans(collection)

    @override
    def chunks(self, collection: str, document: str) -> Sequence[Chunk]:
        stored = self._stored(collection, document)
        return [] if stored is None else list(stored.prepared.chunks)

    @override
    def drop(self, collection: str, document: str) -> int:
        with self._lock:
            stored = self._reports.stored.pop((collection, document), None)
            self._reports.vectors.drop_orphans(collection)
        return 0 if stored is None else len(stored.passages) + 1

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Report]:
        stored = {sha1: self._stored(collection, sha1) for sha1 in ids}
        return {sha1: found.report for sha1, found in stored.items() if found is not None}

    def _stored(self, collection: str, document: str) -> StoredReport | None:
        return self._reports.stored.get((collection, document))
