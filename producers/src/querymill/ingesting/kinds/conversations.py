"""How whole conversations are read from JSON lines, and how one that grows is sent."""

from collections.abc import Mapping
from typing import Any, Final

from querymill.ingesting.jsonl import GrowthRules, Ingested, Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.sessions import ChatSession


def extension_of(session: Mapping[str, Any], stored: int) -> SessionExtension:
    """Return the messages after those that are stored. One without an id is named by its place.

    Raises:
        pydantic.ValidationError: They break a rule.
    """
    added = [
        {**message, "message_id": message.get("message_id") or f"#{stored + number}"}
        for number, message in enumerate(session["messages"][stored:], start=1)
    ]
    return SessionExtension.model_validate({"session_id": session["session_id"], "messages": added})


def is_whole(result: Ingested, session: Mapping[str, Any]) -> bool:
    """Return whether all messages of a session are stored."""
    return result.outcome in ("ingested", "unchanged") and result.total == len(session["messages"])


LINES: Final = Lines(
    IngestConversations, ChatSession, counted="messages", growth=GrowthRules("conversations", extension_of, is_whole)
)

KIND: Final = Loadable("conversations", LINES, reads_histories=True)
