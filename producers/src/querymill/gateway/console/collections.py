"""The pages of what is stored: collections, their documents, and the reader that shows where a citation comes from."""

from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ValidationError

from querymill.gateway.console.hits import NumberedHit, hits_of
from querymill.gateway.console.job_list import rows_of
from querymill.gateway.console.pictures import picture_beside
from querymill.gateway.console.reading import MAX_DIGITS, number_of, reading_of
from querymill.gateway.console.rendering import address, read_form, render, see
from querymill.gateway.http import audit
from querymill.gateway.http.context import caller_of, context_of, need, need_sight
from querymill.gateway.http.documents import fetch, fetch_whole, filter_of, find
from querymill.gateway.http.job_search import find_jobs
from querymill.gateway.http.problems import Problem, no_collection, not_found, of_rules
from querymill.gateway.http.submitting import submit_job
from querymill.gateway.http.waiting import look_at
from querymill.keys import Scope
from querymill_shared.contracts.documents import (
    DocumentList,
    DropDocuments,
    ListDocuments,
)
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import decode_result

router = APIRouter()

LISTED: Final = 50


@router.get("/console/collections")
async def show_collections(request: Request) -> Response:
    """List the collections that the visitor may see."""
    found = await context_of(request).mill.collections()
    rows = [(name, list(kinds)) for name, kinds in found.items() if caller_of(request).sees(name)]
    return render(request, "collections.html", rows=rows)


@router.get("/console/collections/{collection}")
async def show_collection(request: Request, collection: str) -> Response:
    """Show what a collection holds of each kind, and what it was asked lately."""
    need_sight(caller_of(request), collection)
    kinds = (await context_of(request).mill.collections()).get(collection)
    if not kinds:
        raise no_collection()
    totals: dict[str, DocumentList | None] = {}
    for kind in kinds:
        try:
            totals[kind] = await _listed(request, collection, kind, limit=1)
        except Problem:
            totals[kind] = None  # its panel says so; the others stand
    rows = await rows_of(request, (await find_jobs(request, {"collection": collection}, limit=8)).records)
    now = await context_of(request).now()
    return render(request, "collection.html", collection=collection, totals=totals, lately=rows, now=now)


async def _listed(request: Request, collection: str, kind: Retriever, **fields: Any) -> DocumentList:
    asked = ListDocuments.model_validate({"retriever": kind, "collection": collection} | fields)
    return await fetch(request, asked, DocumentList)


@router.get("/console/collections/{collection}/{kind}")
async def show_documents(request: Request, collection: str, kind: Retriever) -> Response:
    """List the documents of a kind that pass a filter."""
    await find(request, collection, kind)
    given, cursor = request.query_params.get("filter", ""), request.query_params.get("after")
    wrong, found = "", None
    try:
        conditions = filter_of([line.strip() for line in given.split("\n") if line.strip()], kind)
        found = await _listed(request, collection, kind, limit=LISTED, cursor=cursor, filter=conditions)
    except ValidationError as error:
        wrong = of_rules(error).detail
    except Problem as problem:
        if problem.slug != "invalid":
            raise
        wrong = problem.detail
    older = found.cursor if found else None
    return render(
        request,
        "documents.html",
        422 if wrong else 200,
        collection=collection,
        kind=kind,
        found=found,
        given=given,
        wrong=wrong,
        next=address("collections", collection, kind, filter=given or None, after=older) if older else None,
        may_drop=Scope.DELETE in caller_of(request).scopes,
        asks_to_drop="drop" in request.query_params,
    )


@router.post("/console/collections/{collection}/{kind}/drop")
async def drop(request: Request, collection: str, kind: Retriever) -> Response:
    """Drop documents that were chosen by id. The visitor has to write the name of the collection."""
    fields = await read_form(request)
    need(caller_of(request), Scope.DELETE)
    await find(request, collection, kind)
    ids, written = fields.get("id", []), fields.get("name", [""])[0].strip()
    if not ids or written != collection:
        return render(
            request,
            "drop_documents.html",
            422 if ids and written else 200,
            collection=collection,
            kind=kind,
            ids=ids,
            is_wrong=bool(written),
        )
    job = await submit_job(
        request, DropDocuments(retriever=kind, collection=collection, ids=tuple(ids)), is_noted=False
    )
    what: dict[str, Any] = {"collection": collection, "kind": kind, "job": job.id, "ids": ids}
    audit.note(caller_of(request), "drop", request_id=request.state.request_id, **what)
    return see(address("jobs", job.id))


@router.get("/console/collections/{collection}/{kind}/{document:path}")
async def read(request: Request, collection: str, kind: Retriever, document: str) -> Response:
    """Show a document where it was cited: the page, the message or the lines, with the passage marked."""
    params = request.query_params
    if any(len(params.get(name, "")) > MAX_DIGITS for name in ("page", "hit")):
        raise not_found()
    shown = await fetch_whole(request, collection, kind, document)
    hit = await _hit(request, collection, params.get("job", ""), params.get("hit", ""))
    view = hit.view if hit else None
    reading = reading_of(
        kind,
        document,
        shown.document,
        view,
        question=hit.question if hit else "",
        page=params.get("page"),
        message=params.get("message"),
    )
    return render(
        request,
        "reader.html",
        collection=collection,
        kind=kind,
        document=document,
        reading=reading,
        hit=hit,
        picture=await picture_beside(request, collection, document, shown.document, reading.page),
    )


async def _hit(request: Request, collection: str, job_id: str, number: str) -> NumberedHit | None:
    """Return the hit that the visitor came from, None if there is none any more."""
    wanted = number_of(number)
    if not job_id or not wanted:
        return None
    try:
        found = await look_at(request, job_id)
        text = await context_of(request).mill.board.result(job_id)
        result = decode_result(text or "")
    except (Problem, QuerymillError, ValidationError):
        return None
    if found.record.collection != collection:
        return None
    return next(iter(hits_of(result, job_id, start=wanted - 1, limit=1)), None)
