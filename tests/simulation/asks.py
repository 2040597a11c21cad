"""The requests of a schedule, and what became of them."""

from dataclasses import dataclass
from typing import Any, Final

from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.reports.ingest import IngestReports
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from tests.simulation.plans import Ask

#: The subjects of documents, by collection.
COLLECTIONS: Final = {"c": (0, 1), "d": (2,)}


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


def collection_of(subject: int) -> str:
    """Return the collection of a document."""
    return next(name for name, subjects in COLLECTIONS.items() if subject in subjects)


def request_of(ask: Ask) -> JobRequest:
    """Return the request of an ask."""
    document, collection = document_of(ask.subject), collection_of(ask.subject)
    match ask.kind:
        case "embed" | "table":
            texts = [{"id": f"t{ask.subject}", "text": f"text {ask.content}"}]
            into = "result" if ask.kind == "embed" else "table"
            return EmbedTexts.model_validate({"collection": collection, "texts": texts, "into": into})
        case "ingest":
            pages = [{"page": 1, "text": f"subject{ask.subject} version{ask.content} alpha beta"}]
            report = {"sha1": document, "title": "Acme", "company": "Acme", "period": "2022", "pages": pages}
            return IngestReports.model_validate({"collection": collection, "documents": [report]})
        case "drop":
            return DropDocuments.model_validate({"collection": collection, "retriever": "reports", "ids": [document]})
        case "drop_all":
            return DropDocuments.model_validate({"collection": collection, "retriever": "reports", "everything": True})
        case _:
            return _search_of(ask)


def options_of(ask: Ask) -> SubmitOptions:
    """Return what its caller says beside the request."""
    superseded = {"chat": document_of(ask.subject)} if ask.supersedes else {}
    return SubmitOptions(idempotency_key=ask.key, supersedes=superseded)


def _search_of(ask: Ask) -> ReportSearch:
    more: dict[str, Any] = {"hyde": True, "multi_query": ["synonym", "variant"]} if ask.kind == "expanded" else {}
    query = f"subject{ask.subject} alpha{'' if ask.content else ' beta'}"
    asked = {"collection": collection_of(ask.subject), "query": query, "deadline": ask.deadline_s}
    return ReportSearch.model_validate(asked | more)
