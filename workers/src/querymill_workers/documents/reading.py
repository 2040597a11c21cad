"""Read documents: list them, show one, export them page by page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.documents import (
    DocumentCard,
    DocumentList,
    DocumentPage,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
    ShownDocument,
)
from querymill_shared.contracts.filters import Retriever
from querymill_workers.documents.ports import Body, DocumentPorts
from querymill_workers.jobs.faults import NotFound
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending, hand_in

#: A page of an export ends with the document that makes it longer than this, in bytes of JSON: it is held in memory.
PAGE_BYTES: Final = 4_000_000
#: Documents of an export that are read at a time.
READ_AT_ONCE: Final = 20


class DocumentListNotes(Notes):
    """A page of a list."""

    documents: tuple[DocumentCard, ...]
    total: int
    cursor: str | None


class PageNotes(Notes):
    """A page of an export."""

    documents: tuple[Mapping[str, Any], ...]
    cursor: str | None


class ShowNotes(Notes):
    """One document."""

    document: Mapping[str, Any]


def list_page(claim: Claim, request: ListDocuments, ports: DocumentPorts) -> None:
    """List a page of documents, and count all."""
    stored = ports.documents[request.retriever]
    # One more tells whether another page follows.
    found = stored.list(request.collection, request.filter, limit=request.limit + 1, after=request.after)
    page = found[: request.limit]
    notes = DocumentListNotes(
        documents=tuple(with_pending(request.retriever, request.collection, page, ports)),
        total=stored.count(request.collection, request.filter),
        cursor=request.cursor_after(page[-1].id) if len(found) > len(page) else None,
    )
    hand_in(claim, request, notes, LIST, ports)


def with_pending(
    retriever: Retriever, collection: str, cards: Sequence[DocumentCard], ports: DocumentPorts
) -> Sequence[DocumentCard]:
    """Count the passages of documents that wait for a vector. Before the first vector of a collection, all do."""
    vectors, body = ports.vectors[retriever], ports.bodies[retriever]
    model = vectors.active_model(collection)
    if not cards or (model is None and body.embeds_if_asked):
        return cards
    lacking = vectors.lacking(collection, model=model or "", documents=[card.id for card in cards])
    return [card.model_copy(update={"pending": lacking.get(card.id, 0)}) for card in cards]


def export_page(claim: Claim, request: ExportDocuments, ports: DocumentPorts) -> None:
    """Read a page of whole documents."""
    stored = ports.documents[request.retriever]
    found = stored.list(request.collection, request.filter, limit=request.limit + 1, after=request.after)
    ids = [card.id for card in found]
    taken, documents = 0, list[Mapping[str, Any]]()
    for number, document in _short_enough(ports.bodies[request.retriever], request.collection, ids[: request.limit]):
        taken = number
        documents += [] if document is None else [document]
    cursor = request.cursor_after(ids[taken - 1]) if taken < len(ids) else None
    hand_in(claim, request, PageNotes(documents=tuple(documents), cursor=cursor), PAGE, ports)


def _short_enough(body: Body, collection: str, ids: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Yield whole documents until the page is long enough, each with how many ids are done by then.

    A document that has been dropped since is None.
    """
    size = 0
    for start in range(0, len(ids), READ_AT_ONCE):
        batch = ids[start : start + READ_AT_ONCE]
        whole = body.whole(collection, batch)
        for number, document in enumerate(batch, start=start + 1):
            yield number, whole.get(document)
            size += len(to_json(whole.get(document)))
            if size > PAGE_BYTES:
                return


def show(claim: Claim, request: ShowDocument, ports: DocumentPorts) -> None:
    """Read one document.

    Raises:
        NotFound: It is not stored.
    """
    found = ports.bodies[request.retriever].whole(request.collection, [request.id])
    if request.id not in found:
        raise NotFound(f"id: {request.id!r} is not among the {request.retriever} of {request.collection!r}")
    hand_in(claim, request, ShowNotes(document=found[request.id]), SHOWN, ports)


def to_list(request: ListDocuments, picture: Picture, notes: DocumentListNotes) -> DocumentList:
    """Build the result of a list."""
    return DocumentList(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        documents=notes.documents,
        total=notes.total,
        cursor=notes.cursor,
        complete=True,
    )


def to_page(request: ExportDocuments, picture: Picture, notes: PageNotes) -> DocumentPage:
    """Build the result of an export."""
    return DocumentPage(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        documents=notes.documents,
        total=len(notes.documents),
        cursor=notes.cursor,
        complete=True,
    )


def to_shown(request: ShowDocument, picture: Picture, notes: ShowNotes) -> ShownDocument:
    """Build the result of showing a document."""
    return ShownDocument(
        job_id=picture.record.job_id,
        retriever=request.retriever,
        collection=request.collection,
        id=request.id,
        document=notes.document,
        total=1,
        complete=True,
    )


LIST: Final = Ending(DocumentListNotes, to_list)
PAGE: Final = Ending(PageNotes, to_page)
SHOWN: Final = Ending(ShowNotes, to_shown)
