"""The requests of a schedule, and what became of them."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from tests.simulation.plans import Ask


@dataclass(frozen=True)
class Subject:
    """A document: whose it is, and in which collection."""

    retriever: Literal["reports", "messages", "conversations"]
    collection: str


#: What a schedule is about.
SUBJECTS: Final = (
    Subject("reports", "c"), Subject("reports", "c"), Subject("reports", "d"), Subject("messages", "c"),
    Subject("conversations", "c"),
)  # fmt: skip


@dataclass
class Asked:
    """What became of an ask: the job, when it was asked and accepted (µs), and how it was refused."""

    ask: Ask
    asked_at: int
    job_id: str = ""
    accepted_at: int | None = None
    refused: str = ""
    #: The events that its caller was told, if it followed the job to its end.
    heard: list[str] | None = None


def document_of(subject: int) -> str:
    """Return the id of a document."""
    return f"{subject:02d}" * 4


def beside(subject: int) -> list[int]:
    """Return the documents of a document's collection that are its retriever's, too."""
    return [number for number, other in enumerate(SUBJECTS) if other == SUBJECTS[subject]]


def request_of(ask: Ask) -> JobRequest:
    """Return the request of an ask."""
    about, document = SUBJECTS[ask.subject], document_of(ask.subject)
    match ask.kind:
        case "embed" | "table":
            texts = [{"id": f"t{ask.subject}", "text": f"text {ask.content}{poison_in(ask)}"}]
            into = "result" if ask.kind == "embed" else "table"
            return EmbedTexts.model_validate({"collection": about.collection, "texts": texts, "into": into})
        case "ingest":
            return _ingestion_of(ask)
        case "drop" | "drop_all":
            which: dict[str, Any] = {"everything": True} if ask.kind == "drop_all" else {"ids": [document]}
            return DropDocuments.model_validate({"retriever": about.retriever, "collection": about.collection} | which)
        case _:
            return _search_of(ask)


def _ingestion_of(ask: Ask) -> JobRequest:
    about, document = SUBJECTS[ask.subject], document_of(ask.subject)
    text = f"subject{ask.subject} version{ask.content} alpha beta{poison_in(ask)}"
    if about.retriever == "reports":
        page = {"page": 1, "text": text}
        report = {"sha1": document, "title": "Acme", "company": "Acme", "period": "2022", "pages": [page]}
        return IngestReports.model_validate({"collection": about.collection, "documents": [report]})
    session = {"session_id": document, "started_at": "2026-01-01T00:00:00Z", "messages": [{"text": text}]}
    kind = IngestMessages if about.retriever == "messages" else IngestConversations
    return kind.model_validate({"collection": about.collection, "documents": [session]})


def poison_in(ask: Ask) -> str:
    """Return the word that says which ask is poisoned: it is in whatever its job is about."""
    return f" poison{ask.number}" if ask.poison else ""


def options_of(ask: Ask) -> SubmitOptions:
    """Return what its caller says beside the request."""
    superseded = {"chat": document_of(ask.subject)} if ask.supersedes else {}
    return SubmitOptions(idempotency_key=ask.key, supersedes=superseded)


def _search_of(ask: Ask) -> JobRequest:
    about = SUBJECTS[ask.subject]
    methods = ["synonym", "variant"] if about.retriever == "reports" else ["variant"]
    more: dict[str, Any] = {"hyde": True, "multi_query": methods} if ask.kind == "expanded" else {}
    query = f"subject{ask.subject} alpha{'' if ask.content else ' beta'}{poison_in(ask)}"
    asked = {"collection": about.collection, "query": query, "deadline": ask.deadline_s}
    match about.retriever:
        case "reports":
            return ReportSearch.model_validate(asked | more)
        case "messages":
            return MessageSearch.model_validate(asked | more)
        case "conversations":
            return ConversationSearch.model_validate(asked | more)
