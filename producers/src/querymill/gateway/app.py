"""The application: ``python -m querymill.gateway --port N``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import redis
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from querymill.client import AsyncQuerymill
from querymill.gateway import problems
from querymill_shared.board.valkey import CONNECTION
from querymill_shared.metrics import FleetFigures
from querymill_shared.settings import Settings


def create_app(settings: Settings) -> FastAPI:
    """Build the gateway over one board."""

    @asynccontextmanager
    async def connected(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncQuerymill(settings=settings) as mill:
            app.state.mill = mill
            yield

    app = FastAPI(title="Querymill", version="1", lifespan=connected)
    problems.register(app)
    client = redis.Redis.from_url(settings.redis_url, **CONNECTION)
    registry = CollectorRegistry()
    registry.register(FleetFigures(client))

    @app.get("/healthz", tags=["operation"])
    def healthz() -> dict[str, str]:
        """Say that the process lives."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    def readyz() -> Response:
        """Say whether the board answers: without it nothing can be accepted."""
        client.ping()
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", tags=["operation"])
    def metrics() -> Response:
        """Give the fleet's figures in the format of Prometheus."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return app


def mill_of(app: Any) -> AsyncQuerymill:
    """Return the client that the gateway submits through."""
    mill: AsyncQuerymill = app.state.mill
    return mill
