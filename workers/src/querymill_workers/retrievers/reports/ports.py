"""What `reports` may touch: its store, models, a glossary, and all that writing an answer needs."""

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
    """A passage that a query found: where it stands, and its inner product with the query."""

    query: str
    document: str
    page: int
    chunk: int
    inner_product: float


@dataclass(frozen=True, slots=True)
class PassageText:
    """What a hit shows: the text behind its key, and the report it is from."""

    key: HitKey
    page: int
    text: str
    card: ReportCard


class Reports(Protocol):
    """The reports of all collections; every call names its collection, and sees no other."""

    @property
    def kind(self) -> str: ...

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """List the searchable reports of a collection whose vectors are this model's."""
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
        """Find, for each query text, the ``depth`` passages with the largest inner product.

        With ``pages`` only the best passage of each page counts, so that ``depth`` pages are found.

        In each of the documents if ``per_document``, else over all of them at once.
        """
        ...

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """Fetch what the keys stand for."""
        ...

    def revision(self, collection: str, document: str) -> Revision | None:
        """Return the revision of a report that is searchable now."""
        ...

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """Return the chunk numbers of a revision that are stored already."""
        ...

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """Store chunks of a revision, not searchable yet; storing one twice changes nothing."""
        ...

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """Make a revision the searchable one, whole and at once, and drop the others.

        Raises:
            Unavailable: Another revision was published meanwhile and dropped passages of this one.
        """
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a report."""
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
