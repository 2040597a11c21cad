"""The documents of `files`, as lists, exports and deletions need them, over any store of them: each file is one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.ports import Documents
from querymill_workers.ledger.ports import Version
from querymill_workers.retrievers.files.ports import SPACE, Files
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.ports import Words


class FileDocuments(Documents):
    """`Documents` of code bases."""

    kind: Final[Retriever] = "files"

    def __init__(self, files: Files, words: Words, vectors: Vectors) -> None:
        self._files = files
        self._words = words
        self._vectors = vectors

    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        """See `Documents.list`. Without a model whose vectors searches compare, no file waits for one."""
        cards = self._files.cards(collection, conditions, limit=limit, after=after)
        model, paths = self._vectors.active_model(collection), [card.path for card in cards]
        lacking = {} if model is None else self._vectors.lacking(collection, model=model, documents=paths)
        return [
            DocumentCard(
                id=card.path,
                size=card.size,
                unit="bytes",
                metadata=card.metadata,
                pending=lacking.get(card.path, 0),
            )
            for card in cards
        ]

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return self._files.count(collection, conditions)

    @override
    def whole(self, collection: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        contents, infos = self._files.contents(collection, ids), self._files.describe(collection, ids)
        return {
            path: {**infos[path].metadata, "path": path, "content": contents[path]}
            for path in ids
            if path in contents and path in infos
        }

    @override
    def drop(self, collection: str, document: str, _version: Version) -> int:
        was_there = bool(self._files.describe(collection, [document]))
        self._words.drop(collection, SPACE, [document])
        self._files.drop(collection, [document])
        self._vectors.begin_embedding(collection, [document])
        return int(was_there)

    @override
    def leave(self, collection: str) -> None:
        if not self._files.count(collection, {}):
            self._vectors.forget_model(collection)
