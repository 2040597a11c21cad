"""Every job of `notes`, and what each ends with."""

from querymill_shared.contracts.notes.ingest import IngestNote, IngestNoteResult
from querymill_shared.contracts.notes.search import NoteResult, NoteSearch

NoteRequest = NoteSearch | IngestNote
NoteJobResult = NoteResult | IngestNoteResult
