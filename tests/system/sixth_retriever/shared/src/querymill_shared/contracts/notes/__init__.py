"""Every job of `notes`, and what each ends with."""

from querymill_shared.contracts.notes.ingest import IngestNotes, IngestNotesResult
from querymill_shared.contracts.notes.search import NoteResult, NoteSearch

NoteRequest = NoteSearch | IngestNotes
NoteJobResult = NoteResult | IngestNotesResult
