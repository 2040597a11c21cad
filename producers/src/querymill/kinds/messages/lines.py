"""How sessions of messages are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines
from querymill_shared.contracts.messages.ingest import IngestSession

LINES: Final = Lines(IngestSession, "session", document_of=lambda asked: asked.session.session_id, counted="vectors")
