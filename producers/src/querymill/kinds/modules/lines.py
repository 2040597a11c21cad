"""How code documents are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines
from querymill_shared.contracts.modules.ingest import IngestModule

LINES: Final = Lines(
    IngestModule, "document", document_of=lambda asked: str(asked.document.document), counted="modules"
)
