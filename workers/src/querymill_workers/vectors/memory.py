"""Vectors in memory: for tests, and to read what the adapter does."""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from zlib import crc32

from typing_extensions import override

from querymill_shared.contracts.filters import Retriever
from querymill_workers.vectors.ports import (
    WHOLE,
    CollectionPart,
    Passage,
    PassageCounts,
    RefusedEmbedding,
    RefusedKey,
    RefusedPassage,
    Vector,
    Vectors,
)
from querymill_workers.vectors.rules.worth import VectorsWorth


class MemoryVectors(Vectors):
    """`Vectors` without a server. ``passages`` returns what the retriever stores of a collection."""

    def __init__(self, retriever: Retriever, passages: Callable[[str], Iterable[Passage]]) -> None:
        self._retriever: Retriever = retriever
        self._passages = passages
        self._vectors: dict[str, dict[RefusedKey, tuple[Vector | RefusedEmbedding, datetime]]] = defaultdict(dict)
        self._models: dict[str, str] = {}
        self._awaited: dict[tuple[str, str], str] = {}
        self._worth: dict[tuple[str, str], VectorsWorth] = {}
        self._lock = threading.RLock()

    @property
    @override
    def retriever(self) -> Retriever:
        return self._retriever

    def vectors(self, collection: str, *, model: str) -> Mapping[tuple[str, str], Vector]:
        """Return the vectors of stored passages by document and key, as searches compare them."""
        with self._lock:
            return {
                key[:2]: result
                for key, (result, _) in self._vectors[collection].items()
                if key.model == model and not isinstance(result, RefusedEmbedding)
            }

    @override
    def pending(
        self,
        collection: str,
        *,
        model: str,
        limit: int,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
        after: Passage | None = None,
    ) -> Sequence[Passage]:
        return [
            passage
            for passage in self._pending(collection, model, documents)
            if _is_in(passage.document, part) and (after is None or passage[:2] > after[:2])
        ][:limit]

    @override
    def still_pending(self, collection: str, passages: Sequence[Passage], *, model: str) -> Sequence[Passage]:
        left = {passage[:2] for passage in self._pending(collection, model)}
        return [passage for passage in passages if passage[:2] in left]

    @override
    def fill(self, collection: str, results: Mapping[Passage, Vector | RefusedEmbedding], *, model: str) -> None:
        with self._lock:
            stored = {passage[:2] for passage in self._passages(collection)}
            for passage, result in results.items():
                if passage[:2] in stored:
                    key = RefusedKey(passage.document, passage.key, model)
                    self._vectors[collection][key] = (result, datetime.now(UTC))

    @override
    def retry(
        self,
        collection: str,
        *,
        model: str | None = None,
        documents: Collection[str] | None = None,
        part: CollectionPart = WHOLE,
    ) -> None:
        self._keep(
            collection,
            lambda key, result: (
                not isinstance(result, RefusedEmbedding)
                or model not in (None, key.model)
                or (documents is not None and key.document not in documents)
                or not _is_in(key.document, part)
            ),
        )

    @override
    def counts(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, part: CollectionPart = WHOLE
    ) -> PassageCounts:
        with self._lock:
            chosen = [
                passage
                for passage in self._passages(collection)
                if (documents is None or passage.document in documents) and _is_in(passage.document, part)
            ]
            known = {key[:2]: result for key, (result, _) in self._vectors[collection].items() if key.model == model}
        results = [known.get(passage[:2]) for passage in chosen]
        pending, refused = (
            (result is None for result in results),
            (isinstance(result, RefusedEmbedding) for result in results),
        )
        return PassageCounts(len(chosen), sum(pending), sum(refused))

    @override
    def lacking(
        self, collection: str, *, model: str, documents: Collection[str] | None = None, unawaited: bool = False
    ) -> Mapping[str, int]:
        counted: dict[str, int] = {}
        for passage in self._pending(collection, model, documents):
            if not unawaited or (collection, passage.document) not in self._awaited:
                counted[passage.document] = counted.get(passage.document, 0) + 1
        return counted

    @override
    def active_model(self, collection: str, *, first: str | None = None) -> str | None:
        with self._lock:
            return self._models.get(collection) if first is None else self._models.setdefault(collection, first)

    @override
    def switch(self, collection: str, *, model: str) -> bool:
        with self._lock:
            if self._pending(collection, model):
                return False
            self._models[collection] = model
            return True

    @override
    def drop_model(self, collection: str) -> None:
        with self._lock:
            self._models.pop(collection, None)
            self._worth = {key: worth for key, worth in self._worth.items() if key[0] != collection}
            self.begin_embedding(collection, None)

    @override
    def drop_other_models(self, collection: str, *, model: str) -> None:
        self._keep(collection, lambda key, _: key.model == model)
        with self._lock:
            others = [key for key in self._worth if key[0] == collection and key[1] != model]
            for key in others:
                del self._worth[key]

    @override
    def sample(self, collection: str, *, model: str, limit: int) -> Sequence[tuple[Passage, Vector]]:
        with self._lock:
            known = self.vectors(collection, model=model)
            found = [(each, known[each[:2]]) for each in self._passages(collection) if each[:2] in known]
            return sorted(found, key=lambda each: (crc32(repr(each[0][:2]).encode()), each[0]))[:limit]

    @override
    def still_stored(self, collection: str, passages: Sequence[Passage]) -> Sequence[Passage]:
        with self._lock:
            stored = {passage[:2] for passage in self._passages(collection)}
            return [passage for passage in passages if passage[:2] in stored]

    @override
    def keep_worth(self, collection: str, worth: VectorsWorth, *, model: str) -> None:
        with self._lock:
            self._worth[collection, model] = worth

    @override
    def worth(self, collection: str, *, model: str) -> VectorsWorth | None:
        with self._lock:
            return self._worth.get((collection, model))

    @override
    def await_embedding(
        self, collection: str, tokens: Mapping[str, str], *, models: Sequence[str]
    ) -> Mapping[str, str]:
        with self._lock:
            lacking = {passage.document for model in models for passage in self._pending(collection, model, tokens)}
            return {id_: self._awaited.setdefault((collection, id_), tokens[id_]) for id_ in sorted(lacking)}

    @override
    def is_awaited(self, collection: str) -> bool:
        with self._lock:
            return any(key[0] == collection for key in self._awaited)

    @override
    def begin_embedding(self, collection: str, documents: Collection[str] | None) -> None:
        with self._lock:
            for key in [key for key in self._awaited if key[0] == collection]:
                if documents is None or key[1] in documents:
                    del self._awaited[key]

    @override
    def refused(self, collection: str, *, limit: int, after: RefusedKey | None = None) -> Sequence[RefusedPassage]:
        return [each for each in self._refused(collection) if after is None or each.key > after][:limit]

    @override
    def count_refused(self, collection: str) -> int:
        return len(self._refused(collection))

    def drop_orphans(self, collection: str) -> None:
        """Drop the vectors whose passages are not stored any more. The retriever calls it when it has changed them."""
        with self._lock:
            stored = {passage[:2] for passage in self._passages(collection)}
            self._keep(collection, lambda key, _: key[:2] in stored)

    @override
    def index_if_large(self, collection: str, *, model: str, dimensions: int) -> bool:  # none is needed
        return False

    def drop_index(self, collection: str, *, model: str) -> None:
        """See `Vectors.drop_index`."""

    def _pending(self, collection: str, model: str, documents: Collection[str] | None = None) -> list[Passage]:
        with self._lock:
            known = self._vectors[collection]
            return sorted(
                passage
                for passage in self._passages(collection)
                if (documents is None or passage.document in documents)
                and RefusedKey(passage.document, passage.key, model) not in known
            )

    def _refused(self, collection: str) -> list[RefusedPassage]:
        with self._lock:
            return [
                RefusedPassage(key, result.reason, at)
                for key, (result, at) in sorted(self._vectors[collection].items(), key=lambda item: item[0])
                if isinstance(result, RefusedEmbedding)
            ]

    def _keep(self, collection: str, holds: Callable[[RefusedKey, Vector | RefusedEmbedding], bool]) -> None:
        with self._lock:
            kept = {key: entry for key, entry in self._vectors[collection].items() if holds(key, entry[0])}
            self._vectors[collection] = kept


def _is_in(document: str, part: CollectionPart) -> bool:
    return crc32(document.encode("utf-8", "surrogatepass")) % part.of == part.number
