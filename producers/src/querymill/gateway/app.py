"""The application: ``python -m querymill.gateway --port N``."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from querymill.client import AsyncQuerymill
from querymill.gateway import problems
from querymill_shared.board.connections import open_commands
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.metrics import FleetFigures
from querymill_shared.settings import Settings

#: A job ends by its deadline; this is how much longer its response may take, in seconds.
ANSWER_MARGIN_S = 2.0


def create_app(settings: Settings) -> FastAPI:
    """Build the gateway over one board."""

    @asynccontextmanager
    async def connected(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncQuerymill(settings=settings) as mill:
            app.state.mill = mill
            yield

    app = FastAPI(title="Querymill", version="1", lifespan=connected)
    problems.register(app)
    client = open_commands(settings.redis_url)
    registry = CollectorRegistry()
    registry.register(FleetFigures(client))

    @app.get("/healthz", tags=["operation"])
    def healthz() -> dict[str, str]:
        """Return that the process is alive."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["operation"])
    def readyz() -> Response:
        """Return whether the board answers; without it no job can be accepted."""
        client.ping()
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", tags=["operation"])
    def metrics() -> Response:
        """Return the fleet's figures in the format of Prometheus."""
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    @app.post("/api/chat/vectors", tags=["search"])
    async def chat_vectors(asked: MessageSearch) -> MessageResult:
        """Search the messages of chats, and wait for the result."""
        mill: AsyncQuerymill = app.state.mill
        job = await mill.submit(asked)
        return await job.result(timeout=asked.deadline + ANSWER_MARGIN_S)

    return app
