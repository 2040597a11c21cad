"""Vocabularies in MongoDB: the names of a collection's modules, and the lexicon that is in use."""

import threading
from collections.abc import Callable
from typing import Final
from uuid import uuid4

from cachetools import LRUCache
from pymongo.collection import Collection

from querymill_workers.jobs.faults import Conflict
from querymill_workers.retrievers.modules.ports import Vocabulary
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.stores.mongo_rows import Row

#: The vocabularies of up to this many collections are cached; a vocabulary that has changed is read again.
_CACHED_COLLECTIONS: Final = 64


class MongoVocabularies:
    """The vocabularies of all collections. ``rows`` returns the server's collection of a kind."""

    def __init__(self, rows: Callable[[str], Collection[Row]]) -> None:
        self._rows = rows
        self._cached: LRUCache[tuple[str, int, str], tuple[tuple[str, ...], Lexicon]] = LRUCache(_CACHED_COLLECTIONS)
        self._lock = threading.Lock()

    def vocabulary(self, collection: str) -> Vocabulary:
        """Return the vocabulary, from a cache unless it has changed."""
        state = self._rows("states").find_one({"_id": collection}) or {}
        place = (collection, state.get("names", 0), state.get("lexicon", ""))
        with self._lock:
            cached = self._cached.get(place)
        if cached is None:
            cached = self._names(collection), self._lexicon(place[2])
            with self._lock:
                self._cached[place] = cached
        return Vocabulary(*cached, state.get("version", 0), state.get("changes", 0), state.get("learned_changes", 0))

    def publish(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """Make a lexicon the one in use: it is written first, then activated. Return its version.

        Raises:
            Conflict: Another one has replaced version ``replacing`` since.
        """
        # Pairs, not keys: MongoDB may take a word for an operator.
        words = [[word, list(modules)] for word, modules in lexicon.words.items()]
        row = {"_id": f"{collection}/{uuid4().hex}", "collection": collection, "words": words}
        expected = {"_id": collection, "version": replacing if replacing else {"$in": [0, None]}}
        activated = {"version": replacing + 1, "lexicon": row["_id"], "learned_changes": changes}
        self._rows("lexicons").insert_one(row)
        before = self._rows("states").find_one_and_update(expected, {"$set": activated})
        outdated = row["_id"] if before is None else before.get("lexicon")
        self._rows("lexicons").delete_one({"_id": outdated})
        if before is None:
            raise Conflict("another lexicon was published first")
        return replacing + 1

    def drop_remains(self, collection: str) -> None:
        """Drop the names and the lexicon. The counters go on, because caches are keyed by them."""
        state = self._rows("states").find_one({"_id": collection})
        if state is not None:
            learned = {"lexicon": "", "learned_changes": state.get("changes", 0)}
            self._rows("states").update_one({"_id": collection}, {"$set": learned, "$inc": {"version": 1, "names": 1}})
        for kind in ("lexicons", "names", "postings"):
            self._rows(kind).delete_many({"collection": collection})

    def count_changes(self, collection: str, changes: int) -> None:
        """Count changes of documents, from which the lexicon is learned again."""
        self._rows("states").update_one({"_id": collection}, {"$inc": {"changes": changes}}, upsert=True)

    def _names(self, collection: str) -> tuple[str, ...]:
        rows = self._rows("names").find({"collection": collection}, {"name": 1})
        return tuple(sorted(row["name"] for row in rows))

    def _lexicon(self, name: str) -> Lexicon:
        row = self._rows("lexicons").find_one({"_id": name}) if name else None
        if name and row is None:
            raise Conflict("the lexicon was replaced while it was read")
        return Lexicon({word: tuple(modules) for word, modules in row["words"]}) if row else EMPTY
