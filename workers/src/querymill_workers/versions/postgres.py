"""Versions in PostgreSQL. Locks are advisory: they exist before a document does, and end with the transaction."""

import hashlib
import secrets
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.filters import Filterable
from querymill_workers.postgres.connection import Pool, across, joined, take_lock, within
from querymill_workers.postgres.queries import statements
from querymill_workers.versions import scopes
from querymill_workers.versions.ports import (
    EVERYTHING,
    NEVER,
    TOMBSTONE_DAYS,
    Standing,
    Tombstone,
    Version,
    Versions,
    WrittenDocument,
    standing_of,
)

_SQL: Final = statements("querymill_workers.versions", "postgres.sql")

#: How many changes a process makes or waits for at once. Each takes a connection of the pool, and searches need some.
MAX_CHANGING: Final = 6


class PostgresVersions(Versions):
    """`Versions` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._may_change = threading.BoundedSemaphore(MAX_CHANGING)

    @contextmanager
    @override
    def changing(
        self, collection: str, kind: str, subjects: Sequence[WrittenDocument], version: Version, *, whole: bool = True
    ) -> Iterator[Mapping[str, Standing]]:
        place = _place(collection, kind, version)
        with self._holding(place, [_key(subject.document) for subject in subjects]):
            standings = self._standings(place, subjects, version, whole=whole)
            yield standings
            if not whole:
                return
            newest = [_key(document) for document, standing in standings.items() if standing.newest]
            if newest:
                with within(self._pool, collection) as connection:
                    connection.execute(_SQL["record_versions"], place | {"documents": newest})
            for document, standing in standings.items():
                if standing.barred_at is not None:
                    self.leave_tombstone(collection, kind, document, written=version, parts=standing.barred_at)

    @contextmanager
    @override
    def dropping(self, collection: str, kind: str, document: str, version: Version) -> Iterator[Standing]:
        place = _place(collection, kind, version)
        with self._holding(place, [_key(document)]):
            # Only its tombstone says what a drop means: no filter does.
            yield self._standings(place, [WrittenDocument(document)], version, whole=True, filtered=False)[document]
            with within(self._pool, collection) as connection:
                connection.execute(_SQL["leave_tombstone"], place | {"document": _key(document)})
                connection.execute(_SQL["sweep_dropped"], place | {"days": TOMBSTONE_DAYS})

    @contextmanager
    @override
    def alone(self, collection: str, kind: str) -> Iterator[None]:
        with self._may_change, joined(self._pool) as connection:
            take_lock(connection, _SQL["hold_whole_collection"], {"collection": collection, "kind": kind})
            yield

    @override
    def leave_tombstone(self, collection: str, kind: str, document: str, *, written: Version, parts: Version) -> None:
        with within(self._pool, collection) as connection:
            for key, version in ((_key(document), written), (_key_of_parts(document), parts)):
                connection.execute(_SQL["leave_tombstone"], _place(collection, kind, version) | {"document": key})

    @override
    def leave_tombstones(self, collection: str, kind: str, documents: Collection[str], version: Version) -> None:
        place, barred_at = _place(collection, kind, version), [_key(document) for document in documents]
        with within(self._pool, collection) as connection:
            take_lock(connection, _SQL["hold_collection"], place)
            take_lock(connection, _SQL["hold_documents"], place | {"documents": barred_at})
            with connection.cursor() as cursor:
                cursor.executemany(_SQL["leave_tombstone"], [place | {"document": key} for key in barred_at])
            connection.execute(_SQL["sweep_dropped"], place | {"days": TOMBSTONE_DAYS})

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
        place = _place(collection, kind, version)
        everything = not conditions and not documents
        scope = None if everything else Jsonb(scopes.blind(conditions, kind, secrets.token_hex(16), documents))
        with joined(self._pool) as holder:
            take_lock(holder, _SQL["hold_whole_collection"], place)
            with within(self._pool, collection) as connection:
                connection.execute(_SQL["leave_tombstone_of_filter"], place | {"scope": scope})
                if everything:
                    connection.execute(_SQL["drop_covered_versions"], place)
                for sweep in ("sweep_tombstones", "sweep_dropped"):
                    connection.execute(_SQL[sweep], place | {"days": TOMBSTONE_DAYS})

    @override
    def largest_version(self, at_least_us: int) -> int:
        with across(self._pool) as connection:
            row = connection.execute(_SQL["largest_version"], {"at_least_us": at_least_us}).fetchone()
        return 0 if row is None else int(row[0])

    @override
    def now_us(self) -> int:
        with across(self._pool) as connection:
            return int(connection.execute(_SQL["now_us"]).fetchone()[0])  # type: ignore[index]  # there is always a row

    @contextmanager
    def _holding(self, place: Mapping[str, Any], documents: Sequence[str]) -> Iterator[None]:
        """Hold documents within one transaction that the stores join."""
        with self._may_change, joined(self._pool) as connection:
            take_lock(connection, _SQL["hold_collection"], place)
            take_lock(connection, _SQL["hold_documents"], {**place, "documents": list(documents)})
            yield

    def _standings(
        self,
        place: Mapping[str, Any],
        subjects: Sequence[WrittenDocument],
        version: Version,
        *,
        whole: bool,
        filtered: bool = True,
    ) -> dict[str, Standing]:
        keys_of = {
            subject.document: [_key(subject.document), *([] if whole else [_key_of_parts(subject.document)])]
            for subject in subjects
        }
        keys = [key for own in keys_of.values() for key in own]
        with within(self._pool, place["collection"]) as connection:
            written, dropped = _versions(connection.execute(_SQL["standings"], {**place, "documents": keys}).fetchall())
            tombstones = connection.execute(_SQL["tombstones"], place).fetchall()
        everything = max((Version(us, job) for scope, us, job in tombstones if scope is None), default=NEVER)
        filters = [_tombstone(scope, Version(us, job)) for scope, us, job in tombstones if scope is not None]
        standings = {}
        for subject in subjects:
            own = keys_of[subject.document]
            standings[subject.document] = standing_of(
                version,
                written.get(own[0]),
                dropped=[dropped[key] for key in own if key in dropped],
                everything=everything,
                filters=filters,
                subject=subject if whole and filtered else None,
            )
        return standings


def _key(document: str) -> str:
    """Return what stands for a document. Its id, which may be a name, must not outlive it in a tombstone."""
    return hashlib.sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _key_of_parts(document: str) -> str:
    """Return what stands for that which was added to a document since it was written as a whole."""
    return f"{_key(document)}/parts"


def _tombstone(scope: Mapping[str, Any], version: Version) -> Tombstone:
    def covers(subject: WrittenDocument) -> bool:
        return scopes.covers(scope, subject.document, Filterable(subject.fields, subject.metadata))

    return Tombstone(version, covers)


def _versions(rows: Sequence[TupleRow]) -> tuple[dict[str, Version], dict[str, Version]]:
    """Return by document the version of the last whole write, and of the last drop."""
    written = {document: Version(us, job) for document, us, job, _, _ in rows if us is not None}
    dropped = {document: Version(us, job) for document, _, _, us, job in rows if us is not None}
    return written, dropped


def _place(collection: str, kind: str, version: Version) -> dict[str, Any]:
    return {"collection": collection, "kind": kind, "accepted_us": version.accepted_us, "job_id": version.job_id}
