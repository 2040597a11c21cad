"""The `ingest_notes` kind: notes in, found by their words."""

from typing import Literal

from querymill_shared.contracts.fields import Contract, Id, PassageText
from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks


class Note(Contract):
    """A note of one text."""

    note_id: Id
    text: PassageText

    @property
    def document_id(self) -> str:
        """The note's id."""
        return self.note_id

    @property
    def chars(self) -> int:
        """The length of its text."""
        return len(self.text)


class IngestNotes(Ingest, Asks["IngestNotesResult"]):
    """Store notes; a note replaces the stored one with its id."""

    kind: Literal["ingest_notes"] = "ingest_notes"
    documents: Documents[Note]


class IngestNotesResult(IngestResult):
    """The outcome of each note. Its ``total`` is 1."""

    kind: Literal["ingest_notes"] = "ingest_notes"
