"""Listing, showing, exporting and dropping the documents of a collection: the same for every kind of retriever.

A document is what one line of ``querymill ingest KIND`` holds: a session, a report, a module document, a file.
"""

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from querymill_shared.contracts.fields import (
    Contract,
    DeadlineSeconds,
    Distinct,
    Growing,
    Lane,
    Name,
    NoDeadline,
    Request,
    RequestLane,
)
from querymill_shared.contracts.filters import Filtered, Retriever, fits
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

#: The id of a document as text. Paths of modules are the longest.
DocumentKey = Annotated[Name, Field(max_length=1_000)]
#: Documents on one page.
MAX_LISTED: Final = 1_000
MAX_EXPORTED: Final = 200
#: Ids in one request.
MAX_IDS: Final = 1_000
#: What the size of a document counts.
Unit = Literal["messages", "pages", "characters", "bytes"]


class DocumentCard(Contract):
    """What a list tells of a document.

    Attributes:
        id: id of the document: of a session or module document its own, of a report its sha1, of a file its path
        title: title of a report, name of a session, path of a module's file; null: the document has none
        when: time that the kind's filter on a time looks at first: when a session began, when a report was published;
            null: the document has no such time
        size: length of the document, in `unit`
        unit: what `size` counts: messages of a session, pages of a report, characters of a module, bytes of a file
        metadata: fields that were ingested with the document and that its kind does not know
        pending: rows of the document that wait for a vector
    """

    id: str
    title: str | None = None
    when: datetime | None = None
    size: int
    unit: Annotated[Unit, Growing]
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    pending: int = 0


class _OfRetriever(Filtered):
    """Documents of a retriever, whose fields the filter names."""

    retriever: Annotated[Retriever, Field(description="kind of the documents")]

    @model_validator(mode="after")
    def _filter_fits(self) -> Self:
        try:
            fits(self.filter, self.retriever)
        except ValueError as error:
            raise ValueError(f"filter: {error}") from error
        return self


class _Paged(_OfRetriever):
    """Documents in the order of their ids, page by page."""

    queue: ClassVar[Queue] = Queue.SEARCH
    cursor: Annotated[
        Annotated[str, Field(max_length=8_000)] | None,
        Field(description="`cursor` of the page before, which this page goes on from; null: the first page"),
    ] = None
    deadline: DeadlineSeconds = 30.0

    @model_validator(mode="after")
    def _cursor_is_of_this_list(self) -> Self:
        _ = self.after
        return self

    @property
    def after(self) -> str | None:
        """The id after which the page begins."""
        return None if self.cursor is None else _after(self.cursor, self._list)

    def cursor_after(self, document: str) -> str:
        """Return the cursor of the page that begins after a document."""
        return urlsafe_b64encode(json.dumps([self._list, document]).encode()).decode()

    @property
    def _list(self) -> str:
        """The list that a cursor belongs to: it is refused for any other list."""
        asked = json.dumps([self.retriever, self.collection, dict(self.filter)], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()[:12]


def _after(cursor: str, of_list: str) -> str:
    try:
        written_for, document = json.loads(urlsafe_b64decode(cursor))
    except (ValueError, TypeError) as error:
        raise ValueError("cursor: must be the cursor of a former page") from error
    if written_for != of_list or not isinstance(document, str):
        raise ValueError("cursor: is that of another list: retriever, collection and filter must stay the same")
    return document


class ListDocuments(_Paged, Asks["DocumentList"]):
    """List documents, with the exact number of all that pass the filter."""

    kind: Literal["list_documents"] = "list_documents"
    limit: Annotated[int, Field(ge=1, le=MAX_LISTED, description="documents on the page")] = 100

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step."""
        return ("list",)


class DocumentList(JobResult):
    """A page of a list. ``total`` counts all documents that pass the filter, on every page.

    Attributes:
        retriever: kind of the documents
        collection: collection that was listed
        documents: documents of this page, in the order of their ids
        cursor: where the next page begins; null: this page is the last
    """

    kind: Literal["list_documents"] = "list_documents"
    retriever: Retriever
    collection: str
    documents: tuple[DocumentCard, ...]
    cursor: str | None = None


class ExportDocuments(_Paged, Asks["DocumentPage"]):
    """Return documents whole, as ingestion reads them. A page ends early where it has become long."""

    kind: Literal["export_documents"] = "export_documents"
    limit: Annotated[int, Field(ge=1, le=MAX_EXPORTED, description="documents on the page, at most")] = MAX_EXPORTED

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step."""
        return ("export",)


class DocumentPage(JobResult):
    """A page of an export. ``total`` counts the documents of the page.

    Attributes:
        retriever: kind of the documents
        collection: collection that is exported
        documents: whole documents, each as ingestion reads it, in the order of their ids
        cursor: where the next page begins; null: this page is the last
    """

    kind: Literal["export_documents"] = "export_documents"
    retriever: Retriever
    collection: str
    documents: tuple[Mapping[str, Any], ...]
    cursor: str | None = None


class ShowDocument(Request, Asks["ShownDocument"]):
    """Return one document whole, as ingestion reads it.

    Attributes:
        retriever: kind of the document
        id: id of the document: of a session or module document its own, of a report its sha1, of a file its path
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["show_document"] = "show_document"
    retriever: Retriever
    id: DocumentKey
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step."""
        return ("show",)


class ShownDocument(JobResult):
    """One document. ``total`` is 1.

    Attributes:
        retriever: kind of the document
        collection: collection that the document is in
        id: id of the document
        document: the whole document, as ingestion reads it
    """

    kind: Literal["show_document"] = "show_document"
    retriever: Retriever
    collection: str
    id: str
    document: Mapping[str, Any]


class DropDocuments(_OfRetriever, Asks["DropResult"]):
    """Drop documents for good: rows, words, vectors, ranks, and what the board still holds of them.

    What was accepted before this job stays forgotten, even if its job runs later. What is accepted after it stays. A
    filter is for the documents as they are when the job is accepted: a version that was accepted before, passes, and
    comes late is forgotten with what it replaces.

    Attributes:
        ids: ids of the documents to drop; with a `filter`, only those of them that pass it
        everything: drop all documents of the retriever, and list the collection under it no more; without ids or filter
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["drop_documents"] = "drop_documents"
    lane: RequestLane = Lane.NORMAL
    ids: Annotated[tuple[DocumentKey, ...], Field(max_length=MAX_IDS), Distinct] = ()
    everything: bool = False
    deadline: NoDeadline = None

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if self.everything == bool(self.ids or self.filter):
            raise ValueError("ids, filter: name documents by ids or a filter, or everything by everything=true alone")
        return self

    @property
    def steps(self) -> tuple[str, ...]:
        """The one step, which resumes after an interruption."""
        return ("drop",)


class DropResult(JobResult):
    """What was dropped. ``total`` counts the documents.

    Attributes:
        retriever: kind of the documents
        collection: collection that they were dropped from
        outcome: whether anything was dropped: "absent" if nothing was there to drop
    """

    kind: Literal["drop_documents"] = "drop_documents"
    retriever: Retriever
    collection: str
    outcome: Annotated[Literal["forgotten", "absent"], Growing]


DocumentRequest = ListDocuments | ShowDocument | ExportDocuments | DropDocuments
DocumentJobResult = DocumentList | ShownDocument | DocumentPage | DropResult
