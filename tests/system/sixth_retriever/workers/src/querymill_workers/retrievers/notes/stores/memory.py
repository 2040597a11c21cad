"""Notes in this process."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.contracts.notes.ingest import Note


class MemoryNotes:
    """`Notes` without a server."""

    kind: Final = "notes"

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    def put(self, collection: str, note: Note) -> None:
        """See `Notes.put`."""
        self._texts[collection, note.note_id] = note.text

    def texts(self, collection: str, note_ids: Sequence[str]) -> Mapping[str, str]:
        """See `Notes.texts`."""
        return {id_: self._texts[collection, id_] for id_ in note_ids if (collection, id_) in self._texts}

    def collections(self) -> Sequence[str]:
        """See `Notes.collections`."""
        return sorted({collection for collection, _ in self._texts})
