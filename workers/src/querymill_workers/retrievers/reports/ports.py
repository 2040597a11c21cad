"""The part of the world that `reports` may touch: its store, models, a glossary, and what writing an answer needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.ports import Embeddings, Rewriter, Vectors
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.rules.routing import ReportCard
from querymill_workers.services.ports import AnswerPorts


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that a query found: its place in the report, and its inner product with the query."""

    query: str
    document: str
    page: int
    chunk: int
    inner_product: float


@dataclass(frozen=True, slots=True)
class PassageText:
    """The text behind the key of a hit, and the report that it comes from."""

    key: HitKey
    page: int
    text: str
    card: ReportCard


class Reports(Protocol):
    """The reports of all collections. Every call names one collection and sees no other."""

    @property
    def kind(self) -> str: ...

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """Return the searchable reports of a collection whose vectors come from this model."""
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
        """Return the ``depth`` passages with the largest inner product, for each query.

        Args:
            collection: The collection to search.
            queries: The vector of each query text.
            model: The embedding model; reports with vectors of another model are not searched.
            documents: The reports to search (sha1).
            depth: Number of passages for each query.
            per_document: Return ``depth`` passages of each document, not of all documents together.
            pages: Count only the best passage of each page, so that ``depth`` pages are found.
        """
        ...

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """Return the texts behind the keys. A key whose page or chunk is not stored is left out."""
        ...

    def revision(self, collection: str, document: str) -> Revision | None:
        """Return the searchable revision of a report, or None if the report is not searchable."""
        ...

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """Return the numbers of the chunks of a revision that are stored."""
        ...

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """Store chunks of a revision, which is not searchable yet. Idempotent."""
        ...

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """Make a revision searchable as a whole, and drop the other revisions of the report.

        Raises:
            Unavailable: Another revision has been published since, and chunks of this one were dropped.
        """
        ...

    def collections(self) -> Sequence[str]:
        """Return the names of the collections that hold a report."""
        ...


class ReportPorts(AnswerPorts, Protocol):
    """What the flows of `reports` may touch."""

    @property
    def reports(self) -> Reports: ...

    @property
    def embeddings(self) -> Embeddings: ...

    @property
    def rewriter(self) -> Rewriter: ...

    @property
    def glossary(self) -> Mapping[str, str]: ...

    @property
    def count_tokens(self) -> Callable[[str], int]: ...
