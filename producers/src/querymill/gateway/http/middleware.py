"""The door: what every request passes before a route sees it, and every response before its caller does.

It is plain ASGI. The framework's own middleware class hides that a client has gone, and keeps streams open at shutdown.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from querymill.gateway.http import problems
from querymill.gateway.http.access import RequestMetrics, Served
from querymill.gateway.http.context import GatewayContext
from querymill.gateway.http.log_lines import REQUEST_ID
from querymill.gateway.http.problems import Problem
from querymill.keys import LOOPBACK_CALLER, ApiKey
from querymill_shared.tracing import span, traceparent_of

_log = logging.getLogger(__name__)

MAX_TARGET: Final = 8_000
MAX_HEADERS: Final = 16_000
#: Digits of the length of a body that is read as a number.
_LENGTH_DIGITS: Final = 15
MAX_BODY, MAX_UPLOAD = 10_000_000, 2_000_000_000
#: A body must come at this many bytes in so many seconds of waiting for it.
SLOW_BYTES, SLOW_S = 20_000, 20.0
#: Where the server leaves the part of a body that came together with the end of its connection.
LAST_PART: Final = "querymill.last_part"
#: Headers that a proxy adds. A request that has one comes from elsewhere, whatever address it is sent from.
_OF_PROXIES: Final = ("forwarded", "via", "x-real-ip", "x-client-ip", "client-ip", "true-client-ip", "cf-connecting-ip")
_OF_PROXIES_BEGIN: Final = ("x-forwarded", "x-envoy-", "x-cluster-client-ip")
LOOPBACK_NAMES: Final = frozenset(("localhost", "127.0.0.1", "::1"))
#: Probes ask by address, and learn nothing.
PROBES: Final = frozenset(("/healthz", "/readyz"))
#: What describes the gateway, or leads to its console, needs no key.
OPEN: Final = frozenset(("/", "/docs", "/docs/style.css", "/openapi.json"))
#: The pages of the console. A cookie says who visits them, and counts nowhere else.
CONSOLE: Final = "/console"
_OPEN_PAGES: Final = (f"{CONSOLE}/sign-in", f"{CONSOLE}/static/")
#: The cookie of a session, over HTTP and over TLS.
SESSION_COOKIES: Final = ("qm_console", "__Host-qm_console")
EXPOSED: Final = "Location, Link, ETag, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed, Request-Id"
_ASKED_HEADERS: Final = "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID"


class GatewayMiddleware:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, context: GatewayContext, respond: Callable[[Scope, Problem], Response],
        metrics: RequestMetrics,
    ) -> None:  # fmt: skip
        self._app = app
        self._context = context
        self._respond = respond
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = uuid4().hex
        served = Served(request_id, scope["method"])
        token = REQUEST_ID.set(request_id)
        is_head = scope["method"] == "HEAD"
        state: dict[str, Any] = {**scope.get("state", {}), "request_id": request_id, "is_head": is_head}
        came, scope = scope, {**scope, "state": state} | ({"method": "GET"} if is_head else {})
        reply = _Reply(send, served)
        with span(
            scope["method"], "SERVER", parent=traceparent_of(Headers(scope=scope).get("traceparent")),
            http__request__method=scope["method"], querymill__request_id=request_id,
        ) as begun:  # fmt: skip
            try:
                answer = await self._enter(scope, reply)
                if answer is None:
                    await self._app(scope, _Body(receive, limit_of(scope), came), reply.send)
                else:
                    await answer(scope, receive, reply.send)
            except ClientDisconnect as error:
                begun.fail(type(error).__name__)  # nobody is there to be answered
            except Exception as error:  # noqa: BLE001  # whatever it is, the caller gets an answer
                begun.fail(type(error).__name__)
                await self._fail(error, scope, receive, reply)
            finally:
                route = getattr(scope.get("route"), "path", None)
                begun.set(http__route=route, http__response__status_code=reply.status)
                self._metrics.note(scope, served)
                REQUEST_ID.reset(token)

    async def _fail(self, error: Exception, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        problem = problems.of(error)
        if problem is None:
            # No traceback: the values in it may be a question.
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = "" if where is None else f"{where.tb_frame.f_code.co_qualname}:{where.tb_lineno}"
            _log.error("request %s failed: %s at %s", reply.request_id, type(error).__name__, place)
            problem = Problem("bug")
        if not reply.has_begun:
            await self._respond(scope, problem)(scope, receive, reply.send)

    async def _enter(self, scope: Scope, reply: "_Reply") -> Response | None:
        """Check a request. Return a response if it needs no route.

        Raises:
            Problem: It may not enter.
        """
        headers = Headers(scope=scope)
        _check_framing(headers)
        _check_sizes(scope, headers)
        if not self._context.keys_required and came_by_proxy(headers):
            self._context.require_keys("a request came through a proxy")
        if scope["path"] in PROBES:
            scope["state"]["caller"] = LOOPBACK_CALLER
            return None
        is_open = scope["path"] in OPEN or scope["path"].startswith(("/problems/", *_OPEN_PAGES))
        known = None if is_open else await self._known(scope["path"], headers)
        self._check_host(headers)
        origin = self._checked_origin(headers)
        if origin:
            reply.extra |= {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED}
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                return _preflight()
        if not is_open:
            scope["state"]["caller"] = caller = self._caller(known)
            reply.extra |= await self._context.rate_limiter.count(caller)
        return None

    async def _known(self, path: str, headers: Headers) -> ApiKey | None:
        """Return whose key a request presents, None if it presents none that is valid."""
        if is_console(path):
            return await self._context.visitor_of(session_of(headers))
        written = headers.get("authorization", "")
        return await self._context.key_of(written[7:].strip() if written[:7].lower() == "bearer " else "")

    def _caller(self, known: ApiKey | None) -> ApiKey:
        if known is not None:
            return known
        if self._context.keys_required:
            raise Problem("unauthorized", headers={"WWW-Authenticate": "Bearer"})
        return LOOPBACK_CALLER

    def _check_host(self, headers: Headers) -> None:
        allowed = frozenset(self._context.settings.querymill_hosts)
        if not allowed and self._context.keys_required:
            return
        if host_name(headers.get("host", "")) not in (allowed or LOOPBACK_NAMES):
            raise Problem("host")

    def _checked_origin(self, headers: Headers) -> str:
        """Return the origin of a page of another host that may call, "" for no page or one of our own."""
        origin = headers.get("origin")
        if origin is None or (origin != "null" and urlsplit(origin).netloc == headers.get("host")):
            return ""
        if origin not in self._context.settings.querymill_cors_origins:
            raise Problem("origin")
        return origin


class _Reply:
    """The way of a response to its caller. ``extra`` are headers that it gets on the way."""

    def __init__(self, send: Send, served: Served) -> None:
        self._send = send
        self._served = served
        self.request_id = served.request_id
        self.has_begun = False
        self.status: int | None = None
        self.extra: dict[str, str] = {}

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.has_begun, self.status = True, message["status"]
            self._served.begin(message["status"])
            headers = MutableHeaders(raw=list(message["headers"]))
            headers.setdefault("Cache-Control", "no-store")
            headers.setdefault("X-Content-Type-Options", "nosniff")
            headers["Request-Id"] = self.request_id
            headers.add_vary_header("Origin")
            for name, value in self.extra.items():
                headers.setdefault(name, value)
            message = {**message, "headers": headers.raw}
        await self._send(message)


class _Body:
    """The way of a body from its caller: not too large, and not too slow."""

    def __init__(self, receive: Receive, limit: int, scope: Scope) -> None:
        self._receive = receive
        self._scope = scope
        self._left = limit
        self._is_over = False
        self._waited_s, self._came = 0.0, 0

    async def __call__(self) -> Message:
        """Return the next part.

        Raises:
            Problem: The body is too large, or comes too slowly.
        """
        if self._is_over:
            return await self._receive()  # the end of the connection
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(SLOW_S):
                message = await self._receive()
            if message["type"] == "http.disconnect":
                message = self._scope.pop(LAST_PART, message)
        except TimeoutError:
            raise _closing("too-slow") from None
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._is_over = True
        size = len(message.get("body", b""))
        self._left -= size
        if self._left < 0:
            raise _closing("too-large")
        self._check_upload_rate(clock() - begun, size)
        return message

    def _check_upload_rate(self, waited_s: float, size: int) -> None:
        self._waited_s, self._came = self._waited_s + waited_s, self._came + size
        if self._waited_s >= SLOW_S:
            if self._came < SLOW_BYTES and not self._is_over:
                raise _closing("too-slow")
            self._waited_s, self._came = 0.0, 0


def came_by_proxy(headers: Headers) -> bool:
    """Return whether a proxy passed a request on."""
    return any(name in _OF_PROXIES or name.startswith(_OF_PROXIES_BEGIN) for name in headers)


def is_console(path: str) -> bool:
    """Return whether a path is that of a page of the console."""
    return path == CONSOLE or path.startswith(f"{CONSOLE}/")


def session_of(headers: Headers) -> str:
    """Return the secret of the session in a request's cookies, "" if there is none."""
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    found = (cookies[name].value for name in reversed(SESSION_COOKIES) if name in cookies)
    return next(found, "")


