"""Reports in memory: for tests, and to read what the store does without SQL."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.ports import Vectors
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.reports.ports import FoundPassage, PassageText
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard

_Place = tuple[str, str]


class MemoryReports:
    """`Reports` without a server. Search is exact, over all vectors."""

    kind: Final = "reports"

    def __init__(self) -> None:
        self._published: dict[_Place, tuple[Report, Revision, str]] = {}
        self._drafts: dict[tuple[str, str, Revision], dict[int, tuple[Chunk, npt.NDArray[np.float32]]]] = {}
        self._lock = threading.RLock()

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """See `Reports.cards`."""
        with self._lock:
            found = [
                report
                for (name, _), (report, _, of_model) in self._published.items()
                if name == collection and of_model == model
            ]
        return sorted((_card(report) for report in found), key=lambda card: card.sha1)

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
        searchable = {card.sha1 for card in self.cards(collection, model=model)}.intersection(documents)
        groups = [{document} for document in sorted(searchable)] if per_document else [searchable]
        return [
            passage
            for query, vector in queries.items()
            for group in groups
            for passage in self._ranked(collection, query, vector, group, pages=pages)[:depth]
        ]

    def _ranked(
        self, collection: str, query: str, vector: npt.NDArray[np.float32], documents: set[str], *, pages: bool
    ) -> list[FoundPassage]:
        with self._lock:
            found = [
                FoundPassage(query, document, chunk.page, chunk.number, float(embedding @ vector))
                for document in documents
                for chunk, embedding in self._passages(collection, document).values()
            ]
        ranked = sorted(found, key=lambda hit: (-hit.inner_product, hit.document, hit.chunk))
        if not pages:
            return ranked
        best = {(hit.document, hit.page): hit for hit in reversed(ranked)}
        return [hit for hit in ranked if best[hit.document, hit.page] is hit]

    def _passages(self, collection: str, document: str) -> dict[int, tuple[Chunk, npt.NDArray[np.float32]]]:
        _, revision, _ = self._published[collection, document]
        return self._drafts[collection, document, revision]

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """See `Reports.texts`."""
        with self._lock:
            known = [key for key in keys if (collection, key.document) in self._published]
            return {key: text for key in known if (text := self._text(collection, key)) is not None}

    def _text(self, collection: str, key: HitKey) -> PassageText | None:
        report, _, _ = self._published[collection, key.document]
        if key.unit == "page":
            pages = {page.page: page.text for page in report.pages}
            return PassageText(key, key.number, pages[key.number], _card(report)) if key.number in pages else None
        passages = self._passages(collection, key.document)
        if key.number not in passages:
            return None
        chunk, _ = passages[key.number]
        return PassageText(key, chunk.page, chunk.text, _card(report))

    def revision(self, collection: str, document: str) -> Revision | None:
        """See `Reports.revision`."""
        published = self._published.get((collection, document))
        return None if published is None else published[1]

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """See `Reports.drafted`."""
        return set(self._drafts.get((collection, document, revision), {}))

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """See `Reports.draft`."""
        with self._lock:
            draft = self._drafts.setdefault((collection, document, revision), {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                draft.setdefault(chunk.number, (chunk, vector))

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """See `Reports.publish`."""
        with self._lock:
            if len(self._drafts.get((collection, report.sha1, revision), {})) != chunks:
                raise Unavailable("another version of the report has been published since")
            self._published[collection, report.sha1] = (report, revision, model)
            place = (collection, report.sha1)
            self._drafts = {key: draft for key, draft in self._drafts.items() if key[:2] != place or key[2] == revision}
            self._drafts.setdefault((*place, revision), {})

    def collections(self) -> Sequence[str]:
        """See `Reports.collections`."""
        return sorted({collection for collection, _ in self._published})


def _card(report: Report) -> ReportCard:
    return ReportCard(
        report.sha1, report.title, report.company, tuple(report.aliases), report.period, report.published_at
    )
