"""All requests of `reports`, and their results."""

from querymill_shared.contracts.reports.ingest import IngestReport, IngestResult
from querymill_shared.contracts.reports.load import LoadReports, LoadReportsResult
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

ReportRequest = ReportSearch | IngestReport | LoadReports
ReportJobResult = ReportResult | IngestResult | LoadReportsResult
