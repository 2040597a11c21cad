"""Code documents in memory, for unit tests and as the readable reference of what a store does."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.ports import Vocabulary
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.rules.names import Match, hits, last_segment
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall


class MemoryModules:
    """`Modules` without a server. Recall scans every document; an index must return the same."""

    kind: Final = "modules"

    def __init__(self) -> None:
        self._stored: dict[str, dict[DocumentId, tuple[ModuleDocument, Revision]]] = {}
        self._changes: dict[str, int] = {}
        self._lexicons: dict[str, tuple[Lexicon, int, int]] = {}
        self._lock = threading.RLock()

    def revision(self, collection: str, document: DocumentId) -> Revision | None:
        """See `Modules.revision`."""
        stored = self._stored.get(collection, {}).get(document)
        return None if stored is None else stored[1]

    def put(self, collection: str, documents: Sequence[tuple[ModuleDocument, Revision]]) -> None:
        """See `Modules.put`."""
        with self._lock:
            self._stored.setdefault(collection, {}).update(
                {document.document: (document, revision) for document, revision in documents}
            )
            self._changes[collection] = self._changes.get(collection, 0) + len(documents)

    def vocabulary(self, collection: str) -> Vocabulary:
        """See `Modules.vocabulary`."""
        with self._lock:
            names = {last_segment(name): None for summary in self._summaries(collection) for name in summary.names}
            lexicon, version, learned = self._lexicons.get(collection, (EMPTY, 0, 0))
            return Vocabulary(tuple(sorted(names)), lexicon, version, self._changes.get(collection, 0), learned)

    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        """See `Modules.recall`."""
        summaries = self._summaries(collection)

        def having(key: str, how: Match) -> list[DocumentId]:
            return [
                summary.document for summary in summaries if any(hits(key, name, match=how) for name in summary.names)
            ]

        return {key: ModuleRecall(exactly=having(key, "exact"), all=having(key, match)) for key in keys}

    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        """See `Modules.describe`."""
        return [_summary(document) for document in self.documents(collection, documents).values()]

    def describe_all(self, collection: str) -> Iterable[DocumentSummary]:
        """See `Modules.describe_all`."""
        return self._summaries(collection)

    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        """See `Modules.documents`."""
        with self._lock:
            stored = self._stored.get(collection, {})
            return {document: stored[document][0] for document in documents if document in stored}

    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        """See `Modules.publish_lexicon`."""
        with self._lock:
            if self._lexicons.get(collection, (EMPTY, 0, 0))[1] != replacing:
                raise Unavailable("another lexicon was published first")
            self._lexicons[collection] = (lexicon, replacing + 1, changes)
            return replacing + 1

    def collections(self) -> Sequence[str]:
        """See `Modules.collections`."""
        return sorted(self._stored)

    def _summaries(self, collection: str) -> list[DocumentSummary]:
        with self._lock:
            return [_summary(document) for document, _ in self._stored.get(collection, {}).values()]


def _summary(document: ModuleDocument) -> DocumentSummary:
    return DocumentSummary(document.document, document.meta_info.vtkjs_modules, document.meta_info.description)
