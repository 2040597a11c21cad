"""The route of agents: MCP over HTTP, in both eras of the protocol, without sessions, so that any replica answers.

The door has checked the key, the host and the origin before the SDK sees a request. The SDK cancels a call when its
client goes.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from typing import Any, Self, cast

from fastapi import Request
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from querymill.agents.access import Access, Running
from querymill.agents.server import Context, serve_tools
from querymill.agents.tools import faults
from querymill.gateway.http import problems
from querymill.gateway.http.context import caller_of, context_of
from querymill.gateway.http.languages import in_callers_locale
from querymill.gateway.http.middleware import MAX_BODY
from querymill.gateway.http.submitting import submit_job
from querymill.keys import Scope as KeyScope
from querymill.presenting.places import Place
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import PLAIN

PATH = "/mcp"


class KeyAccess:
    """The access that the key of a request gives."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._caller = caller_of(request)
        self._options = PLAIN

    @property
    def scopes(self) -> frozenset[KeyScope]:
        """The scopes of the key."""
        return self._caller.scopes

    async def collections(self) -> Mapping[str, Sequence[Retriever]]:
        """Return the stored collections that the key may see."""
        found = await context_of(self._request).mill.collections()
        return {name: kinds for name, kinds in found.items() if self._caller.sees(name)}

    def may_name(self, collection: str) -> bool:
        """Whether the key may see a collection."""
        return self._caller.sees(collection)

    async def writes_answers(self) -> bool:
        """Return whether a chat model writes answers."""
        return await context_of(self._request).mill.writes_answers()

    async def submit(self, request: JobRequest) -> Running:
        """Submit a job.

        Raises:
            Problem: The key may not.
        """
        return await submit_job(self._request, in_callers_locale(self._request, request), self._options)

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """Return the same access, whose jobs have these labels."""
        other = copy(self)
        other._options = self._options.labelled(labels)  # noqa: SLF001  # of this class
        return other

    def link(self, place: Place) -> str:
        """Return the address of a place in the console."""
        return f"{str(self._request.base_url).rstrip('/')}{place.link}"


@asynccontextmanager
async def _opened(context: Context) -> AsyncIterator[Access]:
    """Open the access of a request, and hold a place for it: a call waits."""
    request = cast("Request", context.request)
    async with context_of(request).waiting(caller_of(request)):
        yield KeyAccess(request)


def _explained(error: Exception) -> str | None:
    said = faults.sentence_of(error)
    problem = problems.of(error)
    return problem.detail if problem is not None and (said is None or isinstance(error, problems.Problem)) else said


class AgentRoom:
    """The MCP server of one gateway. It runs for as long as the gateway does."""

    def __init__(self) -> None:
        server: Any = serve_tools(_opened, explains=_explained)
        self._manager = StreamableHTTPSessionManager(server, stateless=True, max_request_body_size=MAX_BODY)
        self.running = self._manager.run
        # There are no sessions: a stream of a GET would hold its connection and never say anything. The protocol lets a
        # server refuse it.
        self.route = Route(PATH, endpoint=self, methods=["POST"], include_in_schema=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._manager.handle_request(scope, receive, send)
