"""The documents of `reports`, as lists, exports and deletions need them, over any store of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.reports.ports import SPACE, ReportLife
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.set_aside.ports import SetAside
from querymill_workers.words.ports import Words


class ReportDocuments:
    """`Documents` of reports."""

    kind: Final[Retriever] = "reports"

    def __init__(self, life: ReportLife, words: Words, set_aside: SetAside) -> None:
        self._life = life
        self._words = words
        self._set_aside = set_aside

    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `Documents.list`."""
        return self._life.listed(collection, conditions, limit=limit, after=after)

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        """See `Documents.count`."""
        return self._life.count(collection, conditions)

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """See `Documents.whole`."""
        reports = self._life.whole(collection, ids)
        return {sha1: line_of(report) for sha1, report in reports.items()}

    def drop(self, collection: str, document: str, _version: Version) -> int:
        """See `Documents.drop`."""
        entries = self._life.indexed(collection, document)
        self._words.drop(collection, SPACE, [entry_id(document, number) for number in range(entries)])
        self._set_aside.drop(collection, "reports", [document])
        return self._life.drop(collection, document)

    def leave(self, collection: str) -> None:
        """See `Documents.leave`."""
        if not self._life.count(collection, {}):
            self._words.clear(collection, SPACE)
        self._life.leave(collection)


def card_of(
    sha1: str, title: str, published_at: date | None, metadata: Mapping[str, Any], *, pages: int, pending: int
) -> DocumentCard:  # fmt: skip
    """Return what a list tells of a report."""
    when = None if published_at is None else datetime.combine(published_at, time.min, UTC)
    return DocumentCard(
        id=sha1, title=title, when=when, size=pages, unit="pages", metadata=metadata, pending=pending
    )  # fmt: skip
