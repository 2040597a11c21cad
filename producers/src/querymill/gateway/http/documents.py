"""The routes of stored documents: list, export, show, drop."""

import hashlib
import json
from collections.abc import AsyncIterator, Collection
from typing import Annotated, Any, Final, TypeVar, cast

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from querymill.client.documents import PAGE_S
from querymill.filters import BadFilter, read_filter
from querymill.gateway.http import audit
from querymill.gateway.http.context import caller_of, context_of, need, need_sight
from querymill.gateway.http.document_shapes import CollectionList, Dropped, Matches
from querymill.gateway.http.job_shapes import JobBody
from querymill.gateway.http.parameters import DocumentId, KindName, StoredCollection
from querymill.gateway.http.problems import Problem, invalid, no_collection, not_found
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, takes
from querymill.gateway.http.submitting import accepted, submit_job
from querymill.gateway.http.under_way import is_filling
from querymill.gateway.http.waiting import Waited, WaitSeconds, answer_of, cancel, matches, wait_for_end
from querymill.keys import Scope
from querymill_shared.contracts.documents import (
    DocumentKey,
    DocumentList,
    DocumentPage,
    DropDocuments,
    DropResult,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
    ShownDocument,
)
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest, decode_result

router = APIRouter(route_class=GatewayRoute, tags=["documents"])

LINES: Final = "application/x-ndjson"
#: How long a deletion waits for its end unless the caller says how long, in seconds.
DROP_S: Final = 10.0
T = TypeVar("T")
Filter = Annotated[
    list[str] | None,
    Query(alias="filter", max_length=20, description="name=value, name>=from, name<=to, name^=prefix or name=null"),
]


@router.get("/v1/collections", response_model=CollectionList, responses=answers(never=(404,)))
async def collections(request: Request) -> Response:
    """List the collections that the key may see, with the kinds that each holds."""
    caller = caller_of(request)
    found = await context_of(request).mill.collections()
    seen = [{"name": name, "kinds": list(kinds)} for name, kinds in found.items() if caller.sees(name)]
    return JSONResponse({"collections": seen})


@router.get(
    "/v1/collections/{collection}/{kind}",
    response_model=DocumentList,
    responses=answers({200: {"content": {LINES: {"schema": {"type": "string"}}}}}, problems=(410, 424, 504)),
)
async def list_documents(
    request: Request,
    collection: StoredCollection,
    kind: KindName,
    conditions: Filter = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="how many documents a page has at most")] = 100,
    cursor: Annotated[str | None, Query(max_length=8_000, description="the `cursor` of the former page")] = None,
) -> Response:
    """List the documents that pass a filter, a page at a time.

    With `Accept: application/x-ndjson` the response is an export: all of them, whole, as ingestion reads them.
    """
    await find(request, collection, kind)
    fields = {"retriever": kind, "collection": collection, "filter": filter_of(conditions, kind), "cursor": cursor}
    if takes(request, LINES):
        first = ExportDocuments.model_validate(fields)
        return StreamingResponse(_exported(request, first, await _page(request, first)), media_type=LINES)
    listed = await fetch(request, ListDocuments.model_validate(fields | {"limit": limit}), DocumentList)
    return Response(listed.model_dump_json(), media_type=JSON)


async def _page(request: Request, asked: ExportDocuments) -> DocumentPage:
    return await fetch(request, asked, DocumentPage)


async def _exported(request: Request, asked: ExportDocuments, page: DocumentPage) -> AsyncIterator[bytes]:
    """Yield documents as JSON lines. One page is held at a time."""
    while True:
        yield b"".join(json.dumps(document).encode() + b"\n" for document in page.documents)
        if page.cursor is None:
            return
        page = await _page(request, asked.model_copy(update={"cursor": page.cursor}))


