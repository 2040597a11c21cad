"""Code documents in PostgreSQL, beside their words. Every statement names its collection.

A document, its words and its version in `versions` change in one transaction, so nothing is ever left to settle.
"""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cachetools import LRUCache
from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.faults import Conflict
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.modules.ports import Modules, Vocabulary
from querymill_workers.retrievers.modules.rules.documents import DocumentId, read_id, shown_id
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ModuleRecall
from querymill_workers.retrievers.modules.stores.postings import exact_reversals, recall_of, reversals, suffix_range

_SQL: Final = statements("querymill_workers.retrievers.modules.stores", "postgres.sql")

#: Documents described at a time when all are.
_DESCRIBED_AT_ONCE: Final = 500
#: The vocabularies of up to this many collections are cached; one that has changed is read again.
_CACHED_COLLECTIONS: Final = 64
_UNKNOWN: Final = Vocabulary((), EMPTY, version=-1, changes=-1, learned_changes=0)


class PostgresModules(Modules):
    """`Modules` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._vocabularies: LRUCache[str, Vocabulary] = LRUCache(_CACHED_COLLECTIONS)
        self._lock = threading.Lock()

    @override
    def put(
        self,
        collection: str,
        documents: Sequence[tuple[ModuleDocument, Revision]],
        *,
        record: str,
    ) -> None:
        latest = {shown_id(document.document): document for document, _ in documents}
        stored = list(latest.values())
        names = {name: written for document in stored for name, written in reversals(document).items()}
        posted = [(id_, reverse) for id_, document in latest.items() for reverse in reversals(document)]
        values = {
            "collection": collection,
            "documents": list(latest),
            "descriptions": [document.meta_info.description for document in stored],
            "names": [Jsonb(document.meta_info.vtkjs_modules) for document in stored],
            "bodies": [document.model_dump_json() for document in stored],
            "posted": [id_ for id_, _ in posted],
            "reversed": [reverse for _, reverse in posted],
            "own": [names[reverse] for _, reverse in posted],
            "changes": len(latest),
        }
        with within(self._pool, collection) as connection:
            for statement in ("put_documents", "drop_postings", "put_postings", "count_changes"):
                connection.execute(_SQL[statement], values)

    @override
    def settle(self, collection: str, documents: Sequence[DocumentId]) -> None:
        """Do nothing: a version that is found has replaced the one before."""

    @override
    def unsettled(self, collection: str) -> Sequence[DocumentId]:
        return []

    @override
    def repair(self, collection: str, document: DocumentId) -> None:
        """Do nothing: a writer that died has left nothing."""

    @override
    def drop(self, collection: str, document: DocumentId) -> bool:
        id_ = shown_id(document)
        gone = {"collection": collection, "documents": [id_], "posted": [], "reversed": [], "changes": 1}
        with within(self._pool, collection) as connection:
            if not connection.execute(_SQL["drop_document"], {"collection": collection, "document": id_}).fetchall():
                return False
            for statement in ("drop_postings", "count_changes"):
                connection.execute(_SQL[statement], gone)
        return True

    @override
    def vocabulary(self, collection: str) -> Vocabulary:
        with self._lock:
            known = self._vocabularies.get(collection, _UNKNOWN)
        rows = self._rows("vocabulary", collection, version=known.version, changes=known.changes)
        version, changes, learned, names, words = rows[0] if rows else (0, 0, 0, [], None)
        if names is None:
            names, lexicon = known.names, known.lexicon
        else:
            lexicon = (
                EMPTY if words is None else Lexicon({word: tuple(said) for word, said in json.loads(words).items()})
            )
        read = Vocabulary(tuple(sorted(names)), lexicon, version, changes, learned)
        with self._lock:
            self._vocabularies[collection] = read
        return read

    @override
    def recall(self, collection: str, keys: Sequence[str], *, match: Match) -> Mapping[str, ModuleRecall]:
        if match == "exact":
            rows = self._rows("recall_exact", collection, names=[name for key in keys for name in exact_reversals(key)])
        else:
            firsts, ends = zip(*map(suffix_range, keys), strict=True) if keys else ((), ())
            rows = self._rows("recall_suffix", collection, firsts=list(firsts), ends=list(ends))
        postings = [(reverse, list(map(read_id, documents))) for reverse, documents in rows]
        return {key: recall_of(key, postings, match=match) for key in keys}

    @override
    def describe(self, collection: str, documents: Sequence[DocumentId]) -> list[DocumentSummary]:
        return list(map(_summary, self._rows("describe", collection, documents=_shown(documents))))

    @override
    def describe_all(self, collection: str) -> Iterator[DocumentSummary]:
        after = ""
        while rows := self._rows("describe_next", collection, after=after, limit=_DESCRIBED_AT_ONCE):
            yield from map(_summary, rows)
            after = rows[-1][0]

    @override
    def documents(self, collection: str, documents: Sequence[DocumentId]) -> Mapping[DocumentId, ModuleDocument]:
        rows = self._rows("bodies", collection, documents=_shown(documents))
        return {read_id(id_): ModuleDocument.model_validate_json(body) for id_, body in rows}

    @override
    def drop_remains(self, collection: str) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["leave"], {"collection": collection})

    @override
    def publish_lexicon(self, collection: str, lexicon: Lexicon, *, replacing: int, changes: int) -> int:
        words = json.dumps(dict(lexicon.words), ensure_ascii=False)
        values = {"collection": collection, "lexicon": words, "replacing": replacing, "learned": changes}
        with within(self._pool, collection) as connection:
            if not connection.execute(_SQL["publish_lexicon"], values).fetchall():
                raise Conflict("another lexicon was published first")
        return replacing + 1

    def _rows(self, statement: str, collection: str, **values: Any) -> list[tuple[Any, ...]]:
        with within(self._pool, collection) as connection:
            return connection.execute(_SQL[statement], values | {"collection": collection}).fetchall()


def _shown(documents: Sequence[DocumentId]) -> list[str]:
    return sorted({shown_id(document) for document in documents})


def _lexicon(words: str) -> Lexicon:
    return Lexicon({word: tuple(modules) for word, modules in json.loads(words).items()})


def _summary(row: tuple[Any, ...]) -> DocumentSummary:
    document, names, description = row
    return DocumentSummary(read_id(document), tuple(names), description)
