"""The documents of `reports`, as lists, exports and deletions need them, over any store of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Final

from typing_extensions import override

from querymill_shared.contracts.described import line_of
from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.reports.ports import SPACE, ReportLife
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words


class ReportDocuments(Documents):
    """`Documents` of reports."""

    kind: Final[Retriever] = "reports"

    def __init__(self, life: ReportLife, words: Words, vectors: Vectors) -> None:
        self._life = life
        self._words = words
        self._vectors = vectors

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        cards = self._life.listed(collection, conditions, limit=limit, after=after)
        ids = [card.id for card in cards]
        # Before the first vector of a collection, all its passages wait.
        lacking = self._vectors.lacking(collection, model=self._vectors.active_model(collection) or "", documents=ids)
        return [card.model_copy(update={"pending": lacking.get(card.id, 0)}) for card in cards]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return self._life.count(collection, conditions)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        reports = self._life.whole(collection, ids)
        return {sha1: line_of(report) for sha1, report in reports.items()}

    @override
    def drop(self, collection: str, document: str, _version: Version) -> int:
        entries = self._life.indexed(collection, document)
        self._words.drop(collection, SPACE, [entry_id(document, number) for number in range(entries)])
        self._vectors.begin_embedding(collection, [document])
        return self._life.drop(collection, document)

    @override
    def leave(self, collection: str) -> None:
        if not self._life.count(collection, {}):
            self._words.clear(collection, SPACE)
            self._vectors.forget_model(collection)
        self._life.leave(collection)


def card_of(
    sha1: str, title: str, published_at: date | None, metadata: Mapping[str, Any], *, pages: int
) -> DocumentCard:  # fmt: skip
    """Return what a list tells of a report."""
    when = None if published_at is None else datetime.combine(published_at, time.min, UTC)
    return DocumentCard(id=sha1, title=title, when=when, size=pages, unit="pages", metadata=metadata)
