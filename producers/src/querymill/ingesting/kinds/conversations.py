"""How whole conversations are read from JSON lines, and how one that grows is sent."""

from collections.abc import Mapping
from typing import Any, Final

from querymill.ingesting.jsonl import Growth, Ingested, Lines, Packing
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.conversations.grow import GrowConversations
from querymill_shared.contracts.conversations.ingest import IngestConversation, UpdateConversation
from querymill_shared.contracts.conversations.load import LoadConversations


def update_of(collection: str, session: Mapping[str, Any], stored: int) -> UpdateConversation:
    """Return the request that adds the messages after those that are stored. One without an id is named by its place.

    Raises:
        pydantic.ValidationError: They break a rule.
    """
    added = [
        {**message, "message_id": message.get("message_id") or f"#{stored + number}"}
        for number, message in enumerate(session["messages"][stored:], start=1)
    ]
    update = {"session_id": session["session_id"], "messages": added}
    return UpdateConversation.model_validate({"collection": collection, "update": update})


def is_whole(result: Ingested, session: Mapping[str, Any]) -> bool:
    """Return whether all messages of a session are stored."""
    return result.outcome in ("ingested", "unchanged") and result.total == len(session["messages"])


LINES: Final = Lines(
    IngestConversation,
    "session",
    document_of=lambda asked: asked.session.session_id,
    counted="messages",
    packing=Packing(LoadConversations, many="sessions", one="session"),
    growth=Growth(update_of, is_whole, Packing(GrowConversations, many="updates", one="update")),
)

KIND: Final = Loadable("conversations", LINES, reads_histories=True)
