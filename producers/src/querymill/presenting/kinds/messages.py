"""A message of a chat."""

from querymill.presenting.hit import HitView, written_in
from querymill.presenting.places import Place, PlaceSpan
from querymill_shared.contracts.messages.search import MessageHit, MessageResult


def view_of(hit: MessageHit, result: MessageResult) -> HitView:
    """Describe a hit."""
    # Chats of some tools give their messages no ids; their places in the session do.
    number = hit.message_number if hit.message_id is None else None
    span = None if number is None else PlaceSpan(number, number)
    passage = hit.explanation.get("passage")
    said_by = " · ".join(name for name in (hit.message_role, hit.user_name) if name)
    must_use = "must be used" if hit.must_use else ""
    facts = (said_by, f"{hit.created_at:%Y-%m-%d %H:%M}", f"{hit.band} {hit.similarity:.3g}", must_use)
    return HitView(
        hit,
        hit.session_name or hit.session_id,
        Place("messages", result.collection, hit.session_id, span, hit.message_id),
        part=f"#{hit.vector_id}",
        where=", ".join(part for part in (hit.user_name, hit.message_role, f"{hit.created_at:%Y-%m-%d}") if part),
        key=hit.vector_id,
        text=hit.content,
        facts=tuple(fact for fact in facts if fact),
        found_by=hit.found_by,
        marks=((passage["start"], passage["end"]),) if isinstance(passage, dict) else (),
        written_in=written_in(hit.source, hit.line),
    )
