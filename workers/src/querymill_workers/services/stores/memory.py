"""Vectors of single texts in memory: for tests, and to read what the store does without SQL."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from typing_extensions import override

from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.services.ports import TextVector, TextVectors, contents_of


class MemoryTextVectors(TextVectors):
    """`TextVectors` without a server. The keys of ``rows`` are collection, text id and model."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], TextVector] = {}

    @override
    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        found = {text_id: self.rows.get((collection, text_id, model)) for text_id in text_ids}
        return {text_id: row.content for text_id, row in found.items() if row is not None}

    @override
    def holds(self, collection: str) -> bool:
        return any(place[0] == collection for place in self.rows)

    @override
    def drop(self, collection: str, *, text_ids: Collection[str], texts: Collection[str]) -> None:
        contents = contents_of(texts)
        for place, row in list(self.rows.items()):
            is_named = row.text_id in text_ids or row.document in text_ids
            if place[0] == collection and (is_named or row.content in contents):
                del self.rows[place]

    @override
    def drop_all(self, collection: str) -> None:
        self.rows = {place: row for place, row in self.rows.items() if place[0] != collection}

    @override
    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        for vector in vectors:
            known = self.rows.get((collection, vector.text_id, model))
            if known is None or known.content != vector.content:
                self.rows[collection, vector.text_id, model] = vector
            elif vector.document is not None:
                self.assign(collection, {vector.text_id: vector.document}, model=model)

    @override
    def assign(self, collection: str, documents: Mapping[str, str], *, model: str) -> None:
        for text_id, document in documents.items():
            row = self.rows.get((collection, text_id, model))
            if row is not None:
                self.rows[collection, text_id, model] = replace(row, document=document)
