"""What `notes` needs of the world."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from querymill_shared.contracts.notes.ingest import Note
from querymill_workers.jobs.ports import Common
from querymill_workers.words.ports import Space, Words

#: The words of notes, a unit each.
SPACE: Final[Space] = "notes"


class Notes(Protocol):
    """The notes of all collections; every call names its collection, and sees no other."""

    @property
    def kind(self) -> str: ...

    def put(self, collection: str, note: Note) -> None:
        """Store a note in place of the one with its id."""
        ...

    def texts(self, collection: str, note_ids: Sequence[str]) -> Mapping[str, str]:
        """Fetch the texts of those notes that are stored."""
        ...

    def collections(self) -> Sequence[str]:
        """List the collections that hold a note."""
        ...


class NotePorts(Common, Protocol):
    """What the flows of `notes` may touch."""

    @property
    def notes(self) -> Notes: ...

    @property
    def words(self) -> Words: ...
