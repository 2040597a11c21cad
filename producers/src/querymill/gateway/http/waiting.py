"""Waiting for the end of a job on behalf of a request.

It ends when the job is over, the time is up, the client has gone, or the process is about to stop.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import Query, Request
from fastapi.responses import Response
from starlette.types import Receive

from querymill.client.events.waits import Heard
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.problems import Problem, links_of, not_found, of_failed_job
from querymill.gateway.http.scopes import scope_of_kind, scopes_of
from querymill.keys import Scope
from querymill_shared.board import CANCELLED, Picture, Record, Verdict
from querymill_shared.board.summaries import JobSummary
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.events import Cancelled, Done, Failed, decode_event

T = TypeVar("T")
#: Proxies cut a request that is silent for a minute.
MAX_WAIT_S: Final = 55.0
#: The longest job id is the only one.
_ID_CHARS: Final = 32

WaitSeconds = Annotated[
    float, Query(ge=0, le=MAX_WAIT_S, allow_inf_nan=False, description="how long to wait for the end, in seconds")
]
OnDisconnect = Annotated[
    Literal["finish", "cancel"],
    Query(description="what becomes of the job if the client goes while this request waits"),
]


@dataclass(frozen=True, slots=True)
class Waited:
    """How a wait ended: by the end of the job if there is one, and whether the client has gone."""

    end: Heard | None = None
    is_gone: bool = False


async def look_at(request: Request, job_id: str) -> JobSummary:
    """Return the summary of a job that the caller may see.

    Raises:
        Problem: There is none, or the key lacks the scope for it.
    """
    if len(job_id) != _ID_CHARS or not set(job_id) <= set("0123456789abcdef"):
        raise not_found()
    found = await context_of(request).mill.board.summary(job_id)
    _check_sight(request, found.record)
    return found


async def look_back_at(request: Request, job_id: str) -> Picture:
    """Return what a job did that is gone, if it has left a trail that the caller may see.

    Raises:
        Problem: It has not, or the key lacks the scope for it.
        UnknownJob: It has left no trail.
    """
    if len(job_id) != _ID_CHARS or not set(job_id) <= set("0123456789abcdef"):
        raise not_found()
    found = (await context_of(request).mill.board.trail(job_id)).for_caller()
    _check_sight(request, found.record)
    return found


def _check_sight(request: Request, record: Record) -> None:
    caller = caller_of(request)
    if not caller.sees(record.collection):
        raise not_found()
    if Scope.OPERATE not in caller.scopes:
        need(caller, scope_of_kind(record.kind))


async def need_to_end(request: Request, found: JobSummary) -> None:
    """Check that the caller may cancel or let go of a job that it sees: who might have submitted it may.

    Raises:
        Problem: The key lacks a scope that the request of the job needs.
        UnknownJob: The job is gone.
    """
    caller = caller_of(request)
    if Scope.OPERATE in caller.scopes:
        return
    asked = (await context_of(request).mill.board.picture(found.record.job_id)).asked
    if asked is not None:
        need(caller, *scopes_of(asked))


def shows_requests(request: Request) -> bool:
    """Return whether the caller may read what was asked, and not only how it fared."""
    return Scope.SEARCH in caller_of(request).scopes


async def until_gone(receive: Receive) -> None:
    """Wait until a client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def wait_for_end(request: Request, job_id: str, wait_s: float) -> Waited:
    """Wait for the end of a job.

    Raises:
        UnknownJob: It is not on the board.
    """
    until = time.monotonic() + wait_s
    return await _waited(request, lambda: context_of(request).mill.watch.end_async(job_id, until=until))


async def wait_for_ends(request: Request, job_ids: Sequence[str], wait_s: float) -> bool:
    """Wait for the ends of several jobs. Return whether all are over."""
    watch, until = context_of(request).mill.watch, time.monotonic() + wait_s

    async def last_end() -> Heard | None:
        heard = None
        for job_id in job_ids:
            with suppress(UnknownJob):  # it ended long ago
                heard = await watch.end_async(job_id, until=until)
        return heard

    return (await _waited(request, last_end)).end is not None


async def wait_for_each(request: Request, job_ids: Sequence[str], wait_s: float) -> dict[str, Heard]:
    """Wait for the ends of several jobs. Return those that came in time."""
    watch, until = context_of(request).mill.watch, time.monotonic() + wait_s
    found = dict[str, Heard]()

    async def listen(job_id: str) -> None:
        with suppress(UnknownJob, TimeoutError):
            found[job_id] = await watch.end_async(job_id, until=until)

    async def listen_to_all() -> None:
        await asyncio.gather(*[listen(job_id) for job_id in dict.fromkeys(job_ids)])

    await _waited(request, listen_to_all)
    return found


async def _waited(request: Request, wait: Callable[[], Coroutine[Any, Any, Heard | None]]) -> Waited:
    async with context_of(request).waiting(caller_of(request)):
        end, is_gone = await until_done_or_gone(request, wait())
    try:
        return Waited(is_gone=is_gone) if end.cancelled() else Waited(end.result())
    except TimeoutError:
        return Waited()


async def until_done_or_gone(request: Request, work: Coroutine[Any, Any, T]) -> tuple[asyncio.Task[T], bool]:
    """Do something until it is done, the client has gone, or the process is about to stop.

    Return its task, cancelled if it was not done, and whether the client has gone.
    """
    end = asyncio.create_task(work)
    gone = asyncio.create_task(until_gone(request.receive))
    stop = asyncio.create_task(context_of(request).stopping.wait())
    tasks: tuple[asyncio.Task[Any], ...] = (end, gone, stop)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return end, gone.done()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def cancel(request: Request, job_id: str) -> bool:
    """Cancel a job. Return False if it was over already."""
    return await context_of(request).mill.board.settle(job_id, Verdict("cancelled", reason=CANCELLED))


def answer_of(job_id: str, heard: Heard, *, may_be_repeated: bool = True) -> Response:
    """Return the response of a job that is over. To repeat the request makes a new job if it ``may_be_repeated``.

    Raises:
        Problem: It has no result.
    """
    return result_response(job_id, result_of(job_id, heard, may_be_repeated=may_be_repeated))


def result_of(job_id: str, heard: Heard, *, may_be_repeated: bool = True) -> str:
    """Return the result of a job that is over, as JSON. Raises as `answer_of` does."""
    match decode_event(heard.told[-1].body):
        case Done() if heard.result is not None:
            return heard.result
        case Failed(reason=reason, code=code):
            raise of_failed_job(job_id, "failed", reason, code, may_be_repeated=may_be_repeated)
        case Cancelled():
            raise cancelled(job_id)
        case _:
            raise not_found()


def result_response(job_id: str, result: str) -> Response:
    """Return a result as it is stored. It never changes, but it may be forgotten."""
    headers = {"ETag": etag_of(job_id), "Cache-Control": "private, no-cache"}
    return Response(result, 200, headers, media_type="application/json")


def etag_of(job_id: str) -> str:
    """Return the entity tag of the result of a job."""
    return f'"{job_id}"'


def cancelled(job_id: str) -> Problem:
    """Return the problem of a job that was cancelled."""
    return Problem("job-cancelled", more={"job_id": job_id, "state": "cancelled", "links": links_of(job_id)})


def matches(request: Request, tag: str) -> bool:
    """Return whether a caller has this version already."""
    given = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    return "*" in given or tag.removeprefix("W/") in given
