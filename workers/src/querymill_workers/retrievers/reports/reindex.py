"""Rebuild the text index of `reports` from the stored passages."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_workers.retrievers.reports.ingest import INDEXED_AT_ONCE, index_entries, pages_of
from querymill_workers.retrievers.reports.ports import SPACE, ReportPorts
from querymill_workers.retrievers.reports.rules.indexing import heads
from querymill_workers.versions.ports import Version, WrittenDocument
from querymill_workers.words.ports import Space

#: The indexes of a collection's reports.
SPACES: Final[Sequence[Space]] = (SPACE,)


def reindexed(collection: str, ports: ReportPorts) -> Iterator[tuple[int, int, int]]:
    """Index report by report, each under its lock.

    Yields the number of reports done, the number of all reports, and the number of passages just indexed.
    """
    documents = ports.documents["reports"].ids(collection, {})
    for done, document in enumerate(documents, start=1):
        # The version does not matter, because this adds nothing to the report.
        with ports.versions.changing(collection, "reports", [WrittenDocument(document)], Version(0, ""), whole=False):
            chunks = ports.report_life.chunks(collection, document)
            whole = ports.report_life.whole(collection, [document]).get(document)
            known = {} if whole is None else heads(pages_of(whole))
            for start in range(0, len(chunks), INDEXED_AT_ONCE):
                entries = index_entries(document, chunks[start : start + INDEXED_AT_ONCE], known)
                ports.words.put(collection, SPACE, entries)
            ports.report_life.set_indexed(collection, document, len(chunks))
        yield done, len(documents), len(chunks)
