"""The routes of jobs: submit, list, look, result, cancel."""

import asyncio
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response

from querymill.gateway.http import audit
from querymill.gateway.http.callbacks import callback_of, marked
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.job_search import Marked, Wanted, cursor_at, find_jobs
from querymill.gateway.http.job_shapes import (
    ActionBody,
    CancelBody,
    JobBody,
    JobDetail,
    JobList,
    State,
    SubmittedBody,
    detail_of,
    job_of,
)
from querymill.gateway.http.labels import GivenLabels, read_labels
from querymill.gateway.http.languages import in_callers_locale
from querymill.gateway.http.parameters import JobId
from querymill.gateway.http.problems import of_failed_job
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.http.submitting import accepted, read_idempotency_key, read_request, submit_job
from querymill.gateway.http.waiting import (
    OnDisconnect,
    WaitSeconds,
    answer_of,
    cancel,
    cancelled,
    etag_of,
    look_at,
    look_back_at,
    matches,
    need_to_end,
    result_response,
    shows_requests,
    wait_for_end,
)
from querymill.keys import Scope
from querymill_shared.board import Record
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.fields import CollectionName, Lane

router = APIRouter(route_class=GatewayRoute, tags=["jobs"])
_IDEMPOTENCY_SCHEMA: Final[dict[str, Any]] = {"pattern": r'^("[!#-~]{1,255}"|[!-~]{1,255})$'}
IdempotencyKey = Annotated[
    str | None,
    Header(
        max_length=257,
        json_schema_extra=_IDEMPOTENCY_SCHEMA,
        description="what leads to the same job if the request is sent again; bare or quoted",
    ),
]


