"""All requests of `reports`, and their results."""

from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

ReportRequest = ReportSearch | IngestReports
ReportJobResult = ReportResult | IngestReportsResult
