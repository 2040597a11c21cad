"""The names of modules in MongoDB: the vocabulary of a collection, and the documents of each name.

Postings lead to documents, and may lead to too many, so the reader of one reads the document as well. What is removed
is added again if a writer needs it, because writers announce in a document's record what they are going to post.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pymongo import DeleteOne, UpdateOne
from pymongo.collection import Collection

from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.stores.mongo_rows import BUCKETS, Row, bucket_of, posting_id, row_id


class MongoPostings:
    """The postings and the vocabulary of all collections. ``rows`` returns the server's collection of a kind."""

    def __init__(self, rows: Callable[[str], Collection[Row]]) -> None:
        self._rows = rows

    def add(self, collection: str, names: Mapping[DocumentId, Iterable[str]]) -> None:
        """Post documents under the reversals of their names."""
        buckets: defaultdict[tuple[str, int], list[DocumentId]] = defaultdict(list)
        for document, reverses in names.items():
            for reverse in reverses:
                buckets[reverse, bucket_of(document)].append(document)
        if buckets:
            self._rows("postings").bulk_write([
                UpdateOne(
                    {"_id": posting_id(collection, reverse, number)},
                    {
                        "$setOnInsert": {"collection": collection, "reversed": reverse},
                        "$addToSet": {"documents": {"$each": documents}},
                    },
                    upsert=True,
                )
                for (reverse, number), documents in buckets.items()
            ])  # fmt: skip

    def remove(self, collection: str, stale: Mapping[DocumentId, set[str]]) -> None:
        """Remove documents from the postings of names that they no longer have, and names that no document has."""
        outdated = [(document, reverse) for document, names in stale.items() for reverse in names]
        if not outdated:
            return
        self._rows("postings").bulk_write([
            UpdateOne(
                {"_id": posting_id(collection, reverse, bucket_of(document))}, {"$pull": {"documents": document}}
            )
            for document, reverse in outdated
        ])  # fmt: skip
        # Another version of the document may have announced one of these names since: add it again.
        keys = [row_id(collection, document) for document in stale]
        rows = self._rows("documents").find({"_id": {"$in": keys}}, {"document": 1, "posted": 1})
        again = {row["document"]: stale[row["document"]].intersection(row["posted"]) for row in rows}
        self.add(collection, again)
        self._forget_names(collection, sorted(set().union(*stale.values())))

    def add_names(self, collection: str, names: Mapping[DocumentId, Mapping[str, str]]) -> None:
        """Add the names of documents to the vocabulary, by their reversals. Their postings come first."""
        self._add_names(collection, {key: name for by_reversal in names.values() for key, name in by_reversal.items()})

    def _add_names(self, collection: str, names: Mapping[str, str]) -> None:
        if not names:
            return
        fresh = self._rows("names").bulk_write([
            UpdateOne(
                {"_id": f"{collection}/{reverse}"},
                {"$setOnInsert": {"collection": collection, "name": name}},
                upsert=True,
            )
            for reverse, name in sorted(names.items())
        ])  # fmt: skip
        if fresh.upserted_count:
            self._count_change(collection)

    def _forget_names(self, collection: str, reverses: Sequence[str]) -> None:
        unused = [reverse for reverse in reverses if not self._is_posted(collection, reverse)]
        if not unused:
            return
        names = {row["_id"]: row for row in self._names_at(collection, unused)}
        self._rows("names").bulk_write([DeleteOne({"_id": f"{collection}/{reverse}"}) for reverse in unused])
        # A writer may have posted one since, and have found the name there: add it again.
        again = [reverse for reverse in unused if self._is_posted(collection, reverse)]
        kept = {reverse: names[f"{collection}/{reverse}"] for reverse in again if f"{collection}/{reverse}" in names}
        if kept:
            self._add_names(collection, {reverse: row["name"] for reverse, row in kept.items()})
        self._count_change(collection)

    def _names_at(self, collection: str, reverses: Sequence[str]) -> Iterable[Row]:
        return self._rows("names").find({"_id": {"$in": [f"{collection}/{reverse}" for reverse in reverses]}})

    def _is_posted(self, collection: str, reverse: str) -> bool:
        keys = [posting_id(collection, reverse, number) for number in range(BUCKETS)]
        found: Iterable[Mapping[str, Any]] = self._rows("postings").find({"_id": {"$in": keys}}, {"documents": 1})
        return any(row["documents"] for row in found)

    def _count_change(self, collection: str) -> None:
        """Count a change of the vocabulary, so that every worker reads it again."""
        self._rows("states").update_one({"_id": collection}, {"$inc": {"names": 1}}, upsert=True)
