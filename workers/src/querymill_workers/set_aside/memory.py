"""Texts set aside, in memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from querymill_workers.set_aside.ports import AsideEntry, AsideKey, AsideText


class MemorySetAside:
    """`SetAside` without a server."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[AsideKey, AsideEntry]] = {}

    def add(self, collection: str, kind: str, texts: Sequence[AsideText]) -> None:
        """See `SetAside.add`."""
        entries = self._entries.setdefault(collection, {})
        for text in texts:
            key = AsideKey(kind, text.document, text.passage, text.model)
            entries[key] = AsideEntry(key, text.reason, datetime.now(UTC))

    def drop(self, collection: str, kind: str, documents: Sequence[str] | None, *, model: str | None = None) -> None:
        """See `SetAside.drop`."""
        self._entries[collection] = {
            key: entry
            for key, entry in self._entries.get(collection, {}).items()
            if key.kind != kind
            or (documents is not None and key.document not in documents)
            or (model is not None and key.model != model)
        }

    def texts(
        self, collection: str, *, limit: int, kind: str | None = None, after: AsideKey | None = None
    ) -> Sequence[AsideEntry]:
        """See `SetAside.texts`."""
        keys = sorted(
            key
            for key in self._entries.get(collection, {})
            if (kind is None or key.kind == kind) and (after is None or key > after)
        )
        return [self._entries[collection][key] for key in keys[:limit]]

    def counts(self, collection: str) -> Mapping[str, int]:
        """See `SetAside.counts`."""
        return Counter(key.kind for key in self._entries.get(collection, {}))
