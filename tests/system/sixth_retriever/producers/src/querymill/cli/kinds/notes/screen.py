"""What a search of notes looks like on a terminal."""

from querymill.cli.screen_hits import show_hits
from querymill.cli.terminal import Console
from querymill_shared.contracts.notes.search import NoteResult


def show(console: Console, result: NoteResult) -> None:
    """Print each note with its score."""
    show_hits(console, result)
