"""The style sheet, the script and the icon. Their address holds their digest, so browsers may keep them for ever."""

from fastapi import APIRouter
from fastapi.responses import Response

from querymill.gateway.console.rendering import STATIC, static_digest, static_file
from querymill.gateway.http.problems import not_found

router = APIRouter()


@router.get("/console/static/{digest}/{name}")
async def static(digest: str, name: str) -> Response:
    """Return a static file."""
    if name not in STATIC:
        raise not_found()
    # During an upgrade a page of the other release may ask: it gets this one's file, for now.
    kept = "max-age=31536000, immutable" if digest == static_digest() else "no-store"
    return Response(static_file(name), headers={"Cache-Control": kept}, media_type=STATIC[name])
