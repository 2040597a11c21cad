"""How sessions of messages are read from JSON lines, and how one that grows is sent."""

from collections.abc import Mapping
from typing import Any, Final

from querymill.ingesting.jsonl import GrowthRules, Ingested, Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.ingest import SessionExtension
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.sessions import ChatSession


def extension_of(session: Mapping[str, Any], stored: int) -> SessionExtension:
    """Return the messages after those that are stored.

    Raises:
        pydantic.ValidationError: They break a rule.
    """
    added = {"session_id": session["session_id"], "after": stored, "messages": session["messages"][stored:]}
    return SessionExtension.model_validate(added)


def is_whole(result: Ingested, _session: Mapping[str, Any]) -> bool:
    """Return whether all messages of a session are stored."""
    return result.outcome in ("ingested", "unchanged")


LINES: Final = Lines(
    IngestMessages, ChatSession, counted="passages", growth=GrowthRules("messages", extension_of, is_whole)
)  # fmt: skip

KIND: Final = Loadable("messages", LINES, reads_histories=True)
