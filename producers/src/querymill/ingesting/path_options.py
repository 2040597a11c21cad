"""What a caller may say about a path that is ingested, and what is said of a file that was not read."""

from dataclasses import dataclass

from querymill_shared.contracts.errors import QuerymillError

#: The options of each sort of path, as both Python and the command line spell them.
OF_DOCUMENTS = "title, company, period, published_at, ocr and sync are for documents: of reports"
OF_HISTORIES = "origin (--from), tools and time_zone are for histories: of conversations and messages"
OF_FILES = "include_secrets and vectors are for files"


class UnusablePath(QuerymillError):
    """Raised when nothing at a path can be loaded, or an option breaks a rule; the message names it and the reason."""


@dataclass(frozen=True, slots=True)
class UnreadPath:
    """A file, or a member of one, that was not loaded, and why.

    ``failed`` if it should have been read. It is False for what is passed over by rule, such as a binary file of a
    code base.
    """

    place: str
    reason: str
    failed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOptions:
    """What `querymill ingest` has options for.

    Attributes:
        title: documents: the title, instead of the proposed one.
        company: documents: the company that they are about.
        period: documents: the period, as 2022 or 2022 Q3.
        published_at: documents: the day of publication, as 2022-05-20.
        password: documents: what opens encrypted ones.
        ocr: documents: read scanned pages and pictures of PDF files with the Tesseract of this machine.
        sync: documents: drop those whose files are no longer in the folder.
        origin: histories: the tool that wrote them, such as "claude-code"; None to recognise it.
        tools: histories: how tool calls are shown: "none", "summary" or "full".
        time_zone: histories: of times that name none; None for UTC.
        include_secrets: files: read private keys, .env, and what holds a known token, too.
        vectors: files: the whole collection has vectors from now on, and can be searched by meaning.
    """

    title: str | None = None
    company: str | None = None
    period: str | None = None
    published_at: str | None = None
    password: str | None = None
    ocr: bool = False
    sync: bool = False
    origin: str | None = None
    tools: str | None = None
    time_zone: str | None = None
    include_secrets: bool = False
    vectors: bool = False

    @property
    def fields(self) -> dict[str, str]:
        """The fields of documents that were given."""
        given = {
            "title": self.title, "company": self.company, "period": self.period, "published_at": self.published_at,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value}
