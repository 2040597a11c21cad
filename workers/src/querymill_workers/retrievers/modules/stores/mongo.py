"""Code documents in MongoDB. Every query and every key names the collection.

    module_documents   one record per document: what scoring reads, and which postings may name it
    module_codes       one record per document: the document as it was ingested
    module_names       one record per module name of a collection: its vocabulary, for shorthands
    module_postings    documents by name: for each name, reversed and in lower case, some buckets of document ids.
                       A suffix of a name is a prefix of its reversal, so a suffix match is one range of the index
    module_lexicons    one record per learned lexicon
    module_states      one record per collection: how much was stored, and which lexicon is in use

The document is the truth, and postings only lead to it. Postings are added before the document is written and
outdated ones are removed after. The change is counted last: a lexicon that is learned in between must not count as
having seen it. Until then the document is ``uncounted`` and does not count as ingested. If `put` dies in between, the
next attempt therefore repeats it, and a lexicon learns from the document.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import uuid4

import pymongo
from bson.errors import BSONError
from cachetools import LRUCache
from pymongo import UpdateOne
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import BulkWriteError, ConnectionFailure, DuplicateKeyError, PyMongoError

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.ports import Vocabulary
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall
from querymill_workers.retrievers.modules.stores.mongo_rows import (
    Row,
    bucket_of,
    code_row,
    document_row,
    mark_counted,
    posting_id,
    recall_filter,
    recall_of,
    reversals,
    row_id,
    summary_of,
)

#: The embedded server compares each record it found with the whole list, so short lists are quicker.
_SUMMARIES_PER_QUERY: Final = 25
_DEFAULT_DATABASE: Final = "querymill"
#: The vocabularies of up to this many collections are cached; a vocabulary that has changed is read again.
_CACHED_COLLECTIONS: Final = 64


class MongoModules:
    """`Modules` on MongoDB. It connects when first used, so workers that need no code documents run without it."""

    kind: Final = "modules"

    def __init__(self, uri: str, *, timeout_s: float = 5.0) -> None:
        self._uri = uri
        self._timeout_ms = int(timeout_s * 1000)
        self._opened: Database[Row] | None = None
        self._is_indexed = False
        self._cached: LRUCache[tuple[str, int, str], tuple[tuple[str, ...], Lexicon]] = LRUCache(_CACHED_COLLECTIONS)
        self._lock = threading.Lock()

    @property
    def _database(self) -> Database[Row]:
        with self._lock:
            if self._opened is None:
                client: pymongo.MongoClient[Row] = pymongo.MongoClient(
                    self._uri,
                    serverSelectionTimeoutMS=self._timeout_ms,
                    connectTimeoutMS=self._timeout_ms,
                    socketTimeoutMS=4 * self._timeout_ms,
                )
                self._opened = client.get_default_database(_DEFAULT_DATABASE)
        if not self._is_indexed:
            self._opened["module_postings"].create_index([("collection", 1), ("reversed", 1)])
            self._opened["module_names"].create_index([("collection", 1)])
            self._opened["module_documents"].create_index([("collection", 1)])
            self._is_indexed = True
        return self._opened

    def close(self) -> None:
        """Close the connections, if any were opened."""
        if self._opened is not None:
            self._opened.client.close()

    def revision(self, collection: str, document: DocumentId) -> Revision | None:
        """See `Modules.revision`."""
        with self._raise_faults():
            wanted = {"revision": 1, "uncounted": 1}
            row = self._rows("documents").find_one({"_id": row_id(collection, document)}, wanted) or {}
        return None if "revision" not in row or "uncounted" in row else Revision(row["revision"])

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]]) -> None:
        """See `Modules.put`."""
        latest = {document.document: (document, revision) for document, revision in documents}
        names = {name: reversals(document) for name, (document, _) in latest.items()}
        with self._raise_faults():
            posted = self._announce(collection, names)
            self._add_postings(collection, {id_: names[id_].keys() & posted[id_] for id_ in latest}, "$addToSet")
            # A name that was never announced is in no posting, so there is no duplicate to look for.
            self._add_postings(collection, {id_: names[id_].keys() - posted[id_] for id_ in latest}, "$push")
            # Before the documents: once stored they count as ingested, and no attempt would add their names.
            self._add_names(
                collection, {key: name for by_reversal in names.values() for key, name in by_reversal.items()}
            )
            self._rows("codes").bulk_write([_upsert(code_row(collection, document)) for document, _ in latest.values()])
            rows = [document_row(collection, document, revision) for document, revision in latest.values()]
            self._rows("documents").bulk_write([_upsert(row) for row in rows])
            self._remove_postings(collection, {id_: posted[id_] - names[id_].keys() for id_ in latest})
            self._rows("states").update_one({"_id": collection}, {"$inc": {"changes": len(latest)}}, upsert=True)
            self._rows("documents").bulk_write([mark_counted(row) for row in rows])

    def vocabulary(self, collection: str) -> Vocabulary:
        """See `Modules.vocabulary`."""
        with self._raise_faults():
            state = self._rows("states").find_one({"_id": collection}) or {}
            place = (collection, state.get("names", 0), state.get("lexicon", ""))
            with self._lock:
                cached = self._cached.get(place)
            if cached is None:
                cached = self._names(collection), self._lexicon(place[2])
                with self._lock:
                    self._cached[place] = cached
        return Vocabulary(*cached, state.get("version", 0), state.get("changes", 0), state.get("learned_changes", 0))

    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        """See `Modules.recall`."""
        # Exact names take one query; each suffix is a range of its own.
        groups = [keys] if match == "exact" else [[key] for key in keys]
        fields = {"_id": 0, "reversed": 1, "documents": 1}
        with self._raise_faults():
            wanted = [recall_filter(collection, group, match=match) for group in groups if group]
            rows = [row for filter_ in wanted for row in self._rows("postings").find(filter_, fields)]
        return {key: recall_of(key, rows, match=match) for key in keys}

    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        """See `Modules.describe`."""
        keys = [row_id(collection, document) for document in documents]
        found: list[DocumentSummary] = []
        with self._raise_faults():
            for start in range(0, len(keys), _SUMMARIES_PER_QUERY):
                rows = self._rows("documents").find({"_id": {"$in": keys[start : start + _SUMMARIES_PER_QUERY]}})
                found += [summary_of(row) for row in rows if "revision" in row]
        return found

    def describe_all(self, collection: str) -> Iterator[DocumentSummary]:
        """See `Modules.describe_all`."""
        with self._raise_faults():
            for row in self._rows("documents").find({"collection": collection}):
                if "revision" in row:
                    yield summary_of(row)

    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        """See `Modules.documents`."""
        wanted = {"_id": {"$in": [row_id(collection, document) for document in documents]}}
        with self._raise_faults():
            rows = list(self._rows("codes").find(wanted))
        return {row["document"]: ModuleDocument.model_validate_json(row["json"]) for row in rows}

    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """See `Modules.publish_lexicon`."""
        # Pairs, not keys: MongoDB may take a word for an operator. The lexicon is written first, then activated.
        words = [[word, list(modules)] for word, modules in lexicon.words.items()]
        row = {"_id": f"{collection}/{uuid4().hex}", "collection": collection, "words": words}
        expected = {"_id": collection, "version": replacing if replacing else {"$in": [0, None]}}
        activated = {"version": replacing + 1, "lexicon": row["_id"], "learned_changes": changes}
        with self._raise_faults():
            self._rows("lexicons").insert_one(row)
            before = self._rows("states").find_one_and_update(expected, {"$set": activated})
            outdated = row["_id"] if before is None else before.get("lexicon")
            self._rows("lexicons").delete_one({"_id": outdated})
        if before is None:
            raise Unavailable("another lexicon was published first")
        return replacing + 1

    def collections(self) -> Sequence[str]:
        """See `Modules.collections`."""
        with self._raise_faults():
            return sorted(row["_id"] for row in self._rows("states").find({}, {"_id": 1}))

    def explain_recall(self, collection: str, key: str, *, match: Match) -> Row:
        """Return the server's query plan for one recall."""
        with self._raise_faults():
            plan: Row = self._rows("postings").find(recall_filter(collection, [key], match=match)).explain()
            return plan

    def _announce(self, collection: str, names: Mapping[DocumentId, Iterable[str]]) -> dict[DocumentId, set[str]]:
        """Record which postings will name the documents; return, by document, the postings that may name it already."""
        keys = {row_id(collection, document): document for document in names}
        before = {row["_id"]: row for row in self._rows("documents").find({"_id": {"$in": list(keys)}}, {"posted": 1})}
        self._rows("documents").bulk_write([
            UpdateOne(
                {"_id": key},
                {
                    "$set": {"collection": collection, "document": document},
                    "$addToSet": {"posted": {"$each": sorted(names[document])}},
                },
                upsert=True,
            )
            for key, document in keys.items()
        ])  # fmt: skip
        return {document: set(before.get(key, {}).get("posted", ())) for key, document in keys.items()}

    def _add_postings(self, collection: str, names: Mapping[DocumentId, Iterable[str]], how: str) -> None:
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
                        how: {"documents": {"$each": documents}},
                    },
                    upsert=True,
                )
                for (reverse, number), documents in buckets.items()
            ])  # fmt: skip

    def _remove_postings(self, collection: str, stale: Mapping[DocumentId, set[str]]) -> None:
        """Remove documents from the postings of names that they no longer have."""
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
        self._add_postings(collection, again, "$addToSet")

    def _add_names(self, collection: str, names: Mapping[str, str]) -> None:
        fresh = self._rows("names").bulk_write([
            UpdateOne(
                {"_id": f"{collection}/{reverse}"},
                {"$setOnInsert": {"collection": collection, "name": name}},
                upsert=True,
            )
            for reverse, name in sorted(names.items())
        ])  # fmt: skip
        if fresh.upserted_count:
            added = {"names": fresh.upserted_count}
            self._rows("states").update_one({"_id": collection}, {"$inc": added}, upsert=True)

    def _names(self, collection: str) -> tuple[str, ...]:
        rows = self._rows("names").find({"collection": collection}, {"name": 1})
        return tuple(sorted(row["name"] for row in rows))

    def _lexicon(self, name: str) -> Lexicon:
        row = self._rows("lexicons").find_one({"_id": name}) if name else None
        if name and row is None:
            raise Unavailable("the lexicon was replaced while it was read")
        return Lexicon({word: tuple(modules) for word, modules in row["words"]}) if row else EMPTY

    def _rows(self, kind: str) -> Collection[Row]:
        return self._database[f"module_{kind}"]

    @contextmanager
    def _raise_faults(self) -> Iterator[None]:
        """Raise `Unavailable` if the server does not respond, and `Refused` if it rejects an operation."""
        try:
            yield
        # Of two workers that write the same record at once, the second tries again.
        except (ConnectionFailure, DuplicateKeyError, BulkWriteError) as error:
            raise Unavailable(f"MongoDB: {type(error).__name__}") from error
        except (PyMongoError, BSONError) as error:
            raise Refused(f"MongoDB: {type(error).__name__}") from error


def _upsert(row: Row) -> UpdateOne:
    return UpdateOne({"_id": row["_id"]}, {"$set": row}, upsert=True)
