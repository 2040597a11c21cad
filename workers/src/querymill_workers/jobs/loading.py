"""Loading many documents in one step: slice by slice, each slice together, and where that fails, in halves.

A document that cannot be stored fails alone. What the whole depends on, such as a store that is away, is no document's
fault: the step is tried again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import structlog

from querymill_shared.board import Claim, Picture
from querymill_shared.board.away import AWAY
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.loading import Load, LoadedDocument, LoadResult
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.faults import Failed, Refused, Unavailable, kinds_of
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common

_log = structlog.get_logger(__name__)

D = TypeVar("D")

#: Documents, and characters of their texts, that are stored in one transaction.
SLICE_DOCUMENTS: Final = 64
SLICE_CHARS: Final = 400_000


class LoadNotes(Notes):
    """The outcome of each document, and the jobs that make the missing vectors."""

    documents: tuple[LoadedDocument, ...]
    embedding_jobs: tuple[str, ...] = ()


@value
class Loading(Generic[D]):
    """How documents of a kind are loaded.

    ``store`` stores a few in one transaction and returns their outcomes in the same order, or raises and stores none.
    It gets at most so many ``together``, or `SLICE_DOCUMENTS`.
    """

    id_of: Callable[[D], str]
    chars_of: Callable[[D], int]
    store: Callable[[Sequence[D]], Sequence[LoadedDocument]]
    together: int | None = None

    def slices(self, documents: Sequence[D]) -> Iterator[Sequence[D]]:
        """Cut documents into slices, in their order."""
        start = chars = 0
        for end, document in enumerate(documents):
            size = self.chars_of(document)
            if end > start and (end - start == (self.together or SLICE_DOCUMENTS) or chars + size > SLICE_CHARS):
                yield documents[start:end]
                start, chars = end, 0
            chars += size
        yield documents[start:]

    def load(self, documents: Sequence[D]) -> list[LoadedDocument]:
        """Store documents together, or where that fails each half of them.

        Raises:
            Unavailable: A store is away, or another worker was first. Every document may be tried again.
        """
        try:
            return list(self.store(documents))
        except Exception as error:
            if not is_of_the_documents(error):
                raise
            if len(documents) == 1:
                return [self._failed(documents[0], error)]
        middle = len(documents) // 2
        return self.load(documents[:middle]) + self.load(documents[middle:])

    def _failed(self, document: D, error: Exception) -> LoadedDocument:
        is_told = isinstance(error, Refused | Failed)
        if not is_told:
            _log.error("a document could not be stored", fault=kinds_of(error))
        reason = str(error) if is_told else f"internal error: {type(error).__name__}"
        return LoadedDocument(document=self.id_of(document), outcome="failed", reason=reason)


def is_of_the_documents(error: Exception) -> bool:
    """Return whether other documents may be stored although these could not."""
    return isinstance(error, Failed) or not isinstance(error, (Unavailable, *AWAY))


def load_slices(
    claim: Claim, documents: Sequence[D], loading: Loading[D], ports: Common
) -> list[LoadedDocument] | None:
    """Load documents, and report how many are done. Return None once the job is cancelled: what is stored stays."""
    loaded: list[LoadedDocument] = []
    for few in loading.slices(documents):
        loaded += loading.load(few)
        progress = Progress(stage=claim.step, done=len(loaded), total=len(documents))
        if not ports.board.tell(claim.job_id, progress):
            return None
    return loaded


def ending_of(result: type[LoadResult]) -> Ending[Any, LoadNotes]:
    """Return how a job of many documents ends, with a result of this type."""

    def to_result(_: Load, picture: Picture, notes: LoadNotes) -> LoadResult:
        failed = sum(document.outcome == "failed" for document in notes.documents)
        reason = f"{failed} of {len(notes.documents)} documents failed"
        return result.model_validate({
            "job_id": picture.record.job_id,
            "total": sum(document.total for document in notes.documents),
            "complete": not failed,
            "degraded": (Degradation(stage="load", reason=reason, code="invalid"),) if failed else (),
            "documents": notes.documents,
            "embedding_jobs": notes.embedding_jobs,
        })  # fmt: skip

    return Ending(LoadNotes, to_result)
