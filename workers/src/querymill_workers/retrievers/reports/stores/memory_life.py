"""The life of reports in memory."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.ports import Vectors
from querymill_workers.retrievers.reports.ports import PendingPassage, PreparedReport
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.revisions import Content, Revision, content_in, revision_of
from querymill_workers.retrievers.reports.stores.documents import card_of
from querymill_workers.retrievers.reports.stores.memory import MemoryReports, StoredPassage, StoredReport


class MemoryReportLife:
    """`ReportLife` without a server, over what `MemoryReports` searches."""

    def __init__(self, reports: MemoryReports) -> None:
        self._reports = reports
        self._lock = reports.lock

    def searched_by(self, collection: str, *, first: str) -> str:
        """See `ReportLife.searched_by`."""
        return self._reports.models.setdefault(collection, first)

    def content(self, collection: str, document: str) -> Content | None:
        """See `ReportLife.content`."""
        stored = self._stored(collection, document)
        return None if stored is None else content_in(stored.revision)

    def indexed(self, collection: str, document: str) -> int:
        """See `ReportLife.indexed`."""
        stored = self._stored(collection, document)
        return 0 if stored is None else stored.indexed

    def set_indexed(self, collection: str, document: str, entries: int) -> None:
        """See `ReportLife.set_indexed`."""
        stored = self._stored(collection, document)
        if stored is not None:
            stored.indexed = entries

    def put(self, collection: str, prepared: PreparedReport, *, models: Sequence[str]) -> None:
        """See `ReportLife.put`."""
        with self._lock:
            searched_by = self._reports.models.get(collection, models[0])
            found_by = searched_by if searched_by in models else models[0]
            revisions = {
                revision_of(prepared.content, model): self._passages(collection, prepared, model) for model in models
            }
            self._reports.stored[collection, prepared.report.sha1] = StoredReport(
                prepared.report,
                revision_of(prepared.content, found_by),
                found_by,
                indexed=len(prepared.chunks),
                tickers=prepared.tickers,
                revisions=revisions,
            )

    def _passages(self, collection: str, prepared: PreparedReport, model: str) -> dict[int, StoredPassage]:
        stored = self._stored(collection, prepared.report.sha1)
        before = {} if stored is None else stored.revisions.get(_of_model(stored, model), {})
        vectors = {passage.chunk.text: passage.vector for passage in before.values() if passage.vector is not None}
        return {chunk.number: StoredPassage(chunk, vectors.get(chunk.text)) for chunk in prepared.chunks}

    def pending(self, collection: str, documents: Sequence[str], *, model: str, limit: int) -> Sequence[PendingPassage]:
        """See `ReportLife.pending`."""
        with self._lock:
            return [
                PendingPassage(document, revision, number, passage.chunk.text)
                for document in sorted(documents)
                if (stored := self._stored(collection, document)) is not None
                for revision in [_of_model(stored, model)]
                for number, passage in sorted(stored.revisions.get(revision, {}).items())
                if passage.vector is None and not passage.set_aside
            ][:limit]

    def count_pending(self, collection: str, documents: Sequence[str], *, model: str) -> int:
        """See `ReportLife.count_pending`."""
        return len(self.pending(collection, documents, model=model, limit=10**9))

    def fill(self, collection: str, passages: Sequence[PendingPassage], vectors: Vectors) -> None:
        """See `ReportLife.fill`."""
        with self._lock:
            for passage, vector in zip(passages, vectors, strict=True):
                row = self._row(collection, passage)
                if row is not None:
                    row.vector, row.set_aside = vector, False

    def set_aside(self, collection: str, passages: Sequence[PendingPassage]) -> None:
        """See `ReportLife.set_aside`."""
        with self._lock:
            for passage in passages:
                row = self._row(collection, passage)
                if row is not None:
                    row.set_aside = row.vector is None

    def finish_embedding(self, collection: str, document: str) -> None:
        """See `ReportLife.finish_embedding`. Nobody reads it here."""

    def lacking(self, collection: str, *, model: str, part: int, parts: int) -> Sequence[str]:
        """See `ReportLife.lacking`."""
        with self._lock:
            return [
                sha1
                for sha1 in self.ids(collection)
                if zlib.crc32(sha1.encode()) % parts == part and self._lacks(collection, sha1, model)
            ]

    def add_model(self, collection: str, document: str, *, model: str) -> None:
        """See `ReportLife.add_model`."""
        with self._lock:
            stored = self._stored(collection, document)
            if stored is None:
                return
            rows = stored.revisions.setdefault(_of_model(stored, model), {})
            for number, passage in stored.passages.items():
                rows.setdefault(number, StoredPassage(passage.chunk)).set_aside = False

    def switch(self, collection: str, *, model: str) -> bool:
        """See `ReportLife.switch`."""
        with self._lock:
            stored = self._of(collection)
            if collection not in self._reports.models or any(_is_unready(report, model) for report in stored.values()):
                return False
            for report in stored.values():
                report.revision, report.model = _of_model(report, model), model
                report.revisions.setdefault(report.revision, {})
            self._reports.models[collection] = model
        return True

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `ReportLife.drop_other_models`."""
        with self._lock:
            for stored in self._of(collection).values():
                if stored.model == model:
                    stored.revisions = {stored.revision: stored.revisions[stored.revision]}

    def ids(self, collection: str) -> Sequence[str]:
        """See `ReportLife.ids`."""
        return sorted(self._of(collection))

    def chunks(self, collection: str, document: str) -> Sequence[Chunk]:
        """See `ReportLife.chunks`."""
        stored = self._stored(collection, document)
        return [] if stored is None else [passage.chunk for _, passage in sorted(stored.passages.items())]

    def drop(self, collection: str, document: str) -> int:
        """See `ReportLife.drop`."""
        with self._lock:
            stored = self._reports.stored.pop((collection, document), None)
        return 0 if stored is None else len(stored.passages) + 1

    def leave(self, collection: str) -> None:
        """See `ReportLife.leave`."""
        with self._lock:
            if not self._of(collection):
                self._reports.models.pop(collection, None)

    def listed(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `ReportLife.listed`."""
        found = sorted(self._reports.matching(collection, conditions))
        ids = [sha1 for sha1 in found if after is None or sha1 > after]
        return [self._listed(self._reports.stored[collection, sha1]) for sha1 in ids[:limit]]

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `ReportLife.count`."""
        return len(self._reports.matching(collection, conditions))

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Report]:
        """See `ReportLife.whole`."""
        stored = {sha1: self._stored(collection, sha1) for sha1 in ids}
        return {sha1: found.report for sha1, found in stored.items() if found is not None}

    def _listed(self, stored: StoredReport) -> DocumentCard:
        pending = [passage for passage in stored.passages.values() if passage.vector is None and not passage.set_aside]
        report = stored.report
        metadata = report.model_extra or {}
        return card_of(
            report.sha1, report.title, report.published_at, metadata, pages=len(report.pages), pending=len(pending)
        )

    def _lacks(self, collection: str, document: str, model: str) -> bool:
        stored = self._reports.stored[collection, document]
        return stored.model != model or any(passage.vector is None for passage in stored.passages.values())

    def _row(self, collection: str, passage: PendingPassage) -> StoredPassage | None:
        stored = self._stored(collection, passage.document)
        return None if stored is None else stored.revisions.get(passage.revision, {}).get(passage.number)

    def _stored(self, collection: str, document: str) -> StoredReport | None:
        return self._reports.stored.get((collection, document))

    def _of(self, collection: str) -> Mapping[str, StoredReport]:
        return {sha1: stored for (name, sha1), stored in self._reports.stored.items() if name == collection}


def _of_model(stored: StoredReport, model: str) -> Revision:
    """Return the revision of a report's content with vectors of a model."""
    return stored.revision if stored.model == model else revision_of(content_in(stored.revision), model)


def _is_unready(stored: StoredReport, model: str) -> bool:
    """Whether a report that another model finds would lose a passage by a switch."""
    own = stored.revisions.get(_of_model(stored, model), {})
    return stored.model != model and any(
        number not in own or (own[number].vector is None and not own[number].set_aside) for number in stored.passages
    )
