"""How reports are read from JSON lines."""

from typing import Final

from querymill.ingesting.jsonl import Lines, Packing
from querymill.ingesting.loadable import Loadable
from querymill_shared.contracts.reports.ingest import IngestReport
from querymill_shared.contracts.reports.load import LoadReports

LINES: Final = Lines(
    IngestReport,
    "report",
    document_of=lambda asked: asked.report.sha1,
    counted="passages",
    packing=Packing(LoadReports, many="reports", one="report"),
)

KIND: Final = Loadable("reports", LINES, reads_documents=True)
