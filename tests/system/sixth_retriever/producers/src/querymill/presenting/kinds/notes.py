"""A note."""

from querymill.presenting.hit import HitView
from querymill_shared.contracts.notes.search import NoteHit, NoteResult


def view_of(hit: NoteHit, _: NoteResult) -> HitView:
    """Describe a hit."""
    return HitView(hit, hit.note_id, key=hit.note_id, text=hit.text)
