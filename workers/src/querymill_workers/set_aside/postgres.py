"""Texts set aside, in PostgreSQL. Every statement names its collection and runs as a role that sees no other."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.meters import Meters
from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import statements
from querymill_workers.set_aside.ports import AsideEntry, AsideKey, AsideText

_SQL: Final = statements("querymill_workers.set_aside", "postgres.sql")


class PostgresSetAside:
    """`SetAside` in PostgreSQL. Refusals are counted in ``meters``."""

    def __init__(self, pool: Pool, meters: Meters) -> None:
        self._pool = pool
        self._meters = meters

    def add(self, collection: str, kind: str, texts: Sequence[AsideText]) -> None:
        """See `SetAside.add`."""
        rows = sorted({(text.document, text.passage, text.model): text.reason for text in texts}.items())
        values = {
            "collection": collection,
            "kind": kind,
            "documents": [document for (document, _, _), _ in rows],
            "passages": [passage for (_, passage, _), _ in rows],
            "models": [model for (_, _, model), _ in rows],
            "reasons": [reason for _, reason in rows],
        }
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["set_aside"], values)
        self._meters.count(f"texts_refused/{kind}", len(rows))

    def drop(self, collection: str, kind: str, documents: Sequence[str] | None, *, model: str | None = None) -> None:
        """See `SetAside.drop`."""
        named = None if documents is None else list(documents)
        values = {"collection": collection, "kind": kind, "documents": named, "model": model}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["take_back"], values)

    def texts(
        self, collection: str, *, limit: int, kind: str | None = None, after: AsideKey | None = None
    ) -> Sequence[AsideEntry]:
        """See `SetAside.texts`."""
        place = dict(zip(("k", "d", "p", "m"), after or (None,) * 4, strict=True))
        with within(self._pool, collection) as connection:
            rows = connection.execute(
                _SQL["aside"], {"collection": collection, "kind": kind, "limit": limit, **place}
            ).fetchall()
        return [AsideEntry(AsideKey(*key), reason, at) for *key, reason, at in rows]

    def counts(self, collection: str) -> Mapping[str, int]:
        """See `SetAside.counts`."""
        with within(self._pool, collection) as connection:
            return dict(connection.execute(_SQL["aside_counts"], {"collection": collection}).fetchall())
