"""Problems as their readers read them: a page for those who look at the console, problem details for others."""

from typing import Final

from fastapi.responses import Response
from starlette.types import Scope

from querymill.gateway.console.rendering import address, render_in, see
from querymill.gateway.http import problems
from querymill.gateway.http.middleware import is_console
from querymill.gateway.http.problems import KINDS, Problem

#: What goes on while the board is away.
_MEANWHILE: Final = (
    "What workers hold in their hands goes on. Jobs that were accepted are kept by the board. "
    "New ones are refused until it answers."
)


def respond(scope: Scope, problem: Problem) -> Response:
    """Answer a problem."""
    if not is_console(scope["path"]):
        return problems.respond_to(scope, problem)
    if problem.slug == "unauthorized" and scope["method"] == "GET":
        return see(address("sign-in", next=scope["path"] if scope["path"] != "/console" else None))
    kind = KINDS[problem.slug]
    page = render_in(
        scope,
        "problem.html",
        kind.status,
        title=kind.title,
        number=kind.status,
        detail=problem.detail,
        meanwhile=_MEANWHILE if problem.slug == "unavailable" else "",
        request_id=scope.get("state", {}).get("request_id", ""),
    )
    page.headers.update(problem.headers)
    return page
