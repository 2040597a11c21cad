"""Submitting a job for a caller: what the body asks for, who may, and what is noted."""

import asyncio
import re
from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar, cast

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from querymill.client.job import AsyncJob
from querymill.gateway.http import audit
from querymill.gateway.http.context import caller_of, context_of, need, need_sight
from querymill.gateway.http.job_shapes import job_of
from querymill.gateway.http.problems import Problem, invalid, links_of, no_collection, of_rules
from querymill.gateway.http.scopes import REQUESTS, scopes_of
from querymill.gateway.http.under_way import is_filling
from querymill.gateway.http.waiting import look_at
from querymill.keys import Scope
from querymill_shared.board import Record
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownCollection, UnknownJob, UnreadableJob
from querymill_shared.contracts.jobs import JobRequest, validate_request
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.search import Search, with_branches
from querymill_shared.contracts.submit_options import BESIDE, PLAIN, SubmitOptions, options_beside

T = TypeVar("T")
#: A body up to this many bytes takes longer to hand over to a thread than to read.
SMALL_BODY: Final = 20_000
_IDEMPOTENCY_KEY: Final = re.compile(r'"(?P<quoted>[!#-~]{1,255})"|(?P<bare>[!-~]{1,255})')


async def read_request(request: Request) -> tuple[JobRequest, SubmitOptions]:
    """Read the body as a request of any kind, with the options that stand beside its fields.

    Raises:
        Problem: It breaks a rule.
    """
    return await read_body(request, request_of)


def request_of(body: bytes) -> tuple[JobRequest, SubmitOptions]:
    """Read a request of any kind, with the options that stand beside its fields.

    Raises:
        Problem: It breaks a rule.
    """
    try:
        return _read(body)
    except ValidationError as error:
        raise of_rules(error, below=REQUESTS) from None


def _read(body: bytes) -> tuple[JobRequest, SubmitOptions]:
    if not any(f'"{name}"'.encode() in body for name in BESIDE):  # as most: it is read once
        return validate_request(body), PLAIN
    try:
        fields = from_json(body)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        return validate_request(body), PLAIN  # which says what is wrong
    asked, options = options_beside(fields)
    return validate_request(to_json(asked, inf_nan_mode="constants")), options


async def read_body(request: Request, read: Callable[[bytes], T]) -> T:
    """Return what a body is read as. A large one is read in a thread, so that others are served in the meantime."""
    body = await request.body()
    return read(body) if len(body) <= SMALL_BODY else await asyncio.to_thread(read, body)


async def submit_job(
    request: Request, asked: JobRequest, options: SubmitOptions = PLAIN, *, is_noted: bool = True,
    needs: Collection[Scope] | None = None,
) -> AsyncJob[Any]:  # fmt: skip
    """Submit a job if the caller may, and write an audit line for a write, unless the route does.

    The caller ``needs`` these scopes, or those of the request.

    The job is stored and rung even if the client disconnects during the call.

    Raises:
        Problem: The caller may not, or has spent its budget of today, the key belongs to another request, or the
            collection is being filled.
        UnknownCollection: The collection holds nothing, and no ingestion that the caller may see is under way.
    """
    caller = caller_of(request)
    need(caller, *(scopes_of(asked) if needs is None else needs))
    if isinstance(asked, Search):
        asked = await _of_what_is_seen(request, asked)
    need_sight(caller, asked.collection)
    await context_of(request).budgets.check(caller, asked)
    if options.callback is not None and not await context_of(request).signs_callbacks_of(caller):
        remedy = f"`querymill keys callback-secret {caller.id}` makes one"
        raise invalid(("callback", f"cannot be signed: the API key has no callback secret; {remedy}"))
    mill, owned = context_of(request).mill, options.owned_by(caller.id)
    submission = mill.submit_with(cast("Asks[JobResult]", asked), owned)
    try:
        job = await asyncio.shield(asyncio.ensure_future(submission))
    except UnknownCollection as error:
        if await is_filling(request, asked.collection, asked.kind):
            raise no_collection(is_under_way=True) from error
        raise
    except IdempotencyConflict as error:
        raise await _conflict(request, error.job_id) from error
    request.state.job_id = job.id
    if is_noted and scopes_of(asked) != {Scope.SEARCH} and not job.is_replayed:
        what = {"kind": asked.kind, "collection": asked.collection, "job": job.id}
        audit.note(caller, "submit", request_id=request.state.request_id, **what)
    return job


async def _of_what_is_seen(request: Request, asked: Search) -> Search:
    """Return a search with its branches, of nothing but what the caller may see.

    Raises:
        InvalidRequest: There are more than one search may have.
        UnknownCollection: A collection holds nothing, or the caller may not see it.
    """
    caller, held = caller_of(request), await context_of(request).mill.collections()
    return with_branches(asked, {name: kinds for name, kinds in held.items() if caller.sees(name)})


async def _conflict(request: Request, job_id: str) -> Problem:
    """Return the problem of a key that was used for another request. It names the job to a caller who may see it."""
    try:
        await look_at(request, job_id)
    except (Problem, UnknownJob, UnreadableJob):
        return Problem("idempotency-conflict")
    said = f"Idempotency-Key: belongs to job {job_id}, whose request is another; use a new key"
    return Problem("idempotency-conflict", said, more={"job_id": job_id, "links": links_of(job_id)})


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


def accepted(record: Record, headers: dict[str, str], *, starts_work: bool | None = None) -> Response:
    """Answer with a job that has not ended, and whether its submission started work if that is known."""
    at = {"Location": f"/v1/jobs/{record.job_id}"}
    body = job_of(record).model_dump(mode="json")
    if starts_work is not None:
        body["starts_work"] = starts_work
    return JSONResponse(body, 202, headers | at)
