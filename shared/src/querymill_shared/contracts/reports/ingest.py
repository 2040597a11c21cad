"""The `ingest_reports` kind: make reports searchable."""

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import to_json

from querymill_shared.contracts.described import Described
from querymill_shared.contracts.fields import (
    Contract,
    Name,
    Sha1,
    without_nul,
)
from querymill_shared.contracts.ingest import Documents, Ingest, IngestResult
from querymill_shared.contracts.results import Asks

#: The largest number of a page, which is stored in 32 bits.
MAX_PAGE: Final = 2**31 - 1
#: Characters of a page. It is split into passages.
MAX_PAGE_CHARS: Final = 2_000_000
#: Other names of a company.
MAX_ALIASES: Final = 100
#: Characters of a title that is taken from the first page.
MAX_TITLE_CHARS: Final = 200
#: Characters of a report's metadata, as JSON.
MAX_METADATA_CHARS: Final = 20_000


class ReportPage(Contract):
    """One page of a report.

    Attributes:
        page: number of the page, unique in its report, as hits and citations give it; at most 2,147,483,647
        text: text of the page, which is split into passages; NUL characters become blanks
    """

    model_config = ConfigDict(extra="ignore")

    page: Annotated[int, Field(ge=0, le=MAX_PAGE)]
    text: Annotated[str, Field(max_length=MAX_PAGE_CHARS), AfterValidator(without_nul)]


def _few(aliases: tuple[str, ...]) -> tuple[str, ...]:
    if len(aliases) > MAX_ALIASES:
        raise ValueError(f"must be at most {MAX_ALIASES} (got {len(aliases)})")
    return aliases


class Report(Described):
    """A report to ingest. Unknown fields are stored as metadata.

    Attributes:
        sha1: id of the report; if it is left out, the SHA-1 of the pages' texts
        title: title that hits show; if it is left out, the first line of the first page
        company: company that the report is about, by which questions are routed; null if there is none or it is unknown
        aliases: other names of the company that questions may use, such as a ticker or its Chinese name
        period: period that the report covers, such as 2022 or FY2021 Q3; null if there is none
        published_at: day of publication, whose year stands in for a missing period; null if it is unknown
        pages: the pages of the report, in any order
    """

    # Never empty: what is missing is filled in before the fields are checked. A factory is no default of the schema.
    sha1: Annotated[Sha1, Field(default_factory=str)]
    title: Annotated[Name, Field(default_factory=str)]
    company: Name | None = None
    aliases: Annotated[tuple[Name, ...], AfterValidator(_few)] = ()
    period: Name | None = None
    published_at: date | None = None
    pages: Annotated[tuple[ReportPage, ...], Field(min_length=1, max_length=5000)]

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_pages(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or (given.get("sha1") is not None and given.get("title") is not None):
            return given
        texts = _texts_of(given.get("pages"))
        sha1 = _hash_of(texts) if given.get("sha1") is None else given["sha1"]
        title = (_first_line(texts[:1]) or sha1) if given.get("title") is None else given["title"]
        return {**given, "sha1": sha1, "title": title}

    @property
    def document_id(self) -> str:
        """The report's id."""
        return self.sha1

    @property
    def chars(self) -> int:
        """The length of its texts."""
        return sum(len(page.text) for page in self.pages)

    @field_validator("pages")
    @classmethod
    def _pages_are_in_order(cls, pages: tuple[ReportPage, ...]) -> tuple[ReportPage, ...]:
        """An export has them in this order, and ingesting it again changes nothing."""
        return tuple(sorted(pages, key=lambda page: page.page))

    @model_validator(mode="after")
    def _metadata_is_small(self) -> "Report":
        length = len(to_json(self.model_extra)) if self.model_extra else 0
        if length > MAX_METADATA_CHARS:
            raise ValueError(f"metadata must be at most {MAX_METADATA_CHARS} characters as JSON (got {length})")
        return self

    @model_validator(mode="after")
    def _pages_are_numbered_once(self) -> "Report":
        numbers = [page.page for page in self.pages]
        if len(set(numbers)) != len(numbers):
            raise ValueError("pages: every page number must occur once")
        return self


def _texts_of(pages: object) -> list[str]:
    """Return the texts of pages that were not checked yet; of what is no page, none."""
    listed = pages if isinstance(pages, list | tuple) else ()
    texts = [page.get("text") if isinstance(page, Mapping) else getattr(page, "text", None) for page in listed]
    return [without_nul(text) for text in texts if isinstance(text, str)]


def _hash_of(texts: list[str]) -> str:
    return hashlib.sha1("\f".join(texts).encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def _first_line(texts: list[str]) -> str:
    """Return the first line that is not blank, without the marks of a Markdown heading."""
    lines = (line.strip().lstrip("#").strip() for text in texts for line in text.splitlines())
    return next((line[:MAX_TITLE_CHARS].strip() for line in lines if line), "")


class IngestReports(Ingest, Asks["IngestReportsResult"]):
    """Ingest reports: each is cut into passages, which are found by their words at once."""

    kind: Literal["ingest_reports"] = "ingest_reports"
    documents: Documents[Report]


class IngestReportsResult(IngestResult):
    """The outcome of each report. Its ``total`` counts the passages that were stored."""

    kind: Literal["ingest_reports"] = "ingest_reports"
