"""The workers' app with versions that lock nothing and know no version: what runs last stands.

The control of the fault tests: writers side by side lose messages under it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from querymill_workers import app as workers_app
from querymill_workers.postgres.connection import joined
from querymill_workers.versions.ports import Standing, Version, WrittenDocument
from querymill_workers.versions.postgres import PostgresVersions


@contextmanager
def _together(self: PostgresVersions, place: Mapping[str, Any], documents: Sequence[str]) -> Iterator[None]:
    with joined(self._pool):
        yield


def _always_newest(
    self: PostgresVersions, place: Mapping[str, Any], subjects: Sequence[WrittenDocument], version: Version, **_: bool
) -> dict[str, Standing]:
    return {subject.document: Standing(version, None, forgotten=False) for subject in subjects}


# Sabotage is the purpose.
PostgresVersions._holding = _together  # type: ignore[method-assign]
PostgresVersions._standings = _always_newest  # type: ignore[method-assign]
app = workers_app.app
