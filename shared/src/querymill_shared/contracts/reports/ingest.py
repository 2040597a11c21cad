"""The `ingest_reports` kind: make a report searchable."""

from datetime import date
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import (
    Contract,
    Lane,
    Name,
    PageText,
    Request,
    Sha1,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class ReportPage(Contract):
    """One page of a report, as text."""

    model_config = ConfigDict(extra="ignore")

    page: Annotated[int, Field(ge=0)]
    text: PageText


class Report(Described):
    """A report to ingest. Unknown fields are stored as metadata."""

    sha1: Sha1
    title: Name
    company: Name
    aliases: tuple[Name, ...] = ()
    period: Name | None = None
    published_at: date | None = None
    pages: Annotated[tuple[ReportPage, ...], Field(min_length=1, max_length=5000)]

    @model_validator(mode="after")
    def _pages_are_numbered_once(self) -> "Report":
        numbers = [page.page for page in self.pages]
        if len(set(numbers)) != len(numbers):
            raise ValueError("pages: every page number must occur once")
        return self


class IngestReport(Request, Asks["IngestResult"]):
    """Ingest one report: cut it into chunks, embed them, and make them searchable. Idempotent by content."""

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["ingest_reports"] = "ingest_reports"
    lane: Lane = Lane.BULK
    report: Report
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Ingestion is one step, which resumes after a failure."""
        return ("ingest",)


class IngestResult(JobResult):
    """The result of an `IngestReport`. ``outcome`` is "unchanged" if the same content was stored already."""

    kind: Literal["ingest_reports"] = "ingest_reports"
    document: str
    outcome: Literal["ingested", "unchanged"]
