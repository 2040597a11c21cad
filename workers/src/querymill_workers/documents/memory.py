"""What is known of documents, in memory: the readable reference."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from typing_extensions import override

from querymill_shared.contracts.documents import DocumentCard
from querymill_shared.contracts.filters import Filterable, Retriever, passes
from querymill_workers.documents.ports import Documents, Entry
from querymill_workers.jobs.revisions import Revision


class MemoryDocuments(Documents):
    """`Documents` of one retriever, in memory."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever: Retriever = retriever
        self._known: dict[str, dict[str, tuple[Entry, Revision]]] = {}
        self._lock = threading.RLock()

    @property
    @override
    def kind(self) -> Retriever:
        return self._retriever

    @override
    def put(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        with self._lock:
            self._known.setdefault(collection, {}).update({each[0].document: each for each in entries})

    @override
    def extend(self, collection: str, entries: Sequence[tuple[Entry, Revision]]) -> None:
        with self._lock:
            known = self._known.get(collection, {})
            for entry, revision in entries:
                if entry.document in known:
                    before = known[entry.document][0]
                    fields = {name: _extended(value, entry.fields.get(name)) for name, value in before.fields.items()}
                    known[entry.document] = (replace(before, fields=fields, size=entry.size), revision)

    @override
    def drop(self, collection: str, ids: Collection[str]) -> None:
        with self._lock:
            for document in ids:
                self._known.get(collection, {}).pop(document, None)

    @override
    def list(
        self, collection: str, conditions: Mapping[str, Any], *, limit: int, after: str | None
    ) -> Sequence[DocumentCard]:
        found = [entry for entry in self._passing(collection, conditions) if after is None or entry.document > after]
        return [
            DocumentCard(
                id=entry.document, title=entry.title, when=entry.when, size=entry.size, unit=entry.unit,
                metadata=entry.metadata,
            )
            for entry in found[:limit]
        ]  # fmt: skip

    @override
    def count(self, collection: str, conditions: Mapping[str, Any]) -> int:
        return len(self._passing(collection, conditions))

    @override
    def ids(
        self,
        collection: str,
        conditions: Mapping[str, Any],
        *,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> Sequence[str]:
        return [
            entry.document
            for entry in self._passing(collection, conditions)
            if (start is None and end is None) or any(_is_within(moment, start, end) for moment in _times(entry))
        ]

    @override
    def revisions(self, collection: str, ids: Collection[str] | None = None) -> Mapping[str, Revision]:
        with self._lock:
            known = self._known.get(collection, {})
            return {id_: known[id_][1] for id_ in (known if ids is None else ids) if id_ in known}

    @override
    def collections(self) -> Sequence[str]:
        with self._lock:
            return sorted(collection for collection, known in self._known.items() if known)

    def _passing(self, collection: str, conditions: Mapping[str, Any]) -> Sequence[Entry]:
        with self._lock:
            known = [entry for entry, _ in self._known.get(collection, {}).values()]
        passing = [entry for entry in known if passes(conditions, Filterable(entry.fields, entry.metadata))]
        return sorted(passing, key=lambda entry: entry.document)


def _extended(known: Any, added: Any) -> Any:
    if isinstance(known, list | tuple):
        return [*known, *(added or ())]
    return known if added is None else added


def _times(entry: Entry) -> Sequence[datetime]:
    values = entry.fields.get("time", ())
    return values if isinstance(values, list | tuple) else [values]


def _is_within(moment: datetime, start: datetime | None, end: datetime | None) -> bool:
    return (start is None or moment >= start) and (end is None or moment < end)
