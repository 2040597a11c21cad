"""The `notes` kind: notes, found by their words."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.notes.demo import STEPS
from querymill.cli.kinds.notes.screen import show
from querymill.ingesting.kinds.notes import KIND as LOADABLE
from querymill_shared.contracts.notes.search import NoteResult, NoteSearch

HELP: Final = "Search notes by their words; shows each note with its score."
KIND: Final = Kind(LOADABLE, NoteSearch, NoteResult, help=HELP, show=show, demo=STEPS)
