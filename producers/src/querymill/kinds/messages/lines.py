"""How sessions of messages are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines, Packing
from querymill_shared.contracts.messages.ingest import IngestSession
from querymill_shared.contracts.messages.load import LoadSessions

LINES: Final = Lines(
    IngestSession,
    "session",
    document_of=lambda asked: asked.session.session_id,
    counted="vectors",
    packing=Packing(LoadSessions, many="sessions", one="session"),
)
