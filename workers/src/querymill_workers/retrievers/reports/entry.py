"""What is known of a report apart from its pages."""

from datetime import UTC, datetime, time

from querymill_shared.contracts.filters import RESERVED
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.documents.ports import Entry


def entry_of(report: Report) -> Entry:
    """Return what lists tell of a report, and what filters see."""
    published = report.published_at
    return Entry(
        report.sha1,
        {name: getattr(report, name) for name in RESERVED["reports"]},
        report.model_extra or {},
        title=report.title,
        when=None if published is None else datetime.combine(published, time.min, UTC),
        size=len(report.pages),
        unit="pages",
    )
