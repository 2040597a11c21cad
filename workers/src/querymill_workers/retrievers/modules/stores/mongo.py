"""Code documents in MongoDB. Every query and every key names the collection.

    module_documents   one record per document: what scoring reads, and which postings may name it
    module_codes       one record per document: the document as it was ingested
    module_names       one record per module name of a collection: its vocabulary, for shorthands
    module_postings    documents by name: for each name, reversed and in lower case, some buckets of document ids.
                       A suffix of a name is a prefix of its reversal, so a suffix match is one range of the index
    module_lexicons    one record per learned lexicon
    module_states      one record per collection: how much was stored, and which lexicon is in use

A document and its words are in two databases, so no transaction changes both. The register, beside the words in
PostgreSQL, names the record that counts. A new version is written beside the one that counts, the register changes in
one transaction with the words, and `settle` clears away what was replaced. Until then the record is ``unsettled``, and
`repair` puts right what a writer that died has left. See ``adr/0013-a-register-beside-the-words.md``.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pymongo
from pymongo.collection import Collection
from pymongo.database import Database
from typing_extensions import override

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.ports import Modules, Vocabulary
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import Lexicon
from querymill_workers.retrievers.modules.rules.names import Match, last_segment, reversal
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall
from querymill_workers.retrievers.modules.stores.mongo_faults import mongo_faults
from querymill_workers.retrievers.modules.stores.mongo_postings import MongoPostings
from querymill_workers.retrievers.modules.stores.mongo_rows import (
    Row,
    code_row,
    document_row,
    recall_filter,
    row_id,
    summary_of,
)
from querymill_workers.retrievers.modules.stores.mongo_versions import (
    dropping,
    is_unsettled,
    posted_of,
    replacing,
    restoring,
    settling,
    stale_of,
    trimming,
    version_of,
)
from querymill_workers.retrievers.modules.stores.mongo_vocabulary import MongoVocabularies
from querymill_workers.retrievers.modules.stores.postings import recall_of, reversals
from querymill_workers.retrievers.modules.stores.register import Register

#: The embedded server compares each record it found with the whole list, so short lists are quicker.
_ROWS_PER_QUERY: Final = 25
#: Documents described at a time when all are.
_DESCRIBED_AT_ONCE: Final = 500
#: What has a record for each document.
_KINDS: Final = ("documents", "codes")
#: A document that is replaced again and again while it is read is left out after so many reads.
_READS: Final = 5
#: The database that is used if the URI names none.
DEFAULT_DATABASE: Final = "querymill"
#: The server's collections. The states name a lexicon each, so a copy of them is made before one of the lexicons.
SERVER_COLLECTIONS: Final = (
    "module_documents", "module_codes", "module_names", "module_postings", "module_states", "module_lexicons",
)  # fmt: skip


class MongoModules(Modules):
    """`Modules` on MongoDB. It connects when first used, so workers that need no code documents run without it."""

    def __init__(self, uri: str, register: Register, *, timeout_s: float = 5.0) -> None:
        self._uri = uri
        self._register = register
        self._postings = MongoPostings(self._rows)
        self._vocabularies = MongoVocabularies(self._rows)
        self._timeout_ms = int(timeout_s * 1000)
        self._opened: Database[Row] | None = None
        self._is_indexed = False
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
                self._opened = client.get_default_database(DEFAULT_DATABASE)
        if not self._is_indexed:
            self._opened["module_postings"].create_index([("collection", 1), ("reversed", 1)])
            self._opened["module_names"].create_index([("collection", 1)])
            self._opened["module_documents"].create_index([("collection", 1)])
            self._opened["module_documents"].create_index([("collection", 1), ("unsettled", 1)])
            self._is_indexed = True
        return self._opened

    def close(self) -> None:
        """Close the connections, if any were opened."""
        if self._opened is not None:
            self._opened.client.close()

    @override
    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]], *, record: str) -> None:
        latest = {document.document: (document, revision) for document, revision in documents}
        known, counting = self._held(collection, list(latest))
        names = {id_: reversals(document) for id_, (document, _) in latest.items()}
        described = [document_row(collection, document, revision, record) for document, revision in latest.values()]
        codes = [code_row(collection, document, record) for document, _ in latest.values()]
        with mongo_faults():
            self._replace("documents", known, described, counting)  # first: it announces what will be posted
            self._replace("codes", known, codes, counting)
            self._postings.add(collection, names)
            self._postings.add_names(collection, names)
        self._register.register(collection, list(latest), record)

    @override
    def settle(self, collection: str, documents: Sequence[DocumentId]) -> None:
        counting = self._register.registered(collection, documents)
        with mongo_faults():
            own = [row for row in self._newest("documents", collection, documents, counting) if is_unsettled(row)]
            if not own:
                return
            stale = {row["document"]: stale_of(row) for row in own}
            if any(stale.values()):
                self._rows("documents").bulk_write([trimming(row) for row in own])
                self._postings.remove(collection, stale)
            if codes := self._newest("codes", collection, list(stale), counting):
                self._rows("codes").bulk_write([settling(row) for row in codes])
            # Counted before it is settled: a lexicon that is learned in between must not count as having seen it.
            self._vocabularies.count_changes(collection, len(own))
            self._rows("documents").bulk_write([settling(row) for row in own])

    @override
    def repair(self, collection: str, document: DocumentId) -> None:
        known, counting = self._held(collection, [document])
        with mongo_faults():
            for kind in _KINDS:
                for row in known[kind]:
                    former = version_of(row, counting.get(document))
                    if former is not None and former is not row:
                        self._rows(kind).bulk_write([restoring(row, former)])
            (kept, *_) = [*self._newest("documents", collection, [document], counting), None]
            if kept is None:
                self._remove(collection, document)
                return
            names = {reversal(name): last_segment(name) for name in kept["names"]}
            self._postings.add(collection, {document: names})
            self._postings.add_names(collection, {document: names})
        self.settle(collection, [document])

    @override
    def unsettled(self, collection: str) -> Sequence[DocumentId]:
        with mongo_faults():
            rows = self._rows("documents").find({"collection": collection, "unsettled": True}, {"document": 1})
            return [row["document"] for row in rows]

    @override
    def drop(self, collection: str, document: DocumentId) -> bool:
        with mongo_faults():
            was_there = self._remove(collection, document)
        self._register.strike(collection, [document])
        return was_there

    @override
    def vocabulary(self, collection: str) -> Vocabulary:
        with mongo_faults():
            return self._vocabularies.vocabulary(collection)

    @override
    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        # Exact names take one query; each suffix is a range of its own.
        groups = [keys] if match == "exact" else [[key] for key in keys]
        fields = {"_id": 0, "reversed": 1, "documents": 1}
        with mongo_faults():
            wanted = [recall_filter(collection, group, match=match) for group in groups if group]
            rows = [row for filter_ in wanted for row in self._rows("postings").find(filter_, fields)]
        postings = [(row["reversed"], row["documents"]) for row in rows]
        return {key: recall_of(key, postings, match=match) for key in keys}

    @override
    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        with mongo_faults():
            found = self._counting("documents", collection, documents)
        return [summary_of(document, version) for document, version in found.items()]

    @override
    def describe_all(self, collection: str) -> Iterator[DocumentSummary]:
        with mongo_faults():
            rows = self._rows("documents").find({"collection": collection}, {"document": 1})
            ids = [row["document"] for row in rows]
        for start in range(0, len(ids), _DESCRIBED_AT_ONCE):
            yield from self.describe(collection, ids[start : start + _DESCRIBED_AT_ONCE])

    @override
    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        with mongo_faults():
            found = self._counting("codes", collection, documents)
        return {id_: ModuleDocument.model_validate_json(version["json"]) for id_, version in found.items()}

    @override
    def drop_remains(self, collection: str) -> None:
        with mongo_faults():
            if self._rows("documents").find_one({"collection": collection}, {"_id": 1}) is None:
                self._vocabularies.drop_remains(collection)

    @override
    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        with mongo_faults():
            return self._vocabularies.publish(collection, lexicon, replacing=replacing, changes=changes)

    def explain_recall(self, collection: str, key: str, *, match: Match) -> Row:
        """Return the server's query plan for one recall."""
        with mongo_faults():
            plan: Row = self._rows("postings").find(recall_filter(collection, [key], match=match)).explain()
            return plan

    def _replace(
        self,
        kind: str,
        known: Mapping[str, Sequence[Row]],
        new: Sequence[Row],
        counting: Mapping[DocumentId, str],
    ) -> None:
        """Write new versions beside those that count."""
        before = {row["document"]: row for row in known[kind]}
        self._rows(kind).bulk_write([
            replacing(before.get(row["document"]), row, counting.get(row["document"])) for row in new
        ])  # fmt: skip

    def _remove(self, collection: str, document: DocumentId) -> bool:
        """Remove all that is stored of a document, its text first; return whether there was anything.

        The record that tells of the others goes last, so that the next attempt finds what is left.
        """
        known, _ = self._held(collection, [document])
        described, codes = known["documents"], known["codes"]
        if described:
            self._rows("documents").bulk_write([trimming(row, nothing=True) for row in described])
        if codes:
            self._rows("codes").bulk_write([dropping(row) for row in codes])
        if described:
            self._postings.remove(collection, {row["document"]: posted_of(row) for row in described})
            self._vocabularies.count_changes(collection, 1)
            self._rows("documents").bulk_write([dropping(row) for row in described])
        return bool(described or codes)

    def _counting(self, kind: str, collection: str, documents: Sequence[DocumentId]) -> dict[DocumentId, Row]:
        """Return the versions that count. Those that were replaced while they were read are read again."""
        found: dict[DocumentId, Row] = {}
        asked = list(documents)
        for _ in range(_READS):
            counting = self._register.registered(collection, asked) if asked else {}
            rows = self._find(kind, collection, asked)
            versions = {row["document"]: version_of(row, counting.get(row["document"])) for row in rows}
            found |= {document: version for document, version in versions.items() if version is not None}
            asked = [document for document in versions if document not in found]
            if not asked:
                break
        return found

    def _held(
        self, collection: str, documents: Sequence[DocumentId]
    ) -> tuple[Mapping[str, Sequence[Row]], Mapping[DocumentId, str]]:
        """Return the rows of documents by kind, and the records that count, to a writer that holds the documents.

        The register is asked last, in the transaction that holds them: it raises if they are lost. So the rows are not
        those of another writer, and a change of them, which names what was read, cannot undo what comes after.
        """
        with mongo_faults():
            known = {kind: self._find(kind, collection, documents) for kind in _KINDS}
        return known, self._register.registered(collection, documents)

    def _newest(
        self, kind: str, collection: str, documents: Sequence[DocumentId], counting: Mapping[DocumentId, str]
    ) -> list[Row]:
        """Return the rows whose newest version counts."""
        rows = self._find(kind, collection, documents)
        return [row for row in rows if version_of(row, counting.get(row["document"])) is row]

    def _find(self, kind: str, collection: str, documents: Sequence[DocumentId]) -> list[Row]:
        keys = [row_id(collection, document) for document in documents]
        found: list[Row] = []
        for start in range(0, len(keys), _ROWS_PER_QUERY):
            found += self._rows(kind).find({"_id": {"$in": keys[start : start + _ROWS_PER_QUERY]}})
        return found

    def _rows(self, kind: str) -> Collection[Row]:
        return self._database[f"module_{kind}"]
