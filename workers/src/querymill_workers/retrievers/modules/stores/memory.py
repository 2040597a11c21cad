"""Code documents in memory, for unit tests and as the readable reference of what a store does."""

import threading
from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.faults import Conflict
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.ports import Modules, Vocabulary
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.rules.names import Match, hits, last_segment, reversal
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall


class MemoryModules(Modules):
    """`Modules` without a server. Recall scans every document; an index must return the same."""

    def __init__(self) -> None:
        self._stored: dict[str, dict[DocumentId, tuple[ModuleDocument, Revision]]] = {}
        self._unsettled: dict[str, dict[DocumentId, str]] = {}
        self._changes: dict[str, int] = {}
        self._lexicons: dict[str, tuple[Lexicon, int, int]] = {}
        self._lock = threading.RLock()

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]], *, record: str) -> None:
        """See `Modules.put`. What is put is found at once."""
        with self._lock:
            self._stored.setdefault(collection, {}).update(
                {document.document: (document, revision) for document, revision in documents}
            )
            self._unsettled.setdefault(collection, {}).update({document.document: record for document, _ in documents})

    @override
    def settle(self, collection: str, documents: Sequence[DocumentId]) -> None:
        with self._lock:
            settled = [self._unsettled.get(collection, {}).pop(document, None) for document in documents]
            self._count(collection, sum(record is not None for record in settled))

    @override
    def unsettled(self, collection: str) -> Sequence[DocumentId]:
        with self._lock:
            return list(self._unsettled.get(collection, {}))

    def repair(self, collection: str, document: DocumentId) -> None:
        """See `Modules.repair`. What was put counts, so there is nothing to take back."""
        self.settle(collection, [document])

    @override
    def drop(self, collection: str, document: DocumentId) -> bool:
        with self._lock:
            self._unsettled.get(collection, {}).pop(document, None)
            was_there = self._stored.get(collection, {}).pop(document, None) is not None
            self._count(collection, int(was_there))
            return was_there

    @override
    def vocabulary(self, collection: str) -> Vocabulary:
        with self._lock:
            names: dict[str, str] = {}  # a module has the name that was written first
            for name in (name for summary in self._summaries(collection) for name in summary.names):
                names.setdefault(reversal(name), last_segment(name))
            lexicon, version, learned = self._lexicons.get(collection, (EMPTY, 0, 0))
            return Vocabulary(
                tuple(sorted(names.values())), lexicon, version, self._changes.get(collection, 0), learned
            )

    @override
    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        summaries = self._summaries(collection)

        def having(key: str, how: Match) -> list[DocumentId]:
            return [
                summary.document for summary in summaries if any(hits(key, name, match=how) for name in summary.names)
            ]

        return {key: ModuleRecall(exactly=having(key, "exact"), all=having(key, match)) for key in keys}

    @override
    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        return [_summary(document) for document in self.documents(collection, documents).values()]

    @override
    def describe_all(self, collection: str) -> Iterable[DocumentSummary]:
        return self._summaries(collection)

    @override
    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        with self._lock:
            stored = self._stored.get(collection, {})
            return {document: stored[document][0] for document in documents if document in stored}

    @override
    def drop_remains(self, collection: str) -> None:
        with self._lock:
            if not self._stored.get(collection):
                _, version, _ = self._lexicons.get(collection, (EMPTY, 0, 0))
                self._lexicons[collection] = (EMPTY, version + 1, self._changes.get(collection, 0))

    @override
    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        with self._lock:
            if self._lexicons.get(collection, (EMPTY, 0, 0))[1] != replacing:
                raise Conflict("another lexicon was published first")
            self._lexicons[collection] = (lexicon, replacing + 1, changes)
            return replacing + 1

    def _count(self, collection: str, changes: int) -> None:
        self._changes[collection] = self._changes.get(collection, 0) + changes

    def _summaries(self, collection: str) -> list[DocumentSummary]:
        with self._lock:
            return [_summary(document) for document, _ in self._stored.get(collection, {}).values()]


def _summary(document: ModuleDocument) -> DocumentSummary:
    return DocumentSummary(document.document, document.meta_info.vtkjs_modules, document.meta_info.description)
