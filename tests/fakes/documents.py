"""Documents in memory, of no real retriever: what the flows of documents are tested with."""

from collections.abc import Mapping, Sequence
from typing import Any

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Filterable, Retriever, passes
from querymill_workers.ledger.ports import Version


class KeptDocuments:
    """`Documents` in a dictionary: JSON values by collection and id."""

    kind: Retriever = "messages"

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Mapping[str, Any]]] = {}
        self.left: list[str] = []

    def put(self, collection: str, **documents: Mapping[str, Any]) -> None:
        self.stored.setdefault(collection, {}).update(documents)

    def _passing(self, collection: str, conditions: Mapping[str, Any]) -> list[str]:
        found = self.stored.get(collection, {})
        return sorted(key for key, document in found.items() if passes(conditions, Filterable(metadata=document)))

    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        ids = [key for key in self._passing(collection, conditions) if after is None or key > after]
        documents = self.stored.get(collection, {})
        return [
            DocumentCard(id=key, title=documents[key].get("title"), size=1, unit="messages", metadata=documents[key])
            for key in ids[:limit]
        ]

    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return len(self._passing(collection, conditions))

    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        documents = self.stored.get(collection, {})
        return {key: documents[key] for key in ids if key in documents}

    def drop(self, collection: str, document: str, _version: Version) -> int:
        return 0 if self.stored.get(collection, {}).pop(document, None) is None else 1

    def leave(self, collection: str) -> None:
        if not self.stored.get(collection):
            self.left.append(collection)
