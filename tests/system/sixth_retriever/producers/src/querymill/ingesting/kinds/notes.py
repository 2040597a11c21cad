"""How notes are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.notes.ingest import IngestNotes, Note

LINES: Final = Lines(IngestNotes, Note, counted="notes")
KIND: Final = Loadable("notes", LINES)
