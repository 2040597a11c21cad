"""How notes are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.notes.ingest import IngestNote

LINES: Final = Lines(IngestNote, "note", document_of=lambda asked: asked.note.note_id, counted="notes")
KIND: Final = Loadable("notes", LINES)