@router.post(
    "/v1/jobs",
    status_code=202,
    response_model=SubmittedBody,
    responses=answers(
        {200: {"description": "The result, if it was there in time", "content": {JSON: {}}}},
        problems=(409, 410, 415, 424),
    ),
)
async def submit(
    request: Request,
    wait: WaitSeconds = 0,
    on_disconnect: OnDisconnect = "finish",
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Submit a job of any kind. With ``wait`` the response is its result, if that is there in time.

    A request that is sent again with the same `Idempotency-Key` leads to the same job. `labels` and `supersedes` may
    stand beside the fields of every request.
    """
    check_media(request, JSON)
    given, options = await read_request(request)
    asked = in_callers_locale(request, given)
    key = read_idempotency_key(idempotency_key)
    job = await submit_job(request, asked, options.model_copy(update={"idempotency_key": key}))
    replayed = {"Idempotent-Replayed": "true"} if job.is_replayed else {}
    if wait > 0:
        waited = await wait_for_end(request, job.id, wait)
        if waited.end is not None:
            response = answer_of(job.id, waited.end, may_be_repeated=idempotency_key is None)
            response.headers.update(replayed)
            return response
        if waited.is_gone and on_disconnect == "cancel" and not job.is_replayed:
            await cancel(request, job.id)
    found = await context_of(request).mill.board.summary(job.id)
    return accepted(found.record, replayed, starts_work=job.is_new)


@router.get("/v1/jobs", response_model=JobList, responses=answers(never=(404,)))
async def list_jobs(
    request: Request,
    state: Annotated[State | None, Query(description="jobs in this state")] = None,
    kind: Annotated[str | None, Query(max_length=100, description="jobs whose request has this `kind`")] = None,
    collection: Annotated[CollectionName | None, Query(description="jobs that are about this collection alone")] = None,
    lane: Annotated[Lane | None, Query(description="jobs with this priority under a provider's rate limit")] = None,
    complete: Annotated[bool | None, Query(description="false: the result lacks a part")] = None,
    label: GivenLabels = [],  # noqa: B006  # never changed
    idempotency_key: Annotated[str | None, Query(max_length=255, description="the key that it was sent with")] = None,
    until: Annotated[datetime | None, Query(description="the latest time of submission")] = None,
    limit: Annotated[int, Query(ge=1, le=200, description="how many jobs a page has at most")] = 50,
    before: Annotated[str | None, Query(max_length=100, description="the cursor `next` of a former page")] = None,
) -> Response:
    """List the jobs that the key may see, newest first. With labels, those that have all of them.

    Jobs that are gone are among them for some days, with what they did.

    A page looks at a limited number of jobs. If it found fewer than ``limit``, ``next`` continues where it stopped.
    """
    wanted: Wanted = {"state": state, "kind": kind, "collection": collection, "lane": lane, "is_complete": complete}
    marked = Marked(read_labels(label), idempotency_key)
    before = before if before is not None or until is None else cursor_at(until)
    found = await find_jobs(request, wanted, limit=limit, before=before, marked=marked)
    page = JobList(jobs=[job_of(record) for record in found.records], next=found.next, looked_back_to=found.back_to)
    url = request.url.include_query_params(before=found.next)
    link = {"Link": f'<{url.path}?{url.query}>; rel="next"'} if found.next else {}
    return JSONResponse(page.model_dump(mode="json"), headers=link)


@router.get(
    "/v1/jobs/{job_id}",
    response_model=JobDetail,
    responses=answers({304: {"description": "As it was: `If-None-Match` names the last event"}}),
)
async def show_job(
    request: Request,
    job_id: JobId,
    hits: Annotated[bool, Query(description="with the hits so far, of a job that is not over")] = False,  # noqa: FBT002
) -> Response:
    """Show a job with its steps, in any state. Of one that `is_gone` there is what it did, for some days."""
    try:
        found = await look_at(request, job_id)
    except UnknownJob:
        past = await look_back_at(request, job_id)
        return JSONResponse(detail_of(past, None, shows_request=False).model_dump(mode="json"))
    callback = await callback_of(request, found.record)
    tag = {"ETag": f'W/"{found.last}{marked(callback)}"', "Cache-Control": "private, no-cache"}
    if matches(request, tag["ETag"]):
        return Response(status_code=304, headers=tag)
    picture = (await context_of(request).mill.board.picture(job_id)).for_caller()
    may_read = shows_requests(request)
    detail = detail_of(picture, callback, shows_request=may_read, shows_hits=hits and may_read)
    return JSONResponse(detail.model_dump(mode="json"), headers=tag)


@router.get(
    "/v1/jobs/{job_id}/result",
    response_model=None,
    responses=answers(
        {
            200: {"description": "The result", "content": {JSON: {}}},
            202: {"description": "It is not over", "model": JobBody},
            304: {"description": "A result never changes"},
        },
        problems=(410, 424),
    ),
)
async def result(request: Request, job_id: JobId, wait: WaitSeconds = 0) -> Response:
    """Return the result of a job, waiting for it if asked to."""
    found = await look_at(request, job_id)
    record = found.record
    if record.state == "done" and matches(request, etag_of(job_id)):
        return Response(status_code=304, headers={"ETag": etag_of(job_id)})
    if not record.is_over and wait > 0:
        waited = await wait_for_end(request, job_id, wait)
        if waited.end is not None:
            return answer_of(job_id, waited.end, may_be_repeated=False)
    return await _stored(request, record)


async def _stored(request: Request, record: Record) -> Response:
    """Return what there is of a result now."""
    match record.state:
        case "done":
            text = await context_of(request).mill.board.result(record.job_id)
            if text is None:
                raise UnknownJob(record.job_id)
            return result_response(record.job_id, text)
        case "failed" | "dead":
            code = record.code or None
            raise of_failed_job(record.job_id, record.state, record.reason, code, may_be_repeated=False)
        case "cancelled":
            raise cancelled(record.job_id)
        case "queued" | "running":
            return accepted(record, {"Retry-After": "1"})


@router.delete("/v1/jobs/{job_id}", response_model=CancelBody, responses=answers())
async def cancel_job(request: Request, job_id: JobId) -> Response:
    """Cancel a job. A job that has ended stays as it is. If others wait for the same work, it continues for them."""
    found = await look_at(request, job_id)
    await need_to_end(request, found)
    is_cancelled = await asyncio.shield(asyncio.ensure_future(cancel(request, job_id)))
    state: State = "cancelled" if is_cancelled else await _state(request, found.record)
    audit.note(caller_of(request), "cancel", request_id=request.state.request_id, job=job_id, cancelled=is_cancelled)
    body = CancelBody(job_id=job_id, state=state, cancelled=is_cancelled)
    return JSONResponse(body.model_dump(mode="json"))


@router.post("/v1/jobs/{job_id}:release", response_model=ActionBody, responses=answers())
async def release_job(request: Request, job_id: JobId) -> Response:
    """Delete a job that has ended, before its result expires. One that has not ended stays as it is."""
    return await _act(request, job_id, "release")


@router.post("/v1/jobs/{job_id}:replay", response_model=ActionBody, responses=answers())
async def replay_job(request: Request, job_id: JobId) -> Response:
    """Run a dead job again, with all its attempts; needs the scope `operate`. One that is not dead stays as it is."""
    need(caller_of(request), Scope.OPERATE)
    return await _act(request, job_id, "replay")


@router.post("/v1/jobs/{job_id}:drop", response_model=ActionBody, responses=answers())
async def drop_job(request: Request, job_id: JobId) -> Response:
    """Delete a dead job; needs the scope `operate`. One that is not dead stays as it is."""
    need(caller_of(request), Scope.OPERATE)
    return await _act(request, job_id, "drop")


async def _act(request: Request, job_id: str, action: Literal["release", "replay", "drop"]) -> Response:
    found = await look_at(request, job_id)
    await need_to_end(request, found)
    act = getattr(context_of(request).mill.board, action)
    done = await asyncio.shield(asyncio.ensure_future(act(job_id)))
    audit.note(caller_of(request), action, request_id=request.state.request_id, job=job_id, done=done)
    return JSONResponse(ActionBody(job_id=job_id, state=found.record.state, done=done).model_dump(mode="json"))


async def _state(request: Request, record: Record) -> State:
    return (await context_of(request).mill.board.summary(record.job_id)).record.state
