"""Errors as problem details (RFC 9457): what is wrong, in which field, by which rule. They repeat no input."""

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

from querymill_shared.board.away import BoardRefuses
from querymill_shared.contracts.errors import (
    ClientClosed,
    IdempotencyConflict,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    Overloaded,
    Unavailable,
    UnknownCollection,
    UnknownJob,
    UnreadableJob,
    first_errors,
    rule_text,
)
from querymill_shared.urls import mask_text

MEDIA_TYPE: Final = "application/problem+json"
_FIELD_IN_FRONT: Final = re.compile(r"(?P<field>[a-z_]+(?:\.[a-z_0-9]+)*)(?:: | \()")
#: A field that a caller made up is named up to this many characters.
NAMED_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A type of problem: its status, its title, and what its page says."""

    status: int
    title: str
    about: str


#: Every type of problem by its slug.
KINDS: Final[Mapping[str, ProblemType]] = {
    "invalid": ProblemType(
        422, "A field breaks a rule", "`errors` names each field and its rule. Nothing was enqueued."
    ),
    "framing": ProblemType(
        400, "The body has two lengths", "Send either `Content-Length` or `Transfer-Encoding`, not both."
    ),
    "event-id": ProblemType(400, "This is no id of an event", "`Last-Event-ID` must be an id that the stream gave."),
    "not-acceptable": ProblemType(
        406, "No answer of this media type", "The `Accept` header allows nothing that the route answers."
    ),
    "media-type": ProblemType(
        415, "A body of this media type is not read", "Send the media type that the route names."
    ),
    "unreadable": ProblemType(
        422,
        "The document cannot be read",
        "`detail` says why: encrypted, scanned, broken, too long. Nothing was stored.",
    ),
    "too-large": ProblemType(
        413, "The body is too large", "JSON up to 10 MB, a document up to 256 MiB, lines up to 2 GB."
    ),
    "address-too-long": ProblemType(414, "The address is too long", "An address may have up to 8 kB."),
    "headers-too-large": ProblemType(431, "The headers are too large", "All headers together may have up to 16 kB."),
    "too-slow": ProblemType(408, "The request came too slowly", "A body must come at 1 kB/s or faster."),
    "unauthorized": ProblemType(401, "A valid API key is needed", "Send it as `Authorization: Bearer …`."),
    "forbidden": ProblemType(403, "The key lacks a scope", "`detail` names the scope."),
    "origin": ProblemType(
        403, "Pages of this origin may not call", "QUERYMILL_CORS_ORIGINS lists the origins that may."
    ),
    "host": ProblemType(
        421, "The gateway is not called by this name", "QUERYMILL_HOSTS lists the names that it is called by."
    ),
    "not-found": ProblemType(404, "Not Found", "There is nothing here, or nothing that this key may see."),
    "method": ProblemType(405, "The route has no such method", "`Allow` names those that it has."),
    "idempotency-conflict": ProblemType(409, "The idempotency key was used for another request", "Use a new key."),
    "rate": ProblemType(429, "Too many requests", "Try again after `Retry-After` seconds."),
    "budget": ProblemType(
        429, "The key's budget of today is used up", "`Retry-After` says when the next day of UTC begins, in seconds."
    ),
    "concurrency": ProblemType(
        429, "Too many requests at once", "Requests that wait and streams count. Let one of them end."
    ),
    "job-failed": ProblemType(
        424, "The job failed", "`code` and `detail` say why. Sent again, the request is a new job."
    ),
    "job-cancelled": ProblemType(410, "The job was cancelled", "It has no result."),
    "late": ProblemType(504, "No result in time", "The job continues; `links` leads to it."),
    "overloaded": ProblemType(
        503, "Too much work waits", "No worker could begin it before its deadline. Nothing was enqueued."
    ),
    "unavailable": ProblemType(503, "Not available just now", "Try again after `Retry-After` seconds."),
    "no-room": ProblemType(
        507,
        "No room for the document",
        "The gateway stores a document while it reads it: the folder that its TMPDIR names (else /tmp) is full or is"
        " not writable. JSON lines need no folder. Nothing was enqueued.",
    ),
    "bug": ProblemType(500, "A defect of the gateway", "Its log has the `request_id`."),
}


class BrokenRule(BaseModel):
    """A field and the rule that it breaks."""

    field: str = Field(description="the field, with a dot before each name or number below it")
    rule: str = Field(description="the rule, in words")


class ProblemBody(BaseModel):
    """A problem as it is answered. What is not known of it is left out.

    Attributes:
        type: address of the page that explains this type of problem
        title: what every problem of this type is, in words
        status: HTTP status of the response
        detail: what is wrong with this request, in words
        errors: the fields that break rules, each with its rule
        request_id: id of the request, as the log of the gateway has it
        job_id: id of the job that the problem is about
        state: state of that job
        code: why that job has no result, such as `deadline`
        links: addresses of that job
    """

    type: str = Field(examples=["/problems/invalid"])
    title: str
    status: int
    detail: str
    errors: list[BrokenRule] = Field(default_factory=list)
    request_id: str
    job_id: str | None = None
    state: str | None = None
    code: str | None = None
    links: dict[str, str] = Field(default_factory=dict)


class Problem(Exception):
    """Raised to answer a problem. ``more`` are further members of its body."""

    def __init__(
        self,
        slug: str,
        detail: str = "",
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(slug)
        self.slug = slug
        self.detail = detail or KINDS[slug].about
        self.errors = errors
        self.headers = dict(headers or {})
        self.more = dict(more or {})


def invalid(*errors: tuple[str, str]) -> Problem:
    """Return the problem of fields that break rules."""
    return Problem("invalid", "; ".join(f"{field}: {rule}" for field, rule in errors), errors=errors)


def not_found() -> Problem:
    """Return the one answer for what does not exist and for what a key may not see."""
    return Problem("not-found")


def no_collection(*, is_under_way: bool = False) -> Problem:
    """Return the one answer for a collection that holds nothing of a kind and for one that a key may not see.

    To a key that may see it, ``is_under_way`` says that an ingestion has not ended.
    """
    rule = "holds nothing of this kind that the key may see"
    if is_under_way:
        rule = "holds nothing of this kind yet: an ingestion into it is under way; ask again when it has ended"
    return Problem("not-found", f"collection: {rule}", errors=[("collection", rule)])


def expired(at: float) -> Problem:
    """Return the problem of a key that was valid until a time (s since the epoch)."""
    day = datetime.fromtimestamp(at, UTC)
    said = f"the key expired on {day:%Y-%m-%d} at {day:%H:%M} UTC; ask for a new one"
    return Problem("unauthorized", said, headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})


def unavailable(detail: str, *, retry_after_s: float = 1.0) -> Problem:
    """Return the problem of a gateway that cannot answer just now."""
    return Problem("unavailable", detail, headers={"Retry-After": str(math.ceil(retry_after_s))})


def respond(problem: Problem, request_id: str) -> JSONResponse:
    """Make the response of a problem."""
    return JSONResponse(
        body_of(problem, request_id), KINDS[problem.slug].status, problem.headers, media_type=MEDIA_TYPE
    )


def body_of(problem: Problem, request_id: str) -> dict[str, Any]:
    """Return a problem as it is answered: see `ProblemBody`."""
    kind = KINDS[problem.slug]
    body: dict[str, Any] = {
        "type": f"/problems/{problem.slug}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail,
        "request_id": request_id,
    }
    if problem.errors:
        body["errors"] = [{"field": field, "rule": rule} for field, rule in problem.errors]
    return body | problem.more


def respond_to(scope: Mapping[str, Any], problem: Problem) -> Response:
    """Make the response of a problem to the request of a scope."""
    return respond(problem, scope.get("state", {}).get("request_id", ""))


def of(error: Exception) -> Problem | None:
    """Return what an error is over HTTP, or None if it is a defect."""
    return next((make(error) for kind, make in _MADE.items() if isinstance(error, kind)), None)


def of_rules(error: ValidationError | RequestValidationError, *, below: Container[Any] = ()) -> Problem:
    """Return the problem of what breaks rules. A first name of a place that is ``below`` is left out."""
    if isinstance(error, RequestValidationError):
        return invalid(*(rule_of(entry, ("body", "query", "path", "header")) for entry in error.errors()[:20]))
    return invalid(*(rule_of(entry, below) for entry in first_errors(error, 20)))


def rule_of(entry: Mapping[str, Any], below: Container[Any]) -> tuple[str, str]:
    """Return the field and the rule of an entry of a validation error."""
    place = entry["loc"][1:] if entry["loc"] and entry["loc"][0] in below else entry["loc"]
    named = ".".join(str(part) for part in place)[:NAMED_CHARS]
    field = "".join(character for character in named if character.isprintable())
    if entry["type"] == "union_tag_not_found":
        return "kind", "Field required"
    if entry["type"] == "union_tag_invalid":
        # Its own message repeats the input.
        return "kind", f"must be one of: {entry['ctx']['expected_tags']}"
    rule = rule_text(entry)
    # A rule about several fields names its own field in front: "judge: needs …", "candidates (5) must …".
    named_in_front = _FIELD_IN_FRONT.match(rule)
    if not field and named_in_front is not None:
        return named_in_front["field"], rule.removeprefix(f"{named_in_front['field']}: ")
    return field or "request", rule


def of_failed_job(job_id: str, state: str, reason: str, code: str | None, *, may_be_repeated: bool) -> Problem:
    """Return the problem of a job that failed.

    If its request ``may_be_repeated``, which makes a new job, and a store was away, that may succeed later.
    """
    more = {"job_id": job_id, "state": state, "code": code, "links": links_of(job_id)}
    if may_be_repeated and code == "store_down":
        return Problem("unavailable", mask_text(reason), headers={"Retry-After": "1"}, more=more)
    return Problem("job-failed", mask_text(reason), more=more)


def _of_job_failed(error: Any) -> Problem:
    return of_failed_job(error.job_id, "failed", error.reason, error.code, may_be_repeated=True)


def _of_job_cancelled(error: Any) -> Problem:
    more = {"job_id": error.job_id, "state": "cancelled", "links": links_of(error.job_id)}
    return Problem("job-cancelled", more=more)


def _of_unreadable(error: Any) -> Problem:
    return Problem("job-failed", f"this release cannot read the job: {error.reason}")


def _of_overloaded(error: Any) -> Problem:
    after = str(math.ceil(error.retry_after_s))
    return Problem("overloaded", mask_text(str(error)), headers={"Retry-After": after})


def _of_http(error: Any) -> Problem:
    slug = next((slug for slug, kind in KINDS.items() if kind.status == error.status_code), "bug")
    return Problem(slug, headers=error.headers)


def _of_board(error: Any) -> Problem:
    # Its own text names hosts and ports, which callers need not know.
    return unavailable(
        "the board takes no jobs now" if isinstance(error, BoardRefuses) else "the board is not reachable"
    )


_MADE: Final[Mapping[type[Exception], Callable[[Any], Problem]]] = {
    Problem: lambda error: error,
    InvalidRequest: lambda error: invalid(*error.errors),
    UnknownCollection: lambda _: no_collection(),
    UnknownJob: lambda _: not_found(),
    UnreadableJob: _of_unreadable,
    IdempotencyConflict: lambda _: Problem("idempotency-conflict"),
    Overloaded: _of_overloaded,
    JobFailed: _of_job_failed,
    JobCancelled: _of_job_cancelled,
    ClientClosed: lambda _: unavailable("the gateway is stopping"),
    TimeoutError: lambda _: Problem("late"),
    Unavailable: _of_board,
    RequestValidationError: of_rules,
    ValidationError: of_rules,
    HTTPException: _of_http,
}


def links_of(job_id: str) -> dict[str, str]:
    """Return the addresses of a job."""
    at = f"/v1/jobs/{job_id}"
    return {"self": at, "events": f"{at}/events", "result": f"{at}/result", "console": f"/console/jobs/{job_id}"}


def register(app: FastAPI, respond_with: Callable[[Any, Problem], Response]) -> None:
    """Answer every known error as a problem, in the form that its caller reads."""

    async def answer(request: Request, error: Exception) -> Response:
        problem = of(error)
        if problem is None:
            raise error
        if problem.slug == "method":
            # Of a route that is not listed, such as that of agents, the framework names the methods.
            problem.headers["Allow"] = ", ".join(allowed(request)) or problem.headers.get("Allow", "")
        return respond_with(request.scope, problem)

    for kind in _MADE:
        app.add_exception_handler(kind, answer)


def allowed(request: Request) -> list[str]:
    """Return every method of the path of a request. The framework knows those of one route only."""
    found: set[str] = set()
    for route in request.app.state.routes:
        if route.matches({**request.scope, "method": "GET"})[0].value:
            found.update(route.methods or ())
    if "GET" in found:
        found.add("HEAD")
    return sorted(found)
