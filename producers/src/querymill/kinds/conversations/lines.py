"""How whole conversations are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines
from querymill_shared.contracts.conversations.ingest import IngestConversation

LINES: Final = Lines(
    IngestConversation, "session", document_of=lambda asked: asked.session.session_id, counted="messages"
)
