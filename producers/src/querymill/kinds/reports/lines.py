"""How reports are read from JSON lines."""

from typing import Final

from querymill.ingestion import Lines
from querymill_shared.contracts.reports.ingest import IngestReport

LINES: Final = Lines(IngestReport, "report", document_of=lambda asked: asked.report.sha1, counted="passages")
