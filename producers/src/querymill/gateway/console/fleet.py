"""The pages of those who operate: the overview, the providers, the workers."""

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.fleet import UNNAMED
from querymill.gateway.console import accounts, overview
from querymill.gateway.console.day import day_of
from querymill.gateway.console.rendering import render
from querymill.gateway.console.spending import Spent, spent_of
from querymill.gateway.http.batches import refused_lately
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.costs import spent_for
from querymill.gateway.http.fleet import view_of
from querymill.gateway.http.job_search import sees_job
from querymill.keys import Scope
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob

router = APIRouter()

HOUR_S: Final = 3_600
#: The days of whose costs the overview tells.
COST_DAYS: Final = 31
#: The oldest of the jobs that are not over: so many are looked at, so many are shown.
OPEN_JOBS, SHOWN = 20, 5


@router.get("/console")
async def show_overview(request: Request) -> Response:
    """Say whether anything is wrong, what is stuck, and on what."""
    moment = await view_of(request).now()
    figures, operates = moment.figures, Scope.OPERATE in caller_of(request).scopes
    heard = {queue["queue"]: queue["workers"] for queue in figures["queues"]}
    collections = await context_of(request).mill.collections()
    return render(
        request,
        "overview.html",
        findings=overview.findings(figures, operates=operates, refused=await _refused(request)),
        queues=overview.queue_rows(figures, moment.minutes),
        ends=overview.ends(figures),
        hour=overview.hour_of(moment.minutes),
        day=day_of(await view_of(request).day(), await context_of(request).now()) if operates else None,
        caches=overview.caches(figures["counts"]),
        kinds_of_job=overview.kind_rows(figures),
        providers=accounts.asked_lately(figures["providers"]),
        refused=accounts.refused_lately(figures["refusals"], await context_of(request).now()),
        spent=await _spent(request) if operates else None,
        workers=figures["workers"],
        dead=figures["dead_letters"],
        waiting=await _waiting_longest(request, heard),
        is_new=not any(job["submitted"] for job in figures["jobs"].values()),
        collections=[name for name in collections if caller_of(request).sees(name)],
        gateway=str(request.base_url).rstrip("/"),
    )


async def _refused(request: Request) -> list[overview.RefusedUpload]:
    """Return the uploads of the last hour that stored nothing."""
    found = await refused_lately(request, since=await context_of(request).now() - HOUR_S)
    return [overview.RefusedUpload(each.batch, each.kind, each.collection, each.rejected) for each in found]


async def _spent(request: Request) -> Spent | None:
    """Return what was spent today and before, or None if no model was called."""
    sums = await spent_for(request, COST_DAYS)
    if not sums:
        return None
    now = await context_of(request).now()
    return spent_of(sums, now, days=COST_DAYS)


async def _waiting_longest(request: Request, heard: dict[str, int]) -> list[overview.WaitingJob]:
    board, caller, now = context_of(request).mill.board, caller_of(request), await context_of(request).now()
    rows: list[overview.WaitingJob] = []
    for job_id in await board.open_jobs(limit=OPEN_JOBS):
        try:
            picture = await board.picture(job_id)
        except (UnknownJob, UnreadableJob):
            continue
        if not picture.record.is_over and sees_job(caller, picture.record):
            rows.append(overview.waiting(picture, heard, now))
        if len(rows) == SHOWN:
            break
    return rows


@router.get("/console/providers")
async def show_providers(request: Request) -> Response:
    """Show what the providers of models did: limits, breakers, pauses, refusals, the caches before them."""
    need(caller_of(request), Scope.OPERATE)
    moment = await view_of(request).now()
    counts = moment.figures["counts"]
    return render(
        request,
        "providers.html",
        unnamed=UNNAMED,
        providers=accounts.asked_lately(moment.figures["providers"]),
        learned={state["model"]: state["learned"] for state in moment.figures["providers"] if state.get("learned")},
        refusals=moment.figures["refusals"],
        now=await context_of(request).now(),
        caches=overview.caches(counts),
        counts=counts,
        waits=_by_label(counts, "budget_granted"),
        waited_ms=_by_label(counts, "budget_waited_ms"),
        refused=_by_label(counts, "budget_refused"),
        calls=_by_label(counts, "provider_calls"),
        set_aside=_by_label(counts, "texts_refused"),
    )


def _by_label(counts: dict[str, float], name: str) -> dict[str, float]:
    return {key.partition("/")[2]: value for key, value in counts.items() if key.startswith(f"{name}/")}


@router.get("/console/workers")
async def show_workers(request: Request) -> Response:
    """Show which worker serves which queue."""
    need(caller_of(request), Scope.OPERATE)
    moment = await view_of(request).now()
    figures = moment.figures
    return render(
        request,
        "workers.html",
        workers=figures["workers"],
        queues=overview.queue_rows(figures),
        leases_lost=figures["leases_lost"],
        now=await context_of(request).now(),
    )
