"""Reports as lists, exports and deletions need them."""

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, Entry, read_entry
from querymill_workers.retrievers.reports.entry import entry_of
from querymill_workers.retrievers.reports.ports import SPACE, ReportLife
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Version
from querymill_workers.words.ports import Words


@value
class ReportBody(Body):
    """`Body` of reports."""

    report_life: ReportLife
    words: Words
    vectors: Mapping[Retriever, Vectors]
    documents: Mapping[Retriever, Documents]

    @override
    def entry_of(self, line: Mapping[str, Any]) -> Entry | None:
        return read_entry(line, Report, entry_of)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        reports = self.report_life.whole(collection, ids)
        return {sha1: line_of(report) for sha1, report in reports.items()}

    @override
    def drop(self, collection: str, document: str, _version: Version) -> int:
        entries = self.report_life.indexed(collection, document)
        self.words.drop(collection, SPACE, [entry_id(document, number) for number in range(entries)])
        self.documents["reports"].drop(collection, [document])
        self.vectors["reports"].begin_embedding(collection, [document])
        return self.report_life.drop(collection, document)

    @override
    def drop_remains(self, collection: str) -> None:
        self.words.drop_all(collection, SPACE)