@router.get(
    "/v1/collections/{collection}/{kind}/{document:path}",
    response_model=dict[str, Any],
    responses=answers({304: {"description": "It is as it was"}}, problems=(410, 424, 504)),
)
async def show_document(
    request: Request, collection: StoredCollection, kind: KindName, document: DocumentId
) -> Response:
    """Return one document whole, as ingestion reads it. Its `ETag` is a hash of its content."""
    shown = await fetch_whole(request, collection, kind, document)
    text = json.dumps(shown.document)
    tag = {"ETag": f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"', "Cache-Control": "private, no-cache"}
    if matches(request, tag["ETag"]):
        return Response(status_code=304, headers=tag)
    return Response(text, headers=tag, media_type=JSON)


async def fetch_whole(request: Request, collection: str, kind: Retriever, document: DocumentKey) -> ShownDocument:
    """Fetch a document that the caller may see.

    Raises:
        Problem: There is none, or it cannot be fetched.
    """
    await find(request, collection, kind)
    asked = ShowDocument(retriever=kind, collection=collection, id=document)
    try:
        return await fetch(request, asked, ShownDocument)
    except Problem as problem:
        # The board has no code for this yet, only the words of the step.
        raise (
            not_found() if problem.slug == "job-failed" and " is not among the " in problem.detail else problem
        ) from None


@router.delete(
    "/v1/collections/{collection}/{kind}/{document:path}",
    response_model=Dropped,
    responses=answers({202: {"description": "The job continues", "model": JobBody}}, problems=(410, 424)),
)
async def drop_document(
    request: Request, collection: StoredCollection, kind: KindName, document: DocumentId, wait: WaitSeconds = DROP_S
) -> Response:
    """Drop a document for good. What was submitted before and is stored later stays forgotten."""
    _may_drop(request, collection)
    await find(request, collection, kind)
    return await _drop(request, DropDocuments(retriever=kind, collection=collection, ids=(document,)), wait)


@router.delete(
    "/v1/collections/{collection}/{kind}",
    response_model=Dropped | Matches,
    responses=answers({202: {"description": "The job continues", "model": JobBody}}, problems=(410, 424, 504)),
)
async def drop_documents(
    request: Request,
    collection: StoredCollection,
    kind: KindName,
    *,
    conditions: Filter = None,
    everything: Annotated[bool, Query(alias="all", description="drop all documents of the kind")] = False,
    dry_run: Annotated[bool, Query(description="count the documents, and drop none")] = False,
    wait: WaitSeconds = DROP_S,
) -> Response:
    """Drop the documents that pass a filter, or all with `all=true`. With `dry_run=true` they are only counted."""
    _may_drop(request, collection)
    if everything == bool(conditions):
        raise invalid(("filter", "must name documents; all=true, without a filter, drops everything"))
    await find(request, collection, kind)
    fields = {"retriever": kind, "collection": collection, "filter": filter_of(conditions, kind)}
    if dry_run:
        counted = ListDocuments.model_validate(fields | {"limit": 1})
        # Who may drop them all may know how many they are.
        listed = await fetch(request, counted, DocumentList, needs=(Scope.DELETE,))
        return JSONResponse({"matches": listed.total})
    return await _drop(request, DropDocuments.model_validate(fields | {"everything": everything}), wait)


def _may_drop(request: Request, collection: str) -> None:
    need(caller_of(request), Scope.DELETE)
    need_sight(caller_of(request), collection)


async def _drop(request: Request, asked: DropDocuments, wait_s: float) -> Response:
    job = await submit_job(request, asked, is_noted=False)
    what = {"collection": asked.collection, "kind": asked.retriever, "job": job.id}
    scope = {"ids": list(asked.ids)} if asked.ids else {"by": "filter" if asked.filter else "all"}
    audit.note(caller_of(request), "drop", request_id=request.state.request_id, **what, **scope)
    waited = await wait_for_end(request, job.id, wait_s) if wait_s > 0 else Waited()
    if waited.end is None:
        return accepted((await context_of(request).mill.board.summary(job.id)).record, {})
    dropped = cast("DropResult", decode_result(bytes(answer_of(job.id, waited.end).body)))
    return JSONResponse({"outcome": dropped.outcome, "total": dropped.total})


async def fetch(
    request: Request, asked: JobRequest, shape: type[T], *, needs: Collection[Scope] | None = None
) -> T:  # fmt: skip
    """Run a short job and return its result. The job is let go: it holds the documents themselves.

    The caller ``needs`` these scopes, or those of the request.

    Raises:
        Problem: It failed, or has no result in time.
    """
    job = await submit_job(request, asked, needs=needs)
    try:
        waited = await wait_for_end(request, job.id, PAGE_S)
        if waited.end is None:
            await cancel(request, job.id)
            raise Problem("late")
        result = decode_result(bytes(answer_of(job.id, waited.end).body))
    finally:
        await job.release()
    if not isinstance(result, shape):
        raise not_found()
    return result


async def find(request: Request, collection: str, kind: Retriever) -> None:
    """Check that a collection holds something of a kind and that the caller may see it.

    Raises:
        Problem: It does not, or the caller may not. The answer is the same.
    """
    need_sight(caller_of(request), collection)
    if collection not in await context_of(request).mill.board.collections(kind):
        raise no_collection(is_under_way=await is_filling(request, collection, kind))


def filter_of(conditions: list[str] | None, kind: Retriever) -> dict[str, Any]:
    """Read a filter.

    Raises:
        Problem: It cannot be read.
    """
    try:
        return read_filter(conditions or (), kind)
    except BadFilter as error:
        raise invalid(("filter", error.rule)) from error
