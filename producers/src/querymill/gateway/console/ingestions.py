"""The pages of ingestions: the latest uploads, and how far one is: what is searchable, refused, and when it is done."""

from dataclasses import dataclass
from typing import Final, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import render
from querymill.gateway.console.wording import age, count
from querymill.gateway.http.batches import batch_of, latest_batches
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.document_shapes import BatchBody
from querymill.keys import Scope

router = APIRouter()

LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class UploadProgress:
    """How far an upload is. ``rate`` is in documents per second since it began, None if nothing is stored yet.

    ``failed`` counts jobs. An upload that is over has failed if nothing of it is stored, is incomplete if not all is.
    """

    sentence: str
    is_open: bool
    failed: int
    rate: float | None
    left_s: float | None
    outcome: Literal["running", "done", "incomplete", "failed"]


def progress_of(batch: BatchBody, now: float) -> UploadProgress:
    """Return how far an upload is at a time (s since the epoch), by the board's clock.

    480 of 500 documents that are searchable after 60 s are 8 a second: the other 20 take about 2.5 s.
    """
    is_open = batch.is_open or any(batch.jobs.get(state) for state in ("queued", "running"))
    passed_s = max(now - batch.began_at, 0.001)
    rate = batch.stored / passed_s if is_open and batch.stored and batch.began_at else None
    left = batch.accepted - batch.stored - batch.failed
    left_s = left / rate if rate and left > 0 and not batch.is_open else None
    said = [f"{count(batch.stored)} of {count(batch.accepted or batch.rejected)} documents are searchable"]
    said += [f"{count(batch.failed)} could not be stored"] if batch.failed else []
    said += [f"{count(batch.rejected)} refused"] if batch.rejected else []
    said += [f"about {age(left_s)} left"] if left_s is not None else []
    said += ["lines are still being read"] if batch.is_open else []
    failed = sum(batch.jobs.get(state, 0) for state in ("failed", "dead", "cancelled"))
    lacks = bool(failed or batch.failed or batch.rejected)
    outcome: Literal["running", "done", "incomplete", "failed"] = (
        "running" if is_open else "failed" if lacks and not batch.stored else "incomplete" if lacks else "done"
    )
    return UploadProgress(", ".join(said) + ".", is_open, failed, rate, left_s, outcome)


@router.get("/console/ingestions")
async def show_ingestions(request: Request) -> Response:
    """List the latest uploads."""
    need(caller_of(request), Scope.INGEST)
    now = await context_of(request).now()
    rows = [(batch, progress_of(batch, now)) for batch in await latest_batches(request, limit=LISTED)]
    return render(request, "ingestions.html", rows=rows, now=now, gateway=str(request.base_url).rstrip("/"))


@router.get("/console/ingestions/{batch}")
async def show_ingestion(request: Request, batch: str) -> Response:
    """Show how far an upload is, and what was refused."""
    found, now = await batch_of(request, batch), await context_of(request).now()
    return render(request, "ingestion.html", batch=found, progress=progress_of(found, now), now=now)