def _closing(slug: str) -> Problem:
    """Return a problem after which the rest of the body is not read."""
    return Problem(slug, headers={"Connection": "close"})


def limit_of(scope: Mapping[str, Any]) -> int:
    """Return how many bytes the body of a request may have."""
    is_upload = scope["method"] == "POST" and scope["path"].startswith("/v1/collections/")
    return MAX_UPLOAD if is_upload else MAX_BODY


def host_name(host: str) -> str:
    """Return the name in a Host header, without the port and the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _check_framing(headers: Headers) -> None:
    """Refuse a body with two lengths: a proxy in front may have ended it elsewhere (RFC 9112, section 6.3)."""
    if "content-length" in headers and "transfer-encoding" in headers:
        raise _closing("framing")


def _check_sizes(scope: Scope, headers: Headers) -> None:
    target = len(scope.get("raw_path") or scope["path"].encode()) + len(scope["query_string"])
    if target > MAX_TARGET:
        raise Problem("address-too-long")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADERS:
        raise Problem("headers-too-large")
    length = headers.get("content-length", "0")
    # A number of so many digits that it cannot be read is too large in any case.
    if length.isdecimal() and (len(length) > _LENGTH_DIGITS or int(length) > limit_of(scope)):
        raise _closing("too-large")


def _preflight() -> Response:
    asked = {
        "Access-Control-Allow-Methods": "GET, HEAD, POST, DELETE",
        "Access-Control-Allow-Headers": _ASKED_HEADERS,
        "Access-Control-Max-Age": "600",
    }
    return Response(status_code=204, headers=asked)
