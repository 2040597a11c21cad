"""The application: every route of the gateway behind one door."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Final

import redis
from fastapi import APIRouter, FastAPI
from prometheus_client import CollectorRegistry
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Scope

from querymill.gateway import console, schema
from querymill.gateway.console import problem_pages
from querymill.gateway.dify import retrieval
from querymill.gateway.dify import shape as dify_shape
from querymill.gateway.http import (
    batches,
    chat,
    costs,
    documents,
    events,
    feedback,
    intake,
    job_batches,
    jobs,
    operation,
    pages,
    problems,
)
from querymill.gateway.http.access import RequestMetrics
from querymill.gateway.http.context import GatewayContext
from querymill.gateway.http.middleware import GatewayMiddleware, is_console
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.readers import ReadingRoom
from querymill.gateway.mcp import AgentRoom
from querymill.gateway.openai import completions, shape
from querymill_shared.board.connections import CLIENT_COMMANDS, open_commands
from querymill_shared.metrics import FleetFigures
from querymill_shared.settings import Settings

#: How long a start may wait for the board to say if it has keys, in seconds.
LOOK_S: Final = 2.0
ROOMS: Final = (
    jobs,
    job_batches,
    feedback,
    events,
    documents,
    intake,
    batches,
    chat,
    completions,
    retrieval,
    operation,
    costs,
    pages,
    console,
)


def create_app(settings: Settings, *, keys_required: bool = False) -> FastAPI:
    """Build the gateway over one board. If no key is required, it must be served on loopback only.

    The settings may require keys, too.
    """
    context = GatewayContext(settings, keys_required=keys_required)
    client = open_commands(settings.redis_url, max_connections=CLIENT_COMMANDS)
    agents = AgentRoom()

    @asynccontextmanager
    async def connected(_: FastAPI) -> AsyncIterator[None]:
        await _look_for_keys(context)
        async with agents.running():
            yield
        context.stopping.set()
        app.state.reading.close()
        await context.close()
        client.close()

    app = FastAPI(
        title="Querymill",
        version=version("querymill"),
        lifespan=connected,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Its own spans and logs would quote questions: addresses with their queries, values that break a rule.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.context = context
    app.state.reading = ReadingRoom()
    app.state.registry = CollectorRegistry()
    app.state.registry.register(FleetFigures(client))
    for room in ROOMS:
        app.include_router(room.router)
    app.router.routes.append(agents.route)
    app.state.routes = [route for room in ROOMS for route in routes_of(room.router)]
    problems.register(app, respond)
    app.openapi = lambda: schema.document(app)  # type: ignore[method-assign]  # the framework's way to replace it
    app.add_middleware(GatewayMiddleware, context=context, respond=respond, metrics=RequestMetrics(app.state.registry))
    return app


def routes_of(router: APIRouter) -> Iterator[BaseRoute]:
    """Yield the routes of a router and of the routers that it includes, such as the console's."""
    for route in router.routes:
        included: APIRouter | None = getattr(route, "original_router", None)
        if included is None:
            yield route
        else:
            yield from routes_of(included)


async def _look_for_keys(context: GatewayContext) -> None:
    """Let a gateway know from its start if the board has keys. If the board is away, a later request or probe does."""
    with suppress(redis.RedisError, TimeoutError):
        async with asyncio.timeout(LOOK_S):
            await context.has_keys()


def respond(scope: Scope, problem: Problem) -> Response:
    """Answer a problem as its caller reads it: a page, OpenAI's or Dify's shape, or problem details."""
    if is_console(scope["path"]):
        return problem_pages.respond(scope, problem)
    if scope["path"] == dify_shape.RETRIEVAL:
        return dify_shape.respond(scope, problem)
    return shape.respond(scope, problem)
