"""How whole conversations are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines, Packing
from querymill_shared.contracts.conversations.ingest import IngestConversation
from querymill_shared.contracts.conversations.load import LoadConversations

LINES: Final = Lines(
    IngestConversation,
    "session",
    document_of=lambda asked: asked.session.session_id,
    counted="messages",
    packing=Packing(LoadConversations, many="sessions", one="session"),
)
