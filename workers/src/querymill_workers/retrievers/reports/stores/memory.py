"""Reports in memory: for tests, and to read what the store does without SQL."""

import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.filters import RESERVED, Filterable, passes
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.retrievers.reports.ports import FoundPassage, MeasuredPassage, PassageText, Waiting
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.revisions import Revision
from querymill_workers.retrievers.reports.rules.routing import ReportCard


@dataclass(slots=True)
class StoredPassage:
    """A passage of one revision. It waits for its vector, has it, or was set aside."""

    chunk: Chunk
    vector: npt.NDArray[np.float32] | None = None
    set_aside: bool = False


@dataclass(slots=True)
class StoredReport:
    """A report, its searchable revision, and the model of that revision; the passages of all revisions by number."""

    report: Report
    revision: Revision
    model: str
    indexed: int
    tickers: Sequence[str] = ()
    revisions: dict[Revision, dict[int, StoredPassage]] = field(default_factory=dict)

    @property
    def passages(self) -> Mapping[int, StoredPassage]:
        """The searchable passages."""
        return self.revisions[self.revision]


class MemoryReports:
    """`Reports` without a server. Search is exact, over all vectors."""

    kind: Final = "reports"

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], StoredReport] = {}
        self.models: dict[str, str] = {}
        self.lock = threading.RLock()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """See `Reports.reading`."""
        with self.lock:
            yield

    def searched_by(self, collection: str) -> str | None:
        """See `Reports.searched_by`."""
        return self.models.get(collection)

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """See `Reports.cards`."""
        with self.lock:
            found = self._of_model(collection, model)
            return [_card(found[sha1].report, found[sha1].tickers) for sha1 in sorted(found)]

    def matching(self, collection: str, conditions: Mapping[str, Any]) -> Set[str]:
        """See `Reports.matching`."""
        with self.lock:
            found = {sha1: stored.report for (name, sha1), stored in self.stored.items() if name == collection}
        return {sha1 for sha1, report in found.items() if passes(conditions, filterable(report))}

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
        with self.lock:
            searchable = self._of_model(collection, model).keys() & set(documents)
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
        found = [
            FoundPassage(query, document, passage.chunk.page, passage.chunk.number, float(passage.vector @ vector))
            for document in documents
            for passage in self.stored[collection, document].passages.values()
            if passage.vector is not None
        ]
        ranked = sorted(found, key=lambda hit: (-hit.inner_product, hit.document, hit.chunk))
        if not pages:
            return ranked
        best = {(hit.document, hit.page): hit for hit in reversed(ranked)}
        return [hit for hit in ranked if best[hit.document, hit.page] is hit]

    def waiting(self, collection: str, documents: Sequence[str], *, model: str) -> Waiting:
        """See `Reports.waiting`."""
        with self.lock:
            lacking = {
                sha1: [passage for passage in stored.passages.values() if passage.vector is None]
                for sha1, stored in sorted(self._of_model(collection, model).items())
                if sha1 in documents
            }
        passages = [passage for found in lacking.values() for passage in found]
        set_aside = sum(passage.set_aside for passage in passages)
        return Waiting([sha1 for sha1, found in lacking.items() if found], len(passages) - set_aside, set_aside)

    def unembedded(self, collection: str, chunks: Sequence[HitKey], *, model: str) -> Mapping[HitKey, int]:
        """See `Reports.unembedded`."""
        with self.lock:
            found = self._of_model(collection, model)
            passages = {key: found[key.document].passages.get(key.number) for key in chunks if key.document in found}
        return {key: passage.chunk.page for key, passage in passages.items() if passage and passage.vector is None}

    def measured(
        self,
        collection: str,
        chunks: Sequence[HitKey],
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
    ) -> Mapping[HitKey, MeasuredPassage]:
        """See `Reports.measured`."""
        with self.lock:
            found = self._of_model(collection, model)
            passages = {key: found[key.document].passages.get(key.number) for key in chunks if key.document in found}
        return {key: _measured(passage, queries) for key, passage in passages.items() if passage is not None}

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """See `Reports.texts`."""
        with self.lock:
            known = [key for key in keys if (collection, key.document) in self.stored]
            return {key: text for key in known if (text := self._text(collection, key)) is not None}

    def _text(self, collection: str, key: HitKey) -> PassageText | None:
        stored = self.stored[collection, key.document]
        if key.unit == "page":
            pages = {page.page: page.text for page in stored.report.pages}
            if key.number not in pages:
                return None
            return PassageText(key, key.number, pages[key.number], _card(stored.report), _metadata(stored.report))
        passage = stored.passages.get(key.number)
        if passage is None:
            return None
        chunk = passage.chunk
        return PassageText(key, chunk.page, chunk.text, _card(stored.report), _metadata(stored.report))

    def collections(self) -> Sequence[str]:
        """See `Reports.collections`."""
        return sorted({collection for collection, _ in self.stored})

    def _of_model(self, collection: str, model: str) -> dict[str, StoredReport]:
        return {
            sha1: stored for (name, sha1), stored in self.stored.items() if name == collection and stored.model == model
        }


def _measured(passage: StoredPassage, queries: Mapping[str, npt.NDArray[np.float32]]) -> MeasuredPassage:
    if passage.vector is None:
        return MeasuredPassage(passage.chunk.page)
    own = passage.vector
    return MeasuredPassage(passage.chunk.page, {query: float(own @ vector) for query, vector in queries.items()})


def filterable(report: Report) -> Filterable:
    """Return what a filter sees of a report."""
    fields = {name: getattr(report, name) for name in RESERVED["reports"]}
    return Filterable.of(report.model_extra, **fields)


def _metadata(report: Report) -> Mapping[str, Any]:
    return report.model_extra or {}


def _card(report: Report, tickers: Sequence[str] = ()) -> ReportCard:
    return ReportCard(
        report.sha1, report.title, report.company, (*report.aliases, *tickers), report.period, report.published_at
    )
