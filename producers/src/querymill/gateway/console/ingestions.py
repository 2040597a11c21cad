"""The page of one ingestion: how far the jobs of an upload are."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import render
from querymill.gateway.intake import batch_of

router = APIRouter()


@router.get("/console/ingestions/{batch}")
async def show_ingestion(request: Request, batch: str) -> Response:
    """Show how many jobs of an upload are done, in work, and refused."""
    found = await batch_of(request, batch)
    is_open = any(found.jobs.get(state) for state in ("queued", "running"))
    total = sum(found.jobs.values()) + found.gone
    return render(request, "ingestion.html", batch=found, is_open=is_open, total=total)
