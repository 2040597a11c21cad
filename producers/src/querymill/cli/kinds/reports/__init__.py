"""The `reports` kind: annual reports and other documents of companies, asked questions."""

from typing import Final

from querymill.cli.kind import Kind
from querymill.cli.kinds.reports.demo import STEPS
from querymill.cli.kinds.reports.screen import show
from querymill.ingesting.kinds.reports import KIND as LOADABLE
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

HELP: Final = "Search reports; shows each branch live, then the hits and what their scores are made of."

KIND: Final = Kind(LOADABLE, ReportSearch, ReportResult, help=HELP, show=show, demo=STEPS)
