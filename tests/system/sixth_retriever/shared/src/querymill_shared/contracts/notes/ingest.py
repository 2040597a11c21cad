"""The `ingest_note` kind: a note in, found by its words."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import Contract, Id, PassageText, Request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class Note(Contract):
    """A note of one text."""

    note_id: Id
    text: PassageText


class IngestNote(Request, Asks["IngestNoteResult"]):
    """Store a note; a note replaces the stored one with its id."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["ingest_note"] = "ingest_note"
    deadline: None = None
    note: Note

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingesting a note is one step."""
        return ("ingest",)


class IngestNoteResult(JobResult):
    """What was stored."""

    kind: Literal["ingest_note"] = "ingest_note"
    note_id: str
