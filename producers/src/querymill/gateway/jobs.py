"""The routes of jobs: submit, list, look, result, cancel."""

import asyncio
import json
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, cast

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from querymill.gateway import audit
from querymill.gateway.gate import caller_of, gate_of, need, need_sight
from querymill.gateway.problems import invalid, of_rules
from querymill.gateway.routing import JSON, GatewayRoute, answers, check_media
from querymill.gateway.scopes import REQUESTS, scope_of_kind, scopes_of
from querymill.gateway.shapes import CancelBody, JobBody, JobDetail, JobList, State, detail_of, job_of, moment
from querymill.gateway.waiting import (
    OnDisconnect,
    WaitSeconds,
    answer_of,
    cancel,
    cancelled,
    etag_of,
    failed,
    look_at,
    matches,
    result_response,
    shows_requests,
    wait_for_end,
)
from querymill.job import AsyncJob
from querymill.keys import ApiKey, Scope
from querymill_shared.board import Record
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.contracts.fields import CollectionName, Lane
from querymill_shared.contracts.jobs import JobRequest, validate_request
from querymill_shared.contracts.results import Asks, JobResult

router = APIRouter(route_class=GatewayRoute, tags=["jobs"])

#: A page looks at no more jobs than this, and for no longer than this, in seconds.
LOOKED_AT, LOOKED_S = 2_000, 0.15
#: Records that are read in one round trip.
AT_ONCE: Final = 100
#: Entries of the list of jobs that are read in one round trip, once the first page's worth was not enough.
LISTED_AT_ONCE: Final = 500
#: Later than any time, in ms since the epoch.
NEVER_MS: Final = 1 << 52
#: A listed job: when it was submitted, in ms since the epoch, and its id.
Listed = tuple[int, str]
#: The value, or the possible values, of fields of records; None is any value.
Wanted = Mapping[str, str | bool | Collection[str] | None]
_IDEMPOTENCY_KEY: Final = re.compile(r'"(?P<quoted>[!#-~]{1,255})"|(?P<bare>[!-~]{1,255})')
_IDEMPOTENCY_SCHEMA: Final[dict[str, Any]] = {"pattern": r'^("[!#-~]{1,255}"|[!-~]{1,255})$'}


@router.post(
    "/v1/jobs",
    status_code=202,
    response_model=JobBody,
    responses=answers(
        {200: {"description": "The result, if it was there in time", "content": {JSON: {}}}},
        problems=(409, 410, 415, 424),
    ),
)
async def submit(
    request: Request,
    wait: WaitSeconds = 0,
    on_disconnect: OnDisconnect = "finish",
    idempotency_key: Annotated[str | None, Header(max_length=257, json_schema_extra=_IDEMPOTENCY_SCHEMA)] = None,
) -> Response:
    """Submit a job of any kind. With ``wait`` the response is its result, if that is there in time.

    A request that is sent again with the same `Idempotency-Key` leads to the same job.
    """
    check_media(request, JSON)
    asked = await read_request(request)
    job = await submit_job(request, asked, read_idempotency_key(idempotency_key))
    replayed = {"Idempotent-Replayed": "true"} if job.is_replayed else {}
    if wait > 0:
        waited = await wait_for_end(request, job.id, wait)
        if waited.end is not None:
            response = answer_of(job.id, waited.end)
            response.headers.update(replayed)
            return response
        if waited.is_gone and on_disconnect == "cancel" and not job.is_replayed:
            await cancel(request, job.id)
    found = await gate_of(request).mill.board.summary(job.id)
    return accepted(found.record, replayed)


async def read_request(request: Request) -> JobRequest:
    """Read the body as a request of any kind.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        return validate_request(await request.body())
    except ValidationError as error:
        raise of_rules(error, below=REQUESTS) from None


async def submit_job(
    request: Request, asked: JobRequest, idempotency_key: str | None = None, *, is_noted: bool = True
) -> AsyncJob[Any]:
    """Submit a job if the caller may, and note writes in the audit, unless somebody else does.

    It is on the board and rung even if the client goes in the middle of this.

    Raises:
        Problem: The caller may not.
    """
    caller = caller_of(request)
    need(caller, *scopes_of(asked))
    need_sight(caller, asked.collection)
    key = None if idempotency_key is None else _of_caller(caller, idempotency_key)
    submission = gate_of(request).mill.submit(cast("Asks[JobResult]", asked), idempotency_key=key)
    job = await asyncio.shield(asyncio.ensure_future(submission))
    if is_noted and scopes_of(asked) != {Scope.SEARCH} and not job.is_replayed:
        what = {"kind": asked.kind, "collection": asked.collection, "job": job.id}
        audit.note(caller, "submit", request_id=request.state.request_id, **what)
    return job


def _of_caller(caller: ApiKey, idempotency_key: str) -> str:
    """Return a key that is this caller's own. Without API keys there is one caller, and it is that of the client."""
    return f"{caller.id}\n{idempotency_key}" if caller.id else idempotency_key


