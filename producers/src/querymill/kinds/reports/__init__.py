"""The `reports` kind: annual reports and other documents of companies, asked questions."""

from typing import Final

from querymill.kinds.kind import Kind
from querymill.kinds.reports.demo import STEPS
from querymill.kinds.reports.lines import LINES
from querymill.kinds.reports.options import options
from querymill.kinds.reports.screen import show
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

KIND: Final = Kind(
    "reports", ReportSearch, ReportResult, options=options, show=show, ingest=LINES, demo=STEPS, reads_documents=True
)
