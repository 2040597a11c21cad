"""Notes in this process."""

from collections.abc import Mapping, Sequence
from typing import Final

from typing_extensions import override

from querymill_shared.contracts.notes.ingest import Note
from querymill_workers.retrievers.notes.ports import Notes


class MemoryNotes(Notes):
    """`Notes` without a server."""

    kind: Final = "notes"

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    @override
    def put(self, collection: str, note: Note) -> None:
        self._texts[collection, note.note_id] = note.text

    @override
    def texts(self, collection: str, note_ids: Sequence[str]) -> Mapping[str, str]:
        return {id_: self._texts[collection, id_] for id_ in note_ids if (collection, id_) in self._texts}

    @override
    def collections(self) -> Sequence[str]:
        return sorted({collection for collection, _ in self._texts})
