"""The descriptions of code documents in memory: for tests, and to read what the store does."""

import threading
from collections.abc import Mapping, Sequence

from typing_extensions import override

from querymill_workers.retrievers.modules.ports import Descriptions, NearDescriptions
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id, read_id, shown_id
from querymill_workers.text.similarity import cosine
from querymill_workers.vectors.keys import keys_of
from querymill_workers.vectors.memory import MemoryVectors
from querymill_workers.vectors.ports import Passage, Vector


class MemoryDescriptions(Descriptions):
    """`Descriptions` without a server. ``vectors`` are those of their passages."""

    def __init__(self) -> None:
        self._texts: dict[str, dict[DocumentId, Sequence[str]]] = {}
        self._lock = threading.RLock()
        self.vectors = MemoryVectors("modules", self._passages)

    @override
    def put(self, collection: str, passages: Mapping[DocumentId, Sequence[str]]) -> None:
        with self._lock:
            self._texts.setdefault(collection, {}).update(passages)
            self.vectors.drop_orphans(collection)

    @override
    def drop(self, collection: str, documents: Sequence[DocumentId]) -> None:
        self.put(collection, dict.fromkeys(documents, ()))

    @override
    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> NearDescriptions:
        best: dict[DocumentId, float] = {}
        with self._lock:
            for (shown, _), known in self.vectors.vectors(collection, model=model).items():
                document = read_id(shown)
                if documents is None or document in documents:
                    best[document] = max(cosine(known, vector), best.get(document, -2.0))
            pending = self.vectors.counts(collection, model=model).pending
        found = sorted(best.items(), key=lambda near: (-near[1], encode_id(near[0])))
        return NearDescriptions(found[:limit], pending)

    def _passages(self, collection: str) -> list[Passage]:
        with self._lock:
            return [
                Passage(shown_id(document), key, text)
                for document, texts in self._texts.get(collection, {}).items()
                for key, text in zip(keys_of(texts), texts, strict=True)
            ]
