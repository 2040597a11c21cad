"""The route of a job's events: a stream that can be resumed on any replica, or an array for those who cannot stream."""

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from querymill.client.events.waits import Delivery, Wait, is_later
from querymill.gateway.http import sse
from querymill.gateway.http.callbacks import callback_of
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.job_shapes import detail_of
from querymill.gateway.http.parameters import JobId
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.routing import JSON, GatewayRoute, answers, takes
from querymill.gateway.http.sse import EventStream, Inbox
from querymill.gateway.http.waiting import MAX_WAIT_S, look_at, shows_requests
from querymill_shared.board import StreamedEvent
from querymill_shared.board.summaries import JobSummary

router = APIRouter(route_class=GatewayRoute, tags=["jobs"])

BEGINNING: Final = "0-0"
#: What clients send that mean the beginning.
_BEGINNINGS: Final = frozenset(("", "0", "-1", BEGINNING))
_EVENT_ID: Final = re.compile(r"[0-9]{1,18}-[0-9]{1,18}")


@router.get(
    "/v1/jobs/{job_id}/events",
    response_model=None,
    responses=answers(
        {
            200: {
                "description": "The events from the one after `Last-Event-ID` on, each with its id",
                "content": {
                    sse.MEDIA_TYPE: {"schema": {"type": "string"}},
                    JSON: {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/EventBody"}}},
                },
            },
            204: {"description": "The job is over, and there is no later event"},
        },
        problems=(400,),
    ),
)
async def events(
    request: Request,
    job_id: JobId,
    after: Annotated[str | None, Query(max_length=40, description="as `Last-Event-ID`, which wins")] = None,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT_S, allow_inf_nan=False, description="for JSON: how long to wait for an event")
    ] = 0,
    last_event_id: Annotated[
        str | None,
        Header(max_length=40, alias="Last-Event-ID", description="id of the event to continue after; else all events"),
    ] = None,
) -> Response:
    """Follow a job by Server-Sent Events: each event once, in order, from its beginning or after an event.

    If the stream no longer holds the event after that one, the first event is `snapshot`, the whole job. With
    `Accept: application/json` the response is an array of the events so far.
    """
    found = await look_at(request, job_id)
    begins_at = read_event_id(last_event_id if last_event_id is not None else after)
    first, begins_at = await _caught_up(request, found, begins_at)
    if found.record.is_over and begins_at == found.last:
        return Response(first, media_type=sse.MEDIA_TYPE) if first else Response(status_code=204)
    if takes(request, JSON) and not takes(request, sse.MEDIA_TYPE):
        return await _as_array(request, job_id, begins_at, wait)
    if request.state.is_head:
        return Response(media_type=sse.MEDIA_TYPE)
    context, caller = context_of(request), caller_of(request)
    return EventStream(
        _hearing(request, job_id, begins_at),
        first=first,
        stopping=context.stopping,
        is_welcome=lambda: context.is_valid(caller),
        place=lambda: context.waiting(caller),
    )


def read_event_id(written: str | None) -> str:
    """Read the id of an event.

    Raises:
        Problem: It is not of the form ms-seq.
    """
    if written is None or written.strip() in _BEGINNINGS:
        return BEGINNING
    if _EVENT_ID.fullmatch(written) is None:
        raise Problem("event-id")
    return written


async def _caught_up(request: Request, found: JobSummary, begins_at: str) -> tuple[bytes, str]:
    """Return the event that replaces what the stream no longer has, b"" if it has all, and the id to resume from."""
    if begins_at == BEGINNING or not found.first:
        return b"", begins_at
    if not is_later(found.first, begins_at) and not is_later(begins_at, found.last):
        return b"", begins_at
    picture = (await context_of(request).mill.board.picture(found.record.job_id)).for_caller()
    callback = await callback_of(request, picture.record)
    snapshot = detail_of(picture, callback, shows_request=shows_requests(request)).model_dump_json()
    return sse.encode(found.last, "snapshot", snapshot), found.last


def _hearing(request: Request, job_id: str, after: str) -> sse.Hear:
    watch = context_of(request).mill.watch

    def hear(deliver: Callable[[Delivery], None]) -> AbstractContextManager[Wait]:
        return watch.waiting(job_id, deliver, every_event=True, after=after)

    return hear


async def _as_array(request: Request, job_id: str, after: str, wait_s: float) -> Response:
    """Return the events so far, or the first to come."""
    told: list[StreamedEvent] = []
    async with context_of(request).waiting(caller_of(request)):
        inbox = Inbox()
        with _hearing(request, job_id, after)(inbox.deliver):
            # What there is comes at once; a moment is enough for it, and for the events of that moment.
            ends = time.monotonic() + max(wait_s, 2.0)
            found: list[Any] | None = await inbox.next(ends - time.monotonic())
    for delivery in found or ():
        if isinstance(delivery, Exception):
            raise delivery
        told += delivery.told
    body = "[" + ",".join(_entry(each) for each in told) + "]"
    return Response(body, media_type=JSON)


def _entry(told: StreamedEvent) -> str:
    return f'{{"id":"{told.event_id}","event":"{told.type}","data":{told.body}}}'
