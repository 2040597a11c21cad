"""The descriptions of code documents and their vectors in memory: for tests, and to read what the store does."""

import threading
from collections.abc import Mapping, Sequence

from querymill_workers.retrievers.modules.ports import NearDescriptions, PendingDescription, Vector
from querymill_workers.retrievers.modules.rules.documents import DocumentId, encode_id
from querymill_workers.text.similarity import cosine


class MemoryDescriptions:
    """`Descriptions` without a server. There was no release before, so what was put is described."""

    def __init__(self) -> None:
        self._passages: dict[str, dict[tuple[DocumentId, int], str]] = {}
        self._vectors: dict[str, dict[tuple[str, DocumentId, int], Vector | None]] = {}
        self._lock = threading.RLock()

    def put(self, collection: str, passages: Mapping[DocumentId, Sequence[str]]) -> None:
        """See `Descriptions.put`."""
        new = {(document, number): text for document, texts in passages.items() for number, text in enumerate(texts)}
        with self._lock:
            stored = self._passages.setdefault(collection, {})
            for place in [place for place in stored if place[0] in passages and new.get(place) != stored[place]]:
                self._drop(collection, place)
            stored.update(new)

    def drop(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """See `Descriptions.drop`."""
        with self._lock:
            for place in [place for place in self._passages.get(collection, {}) if place[0] in documents]:
                self._drop(collection, place)

    def undescribed(self, _collection: str, *, limit: int) -> Sequence[DocumentId]:  # noqa: ARG002
        """See `Descriptions.undescribed`."""
        return []

    def pending(self, collection: str, *, model: str, limit: int) -> Sequence[PendingDescription]:
        """See `Descriptions.pending`."""
        return self._pending(collection, model)[:limit]

    def still_pending(
        self, collection: str, passages: Sequence[PendingDescription], *, model: str
    ) -> Sequence[PendingDescription]:
        """See `Descriptions.still_pending`."""
        left = self._pending(collection, model)
        return [passage for passage in passages if passage in left]

    def fill(
        self,
        collection: str,
        passages: Sequence[PendingDescription],
        vectors: Sequence[Vector | None],
        *,
        model: str,
    ) -> None:
        """See `Descriptions.fill`."""
        with self._lock:
            stored = self._passages.get(collection, {})
            for passage, vector in zip(passages, vectors, strict=True):
                if stored.get((passage.document, passage.number)) == passage.text:
                    place = (model, passage.document, passage.number)
                    self._vectors.setdefault(collection, {})[place] = vector

    def retry(self, collection: str, *, model: str) -> None:
        """See `Descriptions.retry`."""
        with self._lock:
            stored = self._vectors.get(collection, {})
            for place in [place for place, vector in stored.items() if place[0] == model and vector is None]:
                del stored[place]

    def count_pending(self, collection: str, *, model: str) -> int:
        """See `Descriptions.count_pending`."""
        return len(self._pending(collection, model))

    def nearest(
        self,
        collection: str,
        vector: Vector,
        *,
        model: str,
        limit: int,
        documents: Sequence[DocumentId] | None = None,
    ) -> NearDescriptions:
        """See `Descriptions.nearest`."""
        best: dict[DocumentId, float] = {}
        with self._lock:
            for (of, document, _), known in self._vectors.get(collection, {}).items():
                if of == model and known is not None and (documents is None or document in documents):
                    best[document] = max(cosine(known, vector), best.get(document, -2.0))
            pending = len(self._pending(collection, model))
        found = sorted(best.items(), key=lambda near: (-near[1], encode_id(near[0])))
        return NearDescriptions(found[:limit], pending)

    def drop_other_models(self, collection: str, *, model: str) -> None:
        """See `Descriptions.drop_other_models`."""
        with self._lock:
            stored = self._vectors.get(collection, {})
            for place in [place for place in stored if place[0] != model]:
                del stored[place]

    def _pending(self, collection: str, model: str) -> list[PendingDescription]:
        with self._lock:
            known = self._vectors.get(collection, {})
            lacking = [
                PendingDescription(document, number, text)
                for (document, number), text in self._passages.get(collection, {}).items()
                if (model, document, number) not in known
            ]
        return sorted(lacking, key=lambda passage: (encode_id(passage.document), passage.number))

    def _drop(self, collection: str, place: tuple[DocumentId, int]) -> None:
        del self._passages[collection][place]
        stored = self._vectors.get(collection, {})
        for of in [of for of in stored if of[1:] == place]:
            del stored[of]
