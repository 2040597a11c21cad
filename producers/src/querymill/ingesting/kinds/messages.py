"""How sessions of messages are read from JSON lines, and how one that grows is sent."""

from collections.abc import Mapping
from typing import Any, Final

from querymill.ingesting.jsonl import Growth, Ingested, Lines, Packing
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.messages.grow import GrowSessions
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.load import LoadSessions


def growth_of(collection: str, session: Mapping[str, Any], stored: int) -> GrowSessions:
    """Return the request that adds the messages after those that are stored.

    Raises:
        pydantic.ValidationError: They break a rule.
    """
    growth = {"session_id": session["session_id"], "after": stored, "messages": session["messages"][stored:]}
    return GrowSessions.model_validate({"collection": collection, "lane": Lane.NORMAL, "growths": [growth]})


def is_whole(result: Ingested, _session: Mapping[str, Any]) -> bool:
    """Return whether all messages of a session are stored."""
    return result.outcome in ("ingested", "unchanged")


LINES: Final = Lines(
    IngestSession,
    "session",
    document_of=lambda asked: asked.session.session_id,
    counted="passages",
    packing=Packing(LoadSessions, many="sessions", one="session"),
    growth=Growth(growth_of, is_whole, Packing(GrowSessions, many="growths", one="growths")),
)

KIND: Final = Loadable("messages", LINES, reads_histories=True)
