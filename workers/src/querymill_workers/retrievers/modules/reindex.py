"""Making the words of `modules` anew from what is stored, some at a time."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.modules.ports import SPACE, ModulePorts
from querymill_workers.retrievers.modules.rules.documents import encode_id
from querymill_workers.retrievers.modules.rules.text import searchable_text
from querymill_workers.words.ports import Space, WordUnit

#: Where the words are.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Documents whose words are made in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: ModulePorts) -> Iterator[tuple[int, int, int]]:
    """Go through the code documents; one that is ingested meanwhile has its words already, and keeps them."""
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
