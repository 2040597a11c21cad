"""A session, with its best passage."""

from querymill.presenting.hit import HitView, written_in
from querymill.presenting.places import Place, PlaceSpan
from querymill_shared.contracts.conversations.search import ConversationHit, ConversationResult


def view_of(hit: ConversationHit, result: ConversationResult) -> HitView:
    """Describe a hit."""
    number = hit.message_number
    placed = () if hit.placed_for is None else (f"placed by {hit.placed_by}: {hit.placed_for}",)
    return HitView(
        hit,
        hit.name or hit.session_id,
        Place(
            "conversations", result.collection, hit.session_id, None if number is None else PlaceSpan(number, number)
        ),
        where=("" if number is None else f"message {number}, ") + f"{hit.last_active:%Y-%m-%d}",
        key=hit.session_id,
        text=hit.snippet,
        facts=(*((hit.user_name,) if hit.user_name else ()), f"last active {hit.last_active:%Y-%m-%d %H:%M}", *placed),
        marks=hit.marks,
        is_cut=True,
        written_in=written_in(hit.source, hit.line),
    )
