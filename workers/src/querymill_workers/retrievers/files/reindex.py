"""Rebuilding the words of `files` from the stored files."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.files.ingest import unit_of
from querymill_workers.retrievers.files.ports import KIND, NO_VERSION, SPACE, FilePorts
from querymill_workers.versions.ports import WrittenDocument
from querymill_workers.words.ports import Space

#: The spaces that hold the words.
SPACES: Final[Sequence[Space]] = (SPACE,)
#: Files whose words are rebuilt in one transaction.
DOCUMENTS_BATCH: Final = 100


def reindexed(collection: str, ports: FilePorts) -> Iterator[tuple[int, int, int]]:
    """Rebuild the words of a code base, a batch of locked files at a time.

    Yields:
        How many files are done, how many there are, and how many words' units this batch rebuilt.
    """
    paths = ports.documents[KIND].ids(collection, {})
    for start in range(0, len(paths), DOCUMENTS_BATCH):
        some = paths[start : start + DOCUMENTS_BATCH]
        subjects = [WrittenDocument(path) for path in some]
        with ports.versions.changing(collection, KIND, subjects, NO_VERSION, whole=False):
            units = [unit_of(*file) for file in ports.files.contents(collection, some).items()]
            ports.words.refill(collection, SPACE, units)
        yield min(start + DOCUMENTS_BATCH, len(paths)), len(paths), len(units)
