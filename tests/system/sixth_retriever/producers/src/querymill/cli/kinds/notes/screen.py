"""What a search of notes looks like on a terminal."""

from rich.text import Text

from querymill.cli.terminal import Console
from querymill_shared.contracts.notes.search import NoteResult


def show(console: Console, result: NoteResult) -> None:
    """Print each note with its score."""
    for hit in result.results:
        console.print(Text.assemble((f"{hit.score:.4f}  ", "green"), f"{hit.note_id}  {hit.text}"))
    if not result.results:
        console.print("  no hits", style="yellow")
