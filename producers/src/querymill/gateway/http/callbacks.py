"""What became of the callback of a job: the jobs that tell its caller, as they are now."""

from contextlib import suppress
from typing import Final

from fastapi import Request
from pydantic import ValidationError

from querymill.gateway.http.callback_shapes import CallbackBody, DeliveryBody
from querymill.gateway.http.context import context_of
from querymill.gateway.http.times import moment
from querymill_shared.board import Picture, Record
from querymill_shared.callback_addresses import read_address
from querymill_shared.contracts.callbacks import Callback
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.urls import mask_text

#: Deliveries that are shown, the last ones: only a job that was replayed has several.
SHOWN: Final = 3


async def callback_of(request: Request, record: Record) -> CallbackBody | None:
    """Return what became of the callback of a job that the caller may see, None if it has none that can be read."""
    try:
        callback = Callback.model_validate_json(record.callback or "null")
    except ValidationError:
        return None
    board, found = context_of(request).mill.board, list[DeliveryBody]()
    for job_id in record.deliveries[-SHOWN:]:
        with suppress(UnknownJob, UnreadableJob):  # it was told so long ago that it is forgotten
            found.append(delivery_of(await board.picture(job_id)))
    return CallbackBody(url=read_address(callback.url).shown, events=list(callback.events), deliveries=found)


def delivery_of(picture: Picture) -> DeliveryBody:
    """Show a job that tells a caller."""
    record, (step, *_) = picture.record, picture.steps
    is_put_off = step.state == "waiting" and step.attempt > 0
    return DeliveryBody(
        job_id=record.job_id,
        state=record.state,
        attempts=step.attempt,
        reason=mask_text(step.reason or record.reason),
        next_at=moment(step.queued) if is_put_off else None,
        ended_at=moment(record.ended),
    )


def marked(callback: CallbackBody | None) -> str:
    """Return what tells apart how far the deliveries of a job are, whose own events are over. "" for none."""
    told = () if callback is None else callback.deliveries
    return "".join(f"-{each.state}{each.attempts}" for each in told)
