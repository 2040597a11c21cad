"""Ingesting documents in one step: slice by slice, each slice at once, and where that fails, in halves.

A document that cannot be stored fails alone. What the whole depends on, such as a store that is away, is no document's
fault: the step is tried again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import structlog

from querymill_shared.board import Claim, Picture
from querymill_shared.board.away import AWAY
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.ingest import Extend, Ingest, IngestedDocument, Ingestible, IngestResult
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.faults import CallFailed, Refused, Unavailable, kinds_of
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.jobs.ports import Common

_log = structlog.get_logger(__name__)

D = TypeVar("D", bound=Ingestible)
#: What stores a few documents in one transaction. It returns their outcomes in the same order, or raises and stores
#: none.
Store = Callable[[Sequence[D]], Sequence[IngestedDocument]]

#: Documents, and characters of their texts, that are stored in one transaction.
SLICE_DOCUMENTS: Final = 64
SLICE_CHARS: Final = 400_000


class IngestNotes(Notes):
    """The outcome of each document, and the jobs that make the missing vectors."""

    documents: tuple[IngestedDocument, ...]
    embedding_jobs: tuple[str, ...] = ()


def ingest_slices(
    claim: Claim, documents: Sequence[D], store: Store[D], ports: Common, *, per_slice: int = SLICE_DOCUMENTS
) -> list[IngestedDocument] | None:
    """Store documents, at most ``per_slice`` at once, and report how many are done.

    A job of one document fails and is tried again as a whole, and has nothing to report before it ends. Return None
    once the job is cancelled: what is stored stays.
    """
    if len(documents) == 1:
        return list(store(documents))
    ingested: list[IngestedDocument] = []
    for few in slices(documents, per_slice=per_slice):
        ingested += store_or_halve(few, store)
        progress = Progress(stage=claim.step, done=len(ingested), total=len(documents))
        if not ports.board.append_event(claim.job_id, progress):
            return None
    return ingested


def slices(documents: Sequence[D], *, per_slice: int = SLICE_DOCUMENTS) -> Iterator[Sequence[D]]:
    """Cut documents into slices, in their order."""
    start = chars = 0
    for end, document in enumerate(documents):
        if end > start and (end - start == per_slice or chars + document.chars > SLICE_CHARS):
            yield documents[start:end]
            start, chars = end, 0
        chars += document.chars
    yield documents[start:]


def store_or_halve(documents: Sequence[D], store: Store[D]) -> list[IngestedDocument]:
    """Store documents at once, or where that fails each half of them.

    Raises:
        Unavailable: A store is away, or another worker was first. Every document may be tried again.
    """
    try:
        return list(store(documents))
    except Exception as error:
        if not is_of_the_documents(error):
            raise
        if len(documents) == 1:
            return [_failed(documents[0], error)]
    middle = len(documents) // 2
    return store_or_halve(documents[:middle], store) + store_or_halve(documents[middle:], store)


def _failed(document: Ingestible, error: Exception) -> IngestedDocument:
    is_told = isinstance(error, Refused | CallFailed)
    if not is_told:
        _log.error("a document could not be stored", fault=kinds_of(error))
    reason = str(error) if is_told else f"internal error: {type(error).__name__}"
    return IngestedDocument(document=document.document_id, outcome="failed", reason=reason)


def is_of_the_documents(error: Exception) -> bool:
    """Return whether other documents may be stored although these could not."""
    return isinstance(error, CallFailed) or not isinstance(error, (Unavailable, *AWAY))


def ending_of(result: type[IngestResult], notes: type[IngestNotes] = IngestNotes) -> Ending[Any, IngestNotes]:
    """Return how a job of documents ends, with a result of this type that has the fields of these notes."""
    return Ending(notes, lambda request, picture, notes: to_result(request, picture, notes, result))


def to_result(
    request: Ingest | Extend, picture: Picture, notes: IngestNotes, result: type[IngestResult]
) -> IngestResult:
    """Build a result of this type, with the notes' fields."""
    failed = sum(document.outcome == "failed" for document in notes.documents)
    reason = f"{failed} of {len(notes.documents)} documents failed"
    return result.model_validate({
        **dict(notes),
        "job_id": picture.record.job_id,
        "collection": request.collection,
        "total": sum(document.total for document in notes.documents),
        "complete": not failed,
        "degraded": (Degradation(stage="ingest", reason=reason, code="invalid"),) if failed else (),
    })  # fmt: skip
