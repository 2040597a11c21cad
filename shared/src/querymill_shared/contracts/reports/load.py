"""The `load_reports` kind: ingest many reports in one job."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from querymill_shared.contracts.loading import MAX_DOCUMENTS, Load, LoadResult, fit_one_job
from querymill_shared.contracts.reports.ingest import Report
from querymill_shared.contracts.results import Asks


def _fit(reports: tuple[Report, ...]) -> tuple[Report, ...]:
    fit_one_job(
        [report.sha1 for report in reports],
        [sum(len(page.text) for page in report.pages) for report in reports],
        name="reports",
    )
    return reports


class LoadReports(Load, Asks["LoadReportsResult"]):
    """Ingest reports, each as an `IngestReport` does."""

    kind: Literal["load_reports"] = "load_reports"
    reports: Annotated[tuple[Report, ...], Field(min_length=1, max_length=MAX_DOCUMENTS), AfterValidator(_fit)]


class LoadReportsResult(LoadResult):
    """The outcome of each report. Its ``total`` counts the passages that were stored."""

    kind: Literal["load_reports"] = "load_reports"
