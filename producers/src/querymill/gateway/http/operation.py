"""The routes of those who operate a gateway: is it alive, is it ready, the figures of the fleet."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.concurrency import run_in_threadpool

from querymill.fleet import minute_figures
from querymill.gateway.http.context import caller_of, context_of, need
from querymill.gateway.http.fleet import SHOWN_MINUTES, fleet_of, view_of
from querymill.gateway.http.fleet_shapes import FleetBody, FleetHistory, Status
from querymill.gateway.http.problems import unavailable
from querymill.gateway.http.routing import GatewayRoute, answers
from querymill.keys import NONE_STORED, Scope
from querymill_shared.fleet_history import MINUTES

router = APIRouter(route_class=GatewayRoute, tags=["operation"])

#: A probe passes the door without a key, by any name, as often as it likes.
_UNGUARDED: Final = (401, 403, 404, 421, 429)


@router.get("/healthz", response_model=Status, responses=answers(never=(*_UNGUARDED, 503)))
async def healthz() -> Response:
    """Return that the process is alive."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz", response_model=Status, responses=answers(never=_UNGUARDED))
async def readyz(request: Request) -> Response:
    """Return whether the process takes requests: it does not stop, and the board takes jobs and has the keys needed."""
    context = context_of(request)
    if context.stopping.is_set():
        raise unavailable("the gateway is stopping", retry_after_s=5)
    await context.check_board()
    if not await context.has_keys() and context.keys_required:
        raise unavailable(NONE_STORED, retry_after_s=5)
    return JSONResponse({"status": "ready"})


@router.get("/v1/fleet", response_model=FleetBody, responses=answers(never=(404,)))
async def fleet(request: Request) -> Response:
    """Return how the fleet is: its workers, queues, jobs, providers and counters. A key needs the scope operate."""
    need(caller_of(request), Scope.OPERATE)
    return JSONResponse(await fleet_of(request))


@router.get("/v1/fleet/history", response_model=FleetHistory, responses=answers(never=(404,)))
async def history(
    request: Request,
    minutes: Annotated[int, Query(ge=1, le=MINUTES, description="the last minutes, up to a day")] = SHOWN_MINUTES,
) -> Response:
    """Return what the fleet did in each of the last minutes, the same from every gateway.

    A key needs the scope operate.
    """
    need(caller_of(request), Scope.OPERATE)
    found = await view_of(request).minutes(minutes)
    return JSONResponse({"minutes": [minute_figures(minute) for minute in found]})


@router.get(
    "/metrics",
    response_model=None,
    responses=answers({200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}, never=(404,)),
)
async def metrics(request: Request) -> Response:
    """Return the fleet's figures in the format of Prometheus. A key needs the scope operate.

    That holds on loopback too: a request that a proxy on the same machine passes on comes from there.
    """
    need(caller_of(request), Scope.OPERATE)
    registry: CollectorRegistry = request.app.state.registry
    figures = await run_in_threadpool(generate_latest, registry)
    return Response(figures, media_type=CONTENT_TYPE_LATEST)