def read_idempotency_key(written: str | None) -> str | None:
    """Read the header: 1 to 255 visible characters, bare or quoted.

    Raises:
        Problem: It is something else.
    """
    if written is None:
        return None
    found = _IDEMPOTENCY_KEY.fullmatch(written)
    if found is None:
        raise invalid(("Idempotency-Key", "must be 1 to 255 visible characters, bare or quoted"))
    return found["quoted"] or found["bare"]


def accepted(record: Record, headers: dict[str, str]) -> Response:
    """Answer with a job that goes on."""
    at = {"Location": f"/v1/jobs/{record.job_id}"}
    return JSONResponse(job_of(record).model_dump(mode="json"), 202, headers | at)


@router.get("/v1/jobs", response_model=JobList, responses=answers(never=(404,)))
async def list_jobs(
    request: Request,
    state: State | None = None,
    kind: Annotated[str | None, Query(max_length=100)] = None,
    collection: CollectionName | None = None,
    lane: Lane | None = None,
    complete: Annotated[bool | None, Query(description="false: the result lacks a part")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=100, description="the cursor `next` of a former page")] = None,
) -> Response:
    """List the jobs that the key may see, newest first.

    A page looks at a limited number of jobs. If it found fewer than ``limit``, ``next`` goes on from where it stopped.
    """
    wanted: Wanted = {"state": state, "kind": kind, "collection": collection, "lane": lane, "is_complete": complete}
    found = await find_jobs(request, wanted, limit=limit, before=before)
    page = JobList(jobs=[job_of(record) for record in found.records], next=found.next, looked_back_to=found.back_to)
    url = request.url.include_query_params(before=found.next)
    link = {"Link": f'<{url.path}?{url.query}>; rel="next"'} if found.next else {}
    return JSONResponse(page.model_dump(mode="json"), headers=link)


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """A page of jobs, newest first; the cursor of the next page, if there is one, and the time looked back to."""

    records: Sequence[Record]
    next: str | None
    back_to: datetime | None
    looked_at: int


async def find_jobs(request: Request, wanted: Wanted, *, limit: int, before: str | None = None) -> FoundJobs:
    """Find the jobs that the caller may see, newest first.

    Only so many jobs are looked at, and only for a while.

    Raises:
        Problem: The cursor is not one.
    """
    caller = caller_of(request)
    found: list[Record] = []
    last: Listed | None = None
    is_end, looked_at = True, 0
    async with aclosing(_looked_at(request, _read_cursor(before), limit)) as looked:
        async for entry, record, is_oldest in looked:
            last, is_end, looked_at = entry, is_oldest, looked_at + 1
            if record is not None and _fits(record, wanted) and sees_job(caller, record):
                found.append(record)
            if len(found) == limit:
                break
    cursor = None if last is None or is_end else _cursor(last)
    return FoundJobs(found, cursor, moment(None if last is None else last[0] / 1000), looked_at)


def _fits(record: Record, wanted: Wanted) -> bool:
    for name, value in wanted.items():
        possible = (value,) if isinstance(value, str | bool) else value
        if possible is not None and getattr(record, name) not in possible:
            return False
    return True


def sees_job(caller: ApiKey, record: Record) -> bool:
    """Return whether a key may see a job."""
    return caller.sees(record.collection) and may_read(caller, record.kind)


async def _listed(request: Request, before: Listed | None, first: int) -> AsyncGenerator[tuple[list[Listed], bool]]:
    """Yield the listed jobs in portions, the newest first, and with each whether it is the last one.

    The ``first`` portion is as long as a page: most pages need no more. The list of a busy board is long.
    """
    board, seen, size = gate_of(request).mill.board, 0, min(first, AT_ONCE)
    after, beside = before, 0  # jobs of one millisecond are told apart by their ids, which the board's list cannot skip
    while seen < LOOKED_AT:
        most = size + beside + 1
        listed = await board.listed(until_ms=NEVER_MS if after is None else after[0], most=most)
        older = [entry for entry in listed if after is None or entry < after]
        some, is_last = older[:size], len(listed) < most and len(older) <= size
        if some or is_last:
            yield some, is_last
        if is_last:
            return
        if not some:
            beside = 2 * most
            continue
        seen += len(some)
        same = sum(ms == some[-1][0] for ms, _ in some)
        beside = same + beside if same == len(some) else same
        after, size = some[-1], LISTED_AT_ONCE


