"""Batches: how far the jobs of an ingestion are, kept for a week after it."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from querymill.gateway.http.context import GatewayContext, caller_of, context_of, need, need_sight
from querymill.gateway.http.document_shapes import BatchBody, FailedDocument
from querymill.gateway.http.parameters import BatchId
from querymill.gateway.http.problems import Problem, not_found, of_rules
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.http.submitting import read_body
from querymill.keys import Scope
from querymill_shared.board.jobs_of_batch import (
    BATCH_TTL_S,
    BATCHES,
    MAX_LISTED,
    OPEN_TTL_S,
    batch_key,
    batch_text,
    jobs_in,
    known_of,
    text_of,
    ttl_of,
)
from querymill_shared.contracts.batches import MAX_REJECTED, KeptBatch

router = APIRouter(route_class=GatewayRoute, tags=["documents"])

#: The body of a batch that a client keeps, as the document names it.
KEPT_BATCH: Final = {"$ref": "#/components/schemas/KeptBatch"}
#: The states of jobs whose documents are stored; "" is that of a job that was let go.
_STORED: Final = ("done", "")


async def remember(
    context: GatewayContext, about: BatchBody, jobs: Sequence[tuple[str, int]], *, is_first: bool
) -> None:
    """Keep how far an upload is: its jobs, each with its number of documents. The first time, list it, too."""
    text = batch_text(about.model_dump_json(), jobs)
    await context.remember(batch_key(about.batch), text, ttl_s=OPEN_TTL_S if about.is_open else BATCH_TTL_S)
    if is_first:
        await context.list_in(BATCHES, about.batch, at=about.began_at, longest=MAX_LISTED)


@router.get("/v1/batches/{batch}", response_model=BatchBody, responses=answers())
async def show_batch(request: Request, batch: BatchId) -> Response:
    """Say how far the jobs of an upload are."""
    return JSONResponse((await batch_of(request, batch)).model_dump(mode="json"))


@router.put(
    "/v1/batches/{batch}",
    status_code=204,
    responses=answers({204: {"description": "It is kept"}}, problems=(415,)),
    openapi_extra={"requestBody": {"required": True, "content": {JSON: {"schema": KEPT_BATCH}}}},
)
async def keep_batch(request: Request, batch: BatchId) -> Response:
    """Keep for a week how far an ingestion is whose jobs a client submits itself. It chooses the 32 hex digits."""
    check_media(request, JSON)
    try:
        about = await read_body(request, KeptBatch.model_validate_json)
    except ValidationError as error:
        raise of_rules(error) from None
    caller, context = caller_of(request), context_of(request)
    need(caller, Scope.INGEST)
    need_sight(caller, about.collection)
    known = known_of(await context.recall(batch_key(_checked(batch))))
    if known is not None and not caller.sees(known.collection):
        raise not_found()
    at = await context.now() if known is None else known.began_at
    await context.remember(batch_key(batch), text_of(batch, about, began_at=at), ttl_s=ttl_of(about))
    if known is None:
        await context.list_in(BATCHES, batch, at=at, longest=MAX_LISTED)
    return Response(status_code=204)


def _checked(batch: str) -> str:
    if not _is_id(batch):
        raise not_found()
    return batch


def _is_id(batch: str) -> bool:
    return len(batch) == 32 and set(batch) <= set("0123456789abcdef")


async def _kept(context: GatewayContext, batch: str) -> tuple[BatchBody, list[tuple[str, int]]] | None:
    """Return what is kept of a batch, and its jobs, or None if nothing is, or another program wrote it."""
    if not _is_id(batch):
        return None
    about, *lines = (await context.recall(batch_key(batch)) or "").split("\n")
    try:
        return BatchBody.model_validate_json(about), jobs_in(lines)
    except ValidationError:
        return None


async def batch_of(request: Request, batch: str) -> BatchBody:
    """Return how far the jobs of an upload are.

    Raises:
        Problem: There is none that the caller may see.
    """
    context = context_of(request)
    kept = await _kept(context, batch)
    if kept is None:
        raise not_found()
    body, jobs = kept
    if not caller_of(request).sees(body.collection):
        raise not_found()
    need(caller_of(request), Scope.INGEST)
    states = await context.mill.board.states([job_id for job_id, _ in jobs])
    body.jobs.update(Counter(state for state in states if state))
    # Those that did not store all their documents stay on the board for as long as their batch.
    stored = sum(documents for (_, documents), state in zip(jobs, states, strict=True) if state in _STORED)
    done = [job_id for (job_id, _), state in zip(jobs, states, strict=True) if state == "done"]
    failed = [document for result in await context.mill.board.lacking(done) for document in failed_in(result)]
    return body.model_copy(
        update={
            "gone": states.count(""), "stored": stored - len(failed), "failed": len(failed),
            "first_failed": failed[:MAX_REJECTED],
        }
    )  # fmt: skip


async def refused_lately(request: Request, *, since: float, limit: int = 3) -> list[BatchBody]:
    """Return those of the latest uploads of which every line was refused, and that began at a time or after it."""
    found: list[BatchBody] = []
    if Scope.INGEST not in caller_of(request).scopes:
        return found
    context = context_of(request)
    for batch in await context.latest_in(BATCHES, limit=limit):
        body, _ = await _kept(context, batch) or (None, ())
        if body is None or body.began_at < since or not caller_of(request).sees(body.collection):
            continue
        if body.rejected and not body.accepted and not body.is_open:
            found.append(body)
    return found


def failed_in(result: str) -> list[FailedDocument]:
    """Return the documents that a job of many could not store, from its result as JSON, if it can be read."""
    try:
        documents = json.loads(result).get("documents") or ()
        return [
            FailedDocument(document=each["document"], reason=each.get("reason", ""))
            for each in documents
            if isinstance(each, dict) and each.get("outcome") == "failed"
        ]
    except (ValueError, LookupError, AttributeError, TypeError):
        return []


async def latest_batches(request: Request, *, limit: int) -> list[BatchBody]:
    """Return the latest uploads that the caller may see, the latest first."""
    found: list[BatchBody] = []
    if Scope.INGEST not in caller_of(request).scopes:
        return found
    for batch in await context_of(request).latest_in(BATCHES, limit=MAX_LISTED):
        try:
            found.append(await batch_of(request, batch))
        except Problem:
            continue  # it was forgotten, or is another's
        if len(found) == limit:
            break
    return found
