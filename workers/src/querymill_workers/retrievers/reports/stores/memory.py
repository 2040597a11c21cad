"""Reports in memory: for tests, and to read what the store does without SQL."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.retrievers.reports.ports import (
    FoundPassage,
    MeasuredPassage,
    PassageText,
    PreparedReport,
    Reports,
    UnembeddedReports,
)
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage, Vector


@dataclass
class StoredReport:
    """A report with its passages, and how many entries of the text index it has."""

    prepared: PreparedReport
    indexed: int

    @property
    def report(self) -> Report:
        """The report as it was ingested."""
        return self.prepared.report

    @property
    def card(self) -> ReportCard:
        """What routing reads of it, with the tickers."""
        return _card(self.report, self.prepared.tickers)

    @cached_property
    def passages(self) -> Mapping[int, tuple[str, Chunk]]:
        """The passages by number, with their keys."""
        keyed = zip(self.prepared.keys, self.prepared.chunks, strict=True)
        return {chunk.number: (key, chunk) for key, chunk in keyed}


class MemoryReports(Reports):
    """`Reports` without a server. Search is exact, over all vectors."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, str], StoredReport] = {}
        self.lock = threading.RLock()
        self.vectors = MemoryVectors("reports", self._passages)

    @contextmanager
    @override
    def reading(self) -> Iterator[None]:
        with self.lock:
            yield

    @override
    def cards(self, collection: str) -> Sequence[ReportCard]:
        with self.lock:
            return [stored.card for _, stored in sorted(self.of(collection).items())]

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
        with self.lock:
            searchable = self.of(collection).keys() & set(documents)
            groups = [{document} for document in sorted(searchable)] if per_document else [searchable]
            return [
                passage
                for query, vector in queries.items()
                for group in groups
                for passage in self._ranked(collection, query, vector, group, model=model, pages=pages)[:depth]
            ]

    def _ranked(
        self,
        collection: str,
        query: str,
        vector: npt.NDArray[np.float32],
        documents: set[str],
        *,
        model: str,
        pages: bool,
    ) -> list[FoundPassage]:
        vectors = self.vectors.vectors(collection, model=model)
        found = [
            FoundPassage(query, document, chunk.page, number, float(vectors[document, key] @ vector))
            for document in documents
            for number, (key, chunk) in self.stored[collection, document].passages.items()
            if (document, key) in vectors
        ]
        ranked = sorted(found, key=lambda hit: (-hit.inner_product, hit.document, hit.chunk))
        if not pages:
            return ranked
        best = {(hit.document, hit.page): hit for hit in reversed(ranked)}
        return [hit for hit in ranked if best[hit.document, hit.page] is hit]

    @override
    def waiting(self, collection: str, documents: Sequence[str], *, model: str) -> UnembeddedReports:
        with self.lock:
            counts = {
                sha1: self.vectors.counts(collection, model=model, documents=[sha1])
                for sha1 in sorted(self.of(collection).keys() & set(documents))
            }
        lacking = {sha1: counted for sha1, counted in counts.items() if counted.pending or counted.refused}
        pending, refused = (
            (counted.pending for counted in lacking.values()),
            (each.refused for each in lacking.values()),
        )
        return UnembeddedReports(list(lacking), sum(pending), sum(refused))

    @override
    def unembedded(self, collection: str, chunks: Sequence[HitKey], *, model: str) -> Mapping[HitKey, int]:
        with self.lock:
            vectors = self.vectors.vectors(collection, model=model)
            found = self._found(collection, chunks)
        return {chunk: page for chunk, (key, page) in found.items() if (chunk.document, key) not in vectors}

    @override
    def measured(
        self,
        collection: str,
        chunks: Sequence[HitKey],
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
    ) -> Mapping[HitKey, MeasuredPassage]:
        with self.lock:
            vectors = self.vectors.vectors(collection, model=model)
            found = self._found(collection, chunks)
        return {
            chunk: MeasuredPassage(page, _products(vectors.get((chunk.document, key)), queries))
            for chunk, (key, page) in found.items()
        }

    @override
    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
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
        if key.number not in stored.passages:
            return None
        _, chunk = stored.passages[key.number]
        return PassageText(key, chunk.page, chunk.text, _card(stored.report), _metadata(stored.report))

    def of(self, collection: str) -> Mapping[str, StoredReport]:
        """Return the reports of a collection by id."""
        with self.lock:
            return {sha1: stored for (name, sha1), stored in self.stored.items() if name == collection}

    def _found(self, collection: str, chunks: Sequence[HitKey]) -> Mapping[HitKey, tuple[str, int]]:
        """Return the keys and pages of those chunks that are stored."""
        stored = self.of(collection)
        known = [chunk for chunk in chunks if chunk.document in stored]
        found = {chunk: stored[chunk.document].passages.get(chunk.number) for chunk in known}
        return {chunk: (passage[0], passage[1].page) for chunk, passage in found.items() if passage is not None}

    def _passages(self, collection: str) -> list[Passage]:
        return [
            Passage(sha1, key, chunk.text)
            for sha1, stored in self.of(collection).items()
            for key, chunk in stored.passages.values()
        ]


def _products(own: Vector | None, queries: Mapping[str, npt.NDArray[np.float32]]) -> Mapping[str, float]:
    return {} if own is None else {query: float(own @ vector) for query, vector in queries.items()}


def _metadata(report: Report) -> Mapping[str, Any]:
    return report.model_extra or {}


def _card(report: Report, tickers: Sequence[str] = ()) -> ReportCard:
    return ReportCard(
        report.sha1, report.title, report.company, (*report.aliases, *tickers), report.period, report.published_at
    )
