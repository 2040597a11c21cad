"""How reports are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.reports.ingest import IngestReports, Report

LINES: Final = Lines(IngestReports, Report, counted="passages")

KIND: Final = Loadable("reports", LINES, reads_documents=True)
