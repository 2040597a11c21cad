"""The part of the world that `reports` may touch: its stores, the text index, models, and a glossary."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.values import value
from querymill_workers.documents.ports import LateWritePorts
from querymill_workers.inference.ports import Judge, Rewriter
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.glossary import Glossary
from querymill_workers.retrievers.reports.rules.routing import ReportCard
from querymill_workers.services.ports import AnswerPorts
from querymill_workers.vectors.embedding import Embeddable
from querymill_workers.vectors.keys import keys_of
from querymill_workers.vectors.ports import VectorPorts
from querymill_workers.words.ports import Space, Words

#: The text index of passages. An entry is known by the key of its chunk, and its group is the report.
SPACE: Final[Space] = "reports"
#: How the passages are embedded.
EMBEDDABLE: Final = Embeddable("reports", batch=8)


class FoundPassage(NamedTuple):
    """A passage that a query found: its place in the report, and its inner product with the query."""

    query: str
    document: str
    page: int
    chunk: int
    inner_product: float


@value
class MeasuredPassage:
    """The page of a passage, and its inner product with each query. There are none if it has no vector."""

    page: int
    inner_products: Mapping[str, float] = field(default_factory=dict)


@value
class PassageText:
    """The text behind the key of a hit, and the report that it comes from."""

    key: HitKey
    page: int
    text: str
    card: ReportCard
    metadata: Mapping[str, Any] = field(default_factory=dict)


@value
class UnembeddedReports:
    """The reports that have passages without a vector: how many wait for it, and how many a provider refused."""

    documents: Sequence[str] = ()
    pending: int = 0
    refused: int = 0


class Reports(Protocol):
    """Search over the reports of all collections. Every call names one collection and sees no other."""

    def reading(self) -> AbstractContextManager[None]:
        """Let all that this thread reads within the block come from one snapshot, the text index included."""
        ...

    def cards(self, collection: str) -> Sequence[ReportCard]:
        """Return the reports of a collection."""
        ...

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
        """Return the ``depth`` passages with the largest inner product, for each query. Others have no vector yet.

        Args:
            collection: The collection to search.
            queries: The vector of each query text.
            model: The embedding model whose vectors are compared.
            documents: The reports to search (sha1).
            depth: Number of passages for each query.
            per_document: Return ``depth`` passages of each document, not of all documents together.
            pages: Count only the best passage of each page, so that ``depth`` pages are found.
        """
        ...

    def waiting(self, collection: str, documents: Sequence[str], *, model: str) -> UnembeddedReports:
        """Count the passages of these reports that have no vector."""
        ...

    def unembedded(self, collection: str, chunks: Sequence[HitKey], *, model: str) -> Mapping[HitKey, int]:
        """Return those of the chunks that have no vector, and their pages."""
        ...

    def measured(
        self,
        collection: str,
        chunks: Sequence[HitKey],
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
    ) -> Mapping[HitKey, MeasuredPassage]:
        """Return those of the chunks that are stored, with their inner products. ``queries`` must not be empty."""
        ...

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """Return the texts behind the keys. A key whose page or chunk is not stored is left out."""
        ...


@value
class PreparedReport:
    """A report prepared for storing, with its passages."""

    report: Report
    revision: Revision
    chunks: Sequence[Chunk]
    tickers: Sequence[str] = ()

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the passages: one whose text has not changed keeps its vectors."""
        return keys_of([chunk.text for chunk in self.chunks])


class ReportLife(Protocol):
    """The life of reports: stored, listed, dropped.

    Every call names its collection and sees no other. What changes a report is called under the lock of its version.
    """

    def indexed(self, collection: str, document: str) -> int:
        """Return how many entries of the text index a report has. They are numbered from 0."""
        ...

    def set_indexed(self, collection: str, document: str, entries: int) -> None:
        """Record how many entries of the text index a report has."""
        ...

    def put(self, collection: str, prepared: PreparedReport) -> None:
        """Replace the stored report, which has an entry of the text index for each passage.

        A passage whose text has not changed keeps its vectors.
        """
        ...

    def chunks(self, collection: str, document: str) -> Sequence[Chunk]:
        """Return the passages of a report, in order."""
        ...

    def drop(self, collection: str, document: str) -> int:
        """Drop a report with its pages, passages and vectors. Return how many rows there were, itself included."""
        ...

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Report]:
        """Return reports as they were ingested. Those not stored are left out."""
        ...


class ReportPorts(VectorPorts, AnswerPorts, LateWritePorts, Protocol):
    """What the flows of `reports` may touch."""

    @property
    def reports(self) -> Reports: ...

    @property
    def report_life(self) -> ReportLife: ...

    @property
    def words(self) -> Words: ...

    @property
    def rewriter(self) -> Rewriter: ...

    @property
    def judge(self) -> Judge: ...

    @property
    def glossary(self) -> Glossary: ...

    @property
    def count_tokens(self) -> Callable[[str], int]: ...
