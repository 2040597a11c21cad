"""The demo's step on notes."""

from pathlib import Path
from typing import Final

from querymill.cli.kind import DemoStep
from querymill.cli.kinds.notes.screen import show
from querymill.cli.sample import COLLECTION
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill_shared.contracts.notes.ingest import IngestNotes, Note
from querymill_shared.contracts.notes.search import NoteResult, NoteSearch


def search_notes(mill: Querymill, _: Path, console: Console) -> list[NoteResult]:
    """Store a note, and find it by its words."""
    note = Note(note_id="ladder", text="the ladder is in the shed")
    mill.submit(IngestNotes(collection=COLLECTION, documents=(note,))).result(timeout=30)
    result = mill.submit(NoteSearch(query="where is the ladder", collection=COLLECTION)).result(timeout=30)
    show(console, result)
    return [result]


STEPS: Final = (DemoStep("Notes, by their words", search_notes),)
