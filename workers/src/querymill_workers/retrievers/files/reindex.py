"""Making the words of `files` anew from what is stored, some at a time."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.files.ingest import unit_of
from querymill_workers.retrievers.files.ports import SPACE, FilePorts
from querymill_workers.words.ports import Space

#: Where the words are.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Documents whose words are made in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: FilePorts) -> Iterator[tuple[int, int, int]]:
    """Go through the files of a code base; nobody changes one while its words are made."""
    paths = sorted(ports.files.revisions(collection))
    for start in range(0, len(paths), DOCUMENTS_BATCH):
        some = paths[start : start + DOCUMENTS_BATCH]
        with ports.files.changing(collection, some):
            units = [unit_of(*file) for file in ports.files.contents(collection, some).items()]
            ports.words.refill(collection, SPACE, units)
        yield min(start + DOCUMENTS_BATCH, len(paths)), len(paths), len(units)
