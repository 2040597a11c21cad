"""What holds for every route: no unknown or repeated parameter, and an answer of a media type that the caller takes."""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from querymill.gateway.http.problems import MEDIA_TYPE, Problem, ProblemBody, invalid

JSON: Final = "application/json"
#: Parameters that may be given more than once.
_REPEATED: Final = frozenset(("filter", "label"))
#: Every route that needs a key can answer these.
COMMON: Final = (401, 403, 404, 406, 408, 413, 414, 421, 422, 429, 431, 500, 503)


def answers(
    found: dict[int | str, dict[str, Any]] | None = None, *, problems: Sequence[int] = (), never: Sequence[int] = ()
) -> dict[int | str, dict[str, Any]]:
    """Describe what a route answers: what is ``found``, by status, the statuses that are problems.

    ``never`` has those of the common problems that the route does not have.
    """
    described: dict[int | str, dict[str, Any]] = {
        status: {"description": "A problem", "model": ProblemBody, "content": {MEDIA_TYPE: {}}}
        for status in sorted({*COMMON, *problems} - {*never})
    }
    return {**(found or {}), **described}


class GatewayRoute(APIRoute):
    """A route that checks what the framework lets pass."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler with the checks in front."""
        handle = super().get_route_handler()
        known = set(_query_names(self.dependant))
        produced = set(_media_types(self.responses)) or {JSON}

        async def check_and_handle(request: Request) -> Response:
            _check_parameters(request, known)
            _check_accept(request.headers.get("accept", ""), produced)
            return await handle(request)

        return check_and_handle


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for other in dependant.dependencies:
        yield from _query_names(other)


def _media_types(responses: dict[int | str, dict[str, Any]]) -> Iterator[str]:
    for status, response in responses.items():
        if int(status) < 300:
            yield from response.get("content", {})


def _check_parameters(request: Request, known: set[str]) -> None:
    given = request.query_params
    broken = [(name[:100], "is no parameter of this route") for name in given if name not in known]
    repeated = {name for name, _ in given.multi_items() if name not in _REPEATED and len(given.getlist(name)) > 1}
    broken += [(name[:100], "must be given once") for name in sorted(repeated)]
    if broken:
        raise invalid(*broken)


def _check_accept(accept: str, produced: set[str]) -> None:
    """Check that a caller takes what the route answers.

    Raises:
        Problem: It does not.
    """
    taken = {part.partition(";")[0].strip().lower() for part in accept.split(",")} - {""}
    families = {f"{media.partition('/')[0]}/*" for media in produced}
    if taken and not taken & ({"*/*"} | families | produced):
        raise Problem("not-acceptable")


def takes(request: Request, media: str) -> bool:
    """Return whether a caller asks for a media type by its name."""
    return media in request.headers.get("accept", "").lower()


def check_media(request: Request, *taken: str) -> None:
    """Check the media type of a body.

    Raises:
        Problem: It is none of these.
    """
    if media_of(request) not in taken:
        raise Problem("media-type", f"Content-Type: must be {' or '.join(taken)}")


def media_of(request: Request) -> str:
    """Return the media type of a body, "" if the caller names none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()
