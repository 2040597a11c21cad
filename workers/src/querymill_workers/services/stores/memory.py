"""Vectors of single texts in memory: for tests, and to read what the store does without SQL."""

from collections.abc import Mapping, Sequence

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.services.ports import TextVector


class MemoryTextVectors:
    """`TextVectors` without a server. The keys of ``rows`` are collection, text id and model."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], TextVector] = {}

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """See `TextVectors.stored`."""
        found = {text_id: self.rows.get((collection, text_id, model)) for text_id in text_ids}
        return {text_id: row.content for text_id, row in found.items() if row is not None}

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """See `TextVectors.store`."""
        for vector in vectors:
            known = self.rows.get((collection, vector.text_id, model))
            if known is None or known.content != vector.content:
                self.rows[collection, vector.text_id, model] = vector
