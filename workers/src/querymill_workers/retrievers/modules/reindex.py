"""Rebuild the text index of `modules` from the stored documents, in batches."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.modules.ports import SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id
from querymill_workers.retrievers.modules.rules.text import searchable_text
from querymill_workers.words.ports import Space, WordUnit

#: The indexes to rebuild.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Documents indexed in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: ModulePorts) -> Iterator[tuple[int, int, int]]:
    """Index every stored document, and yield after each batch: documents done, documents in all, entries written.

    A document that is ingested during the run keeps the newer entry that ingestion wrote.
    """
    ids = [summary.document for summary in ports.modules.describe_all(collection)]
    for start in range(0, len(ids), DOCUMENTS_BATCH):
        documents = ports.modules.documents(collection, ids[start : start + DOCUMENTS_BATCH])
        units = [
            WordUnit(
                encode_id(id_),
                searchable_text(document.meta_info.description, document.meta_info.vtkjs_modules, document.code),
            )
            for id_, document in documents.items()
        ]
        ports.words.refill(collection, SPACE, units)
        yield min(start + DOCUMENTS_BATCH, len(ids)), len(ids), len(units)
