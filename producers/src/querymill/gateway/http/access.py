"""The access log and the request metrics: each request by its route, method, status and time. Callers choose none."""

import logging
import time
from dataclasses import dataclass, field
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from querymill.gateway.http.log_lines import ACCESS

_log = logging.getLogger(ACCESS)

#: The label of a request that no route serves, and of a method that none has.
UNMATCHED, OTHER = "unmatched", "other"
METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
CLASSES: Final = ("2xx", "3xx", "4xx", "5xx")
#: What the access log calls a request whose caller has gone before an answer began; HTTP has no status for it.
CALLER_LEFT: Final = 499
#: Upper bounds, in seconds. A request may wait for its job.
BOUNDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(slots=True)
class Served:
    """A request on its way: since when (monotonic s), and what its answer began with, and when."""

    request_id: str
    method: str
    came_at: float = field(default_factory=time.monotonic)
    status: int = CALLER_LEFT
    begun_at: float | None = None

    def begin(self, status: int) -> None:
        """Note the status of an answer that begins now."""
        self.status, self.begun_at = status, time.monotonic()


class RequestMetrics:
    """How many requests this process has served, and how long their answers took to begin."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.requests = Counter(
            "querymill_gateway_requests",
            "Requests that this gateway has served, by the class of their status",
            ("route", "method", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "querymill_gateway_request_seconds",
            "Seconds from a request to the beginning of its answer",
            ("route", "method"),
            buckets=BOUNDS,
            registry=registry,
        )
        self._known: set[tuple[str, str]] = set()

    def note(self, scope: Scope, served: Served) -> None:
        """Count a request that is over, and log one line about it."""
        route = template_of(scope)
        method = served.method if served.method in METHODS else OTHER
        if (route, method) not in self._known:
            self._known.add((route, method))
            for status in CLASSES:  # the first error of a route must be seen as an increase
                self.requests.labels(route, method, status)
        self.requests.labels(route, method, f"{served.status // 100}xx").inc()
        ended_at = time.monotonic()
        self.seconds.labels(route, method).observe((served.begun_at or ended_at) - served.came_at)
        caller = scope["state"].get("caller")
        line: dict[str, Any] = {
            "method": method,
            "route": route,
            "status": served.status,
            "ms": round((ended_at - served.came_at) * 1000, 1),
            "key": "" if caller is None else caller.id,
            "request_id": served.request_id,
        }
        if job_id := scope["state"].get("job_id"):
            line["job"] = job_id
        _log.info("request", extra={"fields": line})


def template_of(scope: Scope) -> str:
    """Return the path of the route that serves a request, with names in braces for what callers choose."""
    if "route" in scope:
        return str(scope["route"].path)
    app = scope.get("app")
    routes: list[BaseRoute] = [] if app is None else [*app.state.routes, *app.router.routes]
    for route in routes:
        path = getattr(route, "path", None)
        if path and route.matches({**scope, "method": "GET"})[0] is not Match.NONE:
            return str(path)
    return UNMATCHED