async def _looked_at(
    request: Request, before: Listed | None, first: int
) -> AsyncGenerator[tuple[Listed, Record | None, bool]]:
    """Yield the listed jobs with their records for as long as a page may take, and always some.

    With each it says whether it is the oldest one.
    """
    ends = time.monotonic() + LOOKED_S
    async with aclosing(_listed(request, before, first)) as portions:
        async for listed, is_last in portions:
            for start in range(0, len(listed), AT_ONCE):
                some = listed[start : start + AT_ONCE]
                for entry, record in zip(some, await records_of(request, [id_ for _, id_ in some]), strict=True):
                    yield entry, record, is_last and entry == listed[-1]
                if time.monotonic() > ends:
                    return


def may_read(caller: ApiKey, kind: str) -> bool:
    """Return whether a key may see jobs of a kind."""
    return bool({scope_of_kind(kind), Scope.OPERATE} & caller.scopes)


async def records_of(request: Request, job_ids: Sequence[str]) -> list[Record | None]:
    """Return the records of jobs, None for each that has expired or cannot be read."""
    board = gate_of(request).mill.board
    try:
        return [found.record for found in await board.summaries(job_ids)]
    except (UnknownJob, UnreadableJob):
        return [await _record(request, job_id) for job_id in job_ids]


async def _record(request: Request, job_id: str) -> Record | None:
    try:
        return (await gate_of(request).mill.board.summary(job_id)).record
    except (UnknownJob, UnreadableJob):
        return None


def _cursor(after: Listed) -> str:
    return urlsafe_b64encode(json.dumps(after).encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> Listed | None:
    if cursor is None:
        return None
    try:
        ms, job_id = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError):
        ms, job_id = -1, ""
    if not isinstance(ms, int) or not isinstance(job_id, str) or not 0 <= ms <= NEVER_MS:
        raise invalid(("before", "must be the cursor of a former page"))
    return ms, job_id


@router.get(
    "/v1/jobs/{job_id}",
    response_model=JobDetail,
    responses=answers({304: {"description": "As it was: `If-None-Match` names the last event"}}),
)
async def show_job(request: Request, job_id: str) -> Response:
    """Show a job with its steps, in any state."""
    found = await look_at(request, job_id)
    tag = {"ETag": f'W/"{found.last}"', "Cache-Control": "private, no-cache"}
    if matches(request, tag["ETag"]):
        return Response(status_code=304, headers=tag)
    picture = (await gate_of(request).mill.board.picture(job_id)).for_caller()
    return JSONResponse(detail_of(picture, shows_request=shows_requests(request)).model_dump(mode="json"), headers=tag)


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
async def result(request: Request, job_id: str, wait: WaitSeconds = 0) -> Response:
    """Return the result of a job, waiting for it if asked to."""
    found = await look_at(request, job_id)
    record = found.record
    if record.state == "done" and matches(request, etag_of(job_id)):
        return Response(status_code=304, headers={"ETag": etag_of(job_id)})
    if not record.is_over and wait > 0:
        waited = await wait_for_end(request, job_id, wait)
        if waited.end is not None:
            return answer_of(job_id, waited.end)
    return await _stored(request, record)


async def _stored(request: Request, record: Record) -> Response:
    """Return what there is of a result now."""
    match record.state:
        case "done":
            text = await gate_of(request).mill.board.result(record.job_id)
            if text is None:
                raise UnknownJob(record.job_id)
            return result_response(record.job_id, text)
        case "failed" | "dead":
            raise failed(record.job_id, record.state, record.reason, record.code or None)
        case "cancelled":
            raise cancelled(record.job_id)
        case "queued" | "running":
            return accepted(record, {"Retry-After": "1"})


@router.delete("/v1/jobs/{job_id}", response_model=CancelBody, responses=answers())
async def cancel_job(request: Request, job_id: str) -> Response:
    """Cancel a job. One that is over stays as it is. If others wait for the same work, that goes on for them."""
    found = await look_at(request, job_id)
    is_cancelled = await asyncio.shield(asyncio.ensure_future(cancel(request, job_id)))
    state: State = "cancelled" if is_cancelled else await _state(request, found.record)
    audit.note(caller_of(request), "cancel", request_id=request.state.request_id, job=job_id, cancelled=is_cancelled)
    body = CancelBody(job_id=job_id, state=state, cancelled=is_cancelled)
    return JSONResponse(body.model_dump(mode="json"))


async def _state(request: Request, record: Record) -> State:
    return (await gate_of(request).mill.board.summary(record.job_id)).record.state
