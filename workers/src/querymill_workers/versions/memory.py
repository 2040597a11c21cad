"""Versions in memory: the readable reference."""

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from querymill_shared.contracts.filters import Filterable, passes
from querymill_workers.versions.ports import (
    EVERYTHING,
    NEVER,
    Standing,
    Tombstone,
    Version,
    Versions,
    WrittenDocument,
    standing_of,
)

#: Collection, kind and document.
_Place = tuple[str, str, str]


@dataclass(slots=True)
class _Entry:
    """The last whole write and the last drop of a document, and until when parts of it stay forgotten."""

    written: Version | None = None
    dropped: Version = NEVER
    parts: Version = NEVER

    def drop(self, version: Version) -> None:
        self.dropped = max(self.dropped, version)
        if self.written is not None and self.written <= version:
            self.written = None


@dataclass(slots=True)
class _Forgotten:
    """What was forgotten at once: everything, up to a version, and filters."""

    everything: Version = NEVER
    filters: list[Tombstone] = field(default_factory=list)


class MemoryVersions(Versions):
    """`Versions` in memory. One writer at a time changes documents, and nothing is rolled back."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[_Place, _Entry] = {}
        self._forgotten: dict[tuple[str, str], _Forgotten] = {}

    @contextmanager
    @override
    def changing(
        self, collection: str, kind: str, subjects: Sequence[WrittenDocument], version: Version, *, whole: bool = True
    ) -> Iterator[Mapping[str, Standing]]:
        with self._lock:
            standings = {
                subject.document: self._standing((collection, kind, subject.document), version, subject, whole=whole)
                for subject in subjects
            }
            yield standings
            for document, standing in standings.items() if whole else ():
                if standing.newest:
                    self._entry((collection, kind, document)).written = version
                if standing.barred_at is not None:
                    self.leave_tombstone(collection, kind, document, written=version, parts=standing.barred_at)

    @contextmanager
    @override
    def dropping(self, collection: str, kind: str, document: str, version: Version) -> Iterator[Standing]:
        with self._lock:
            yield self._standing((collection, kind, document), version, None, whole=True)
            self._entry((collection, kind, document)).drop(version)

    @contextmanager
    def alone(self, collection: str, kind: str) -> Iterator[None]:  # noqa: ARG002
        """See `Versions.alone`. No writer of any collection works beside another here."""
        with self._lock:
            yield

    @override
    def leave_tombstone(self, collection: str, kind: str, document: str, *, written: Version, parts: Version) -> None:
        entry = self._entry((collection, kind, document))
        entry.drop(written)
        entry.parts = max(entry.parts, parts)

    @override
    def leave_tombstones(self, collection: str, kind: str, documents: Collection[str], version: Version) -> None:
        with self._lock:
            for document in documents:
                self._entry((collection, kind, document)).drop(version)

    @override
    def leave_filter_tombstone(
        self,
        collection: str,
        kind: str,
        version: Version,
        *,
        conditions: Mapping[str, Any] = EVERYTHING,
        documents: Collection[str] = (),
    ) -> None:
        with self._lock:
            forgotten = self._forgotten.setdefault((collection, kind), _Forgotten())
            if conditions or documents:
                forgotten.filters.append(Tombstone(version, lambda subject: _covers(subject, conditions, documents)))
                return
            forgotten.everything = max(forgotten.everything, version)
            for (in_collection, of_kind, _), entry in self._entries.items():
                covered = (entry.written or NEVER) <= version and entry.dropped <= version
                if (in_collection, of_kind) == (collection, kind) and covered:
                    entry.written, entry.dropped = None, NEVER

    @override
    def largest_version(self, at_least_us: int) -> int:
        with self._lock:
            entries, forgotten = self._entries.values(), self._forgotten.values()
            stored = [
                *(version for entry in entries for version in (entry.written or NEVER, entry.dropped, entry.parts)),
                *(each.everything for each in forgotten),
                *(tombstone.version for each in forgotten for tombstone in each.filters),
            ]
        return max((us for version in stored if (us := version.accepted_us) >= at_least_us), default=0)

    @override
    def now_us(self) -> int:
        return int(time.time() * 1_000_000)

    def _entry(self, place: _Place) -> _Entry:
        return self._entries.setdefault(place, _Entry())

    def _standing(self, place: _Place, version: Version, subject: WrittenDocument | None, *, whole: bool) -> Standing:
        entry = self._entries.get(place, _Entry())
        forgotten = self._forgotten.get(place[:2], _Forgotten())
        return standing_of(
            version,
            entry.written,
            dropped=(entry.dropped, *([] if whole else [entry.parts])),
            everything=forgotten.everything,
            filters=[tombstone for tombstone in forgotten.filters if tombstone.version > version],
            subject=subject if whole else None,
        )


def _covers(subject: WrittenDocument, conditions: Mapping[str, Any], documents: Collection[str]) -> bool:
    is_meant = not documents or subject.document in documents
    return is_meant and passes(conditions, Filterable(subject.fields, subject.metadata))
