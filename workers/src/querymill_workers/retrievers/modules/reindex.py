"""Rebuild the text index of `modules` from the stored documents, in batches."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.modules.ingest import unit_of
from querymill_workers.retrievers.modules.ports import KIND, NO_VERSION, SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import DocumentId, shown_id
from querymill_workers.versions.ports import WrittenDocument
from querymill_workers.words.ports import Space

#: The indexes to rebuild.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Documents indexed in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: ModulePorts) -> Iterator[tuple[int, int, int]]:
    """Index every stored document, and yield after each batch: documents done, documents in all, entries written.

    A document that is ingested during the run keeps the newer entry that ingestion wrote, and one that is dropped gets
    none.
    """
    ids = [summary.document for summary in ports.modules.describe_all(collection)]
    for start in range(0, len(ids), DOCUMENTS_BATCH):
        units = refill(collection, ids[start : start + DOCUMENTS_BATCH], ports)
        yield min(start + DOCUMENTS_BATCH, len(ids)), len(ids), units


def refill(collection: str, ids: Sequence[DocumentId], ports: ModulePorts) -> int:
    """Index some documents, locked against writers; return the number of entries."""
    subjects = [WrittenDocument(shown_id(id_)) for id_ in ids]
    with ports.versions.changing(collection, KIND, subjects, NO_VERSION, whole=False):
        units = [unit_of(document) for document in ports.modules.documents(collection, ids).values()]
        ports.words.refill(collection, SPACE, units)
    return len(units)
