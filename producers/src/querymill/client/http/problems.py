"""What a gateway answers when it cannot do what is asked, as the errors of the client."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from querymill_shared.contracts.errors import (
    AccessDenied,
    IdempotencyConflict,
    InvalidRequest,
    JobCancelled,
    JobFailed,
    Overloaded,
    QuerymillError,
    TooManyRequests,
    Unavailable,
    UnexpectedReply,
    UnknownJob,
    UnreadableJob,
)

#: Statuses of a gateway, or of a proxy before it, after which the same request may succeed.
PASSING: Final = frozenset((408, 429, 502, 503, 504))
_AWAY: Final = "the gateway cannot be reached just now; try again later"
Problem = Mapping[str, Any]
#: What is told of the reply of another program, in characters.
_TOLD_CHARS: Final = 200


def problem_of(response: httpx2.Response) -> Problem:
    """Return the problem details of a response, {} if it has none."""
    if "json" not in response.headers.get("content-type", ""):
        return {}
    try:
        body = json.loads(response.content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def slug_of(problem: Problem) -> str:
    """Return the type of a problem."""
    return str(problem.get("type", "")).rpartition("/problems/")[2]


def retry_after_s(response: httpx2.Response) -> float | None:
    """Return how long to wait before the next try, None if the response says nothing of it that can be read."""
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def error_of(response: httpx2.Response, *, job_id: str = "") -> QuerymillError:
    """Return the error of a response. ``job_id`` is the job that the request is about."""
    problem = problem_of(response)
    about = f"{response.request.method} {response.request.url.path}: {response.status_code}"
    detail = f"{about} {problem.get('detail') or problem.get('title') or response.text[:_TOLD_CHARS]}".strip()
    if problem.get("request_id"):
        detail += f" (request {problem['request_id']})"
    slug, about_job = slug_of(problem), problem.get("job_id") or job_id
    made = _MADE.get(slug)
    if made is not None:
        return made(problem, response, about_job)
    if slug == "not-found" and job_id:
        return UnknownJob(job_id)
    return Unavailable(_AWAY, detail=detail) if response.status_code in PASSING else UnexpectedReply(detail)


def unreachable(error: httpx2.HTTPError, url: str) -> Unavailable:
    """Return the error of a gateway that does not respond."""
    return Unavailable(_AWAY, detail=f"gateway {url}: {type(error).__name__} {error}".strip())


def _of_rules(problem: Problem, *_: object) -> QuerymillError:
    broken = [each for each in problem.get("errors") or () if isinstance(each, dict)]
    errors = [(str(each.get("field", "request")), str(each.get("rule", ""))) for each in broken]
    return InvalidRequest(*(errors or [("request", str(problem.get("detail", "breaks a rule")))]))


def _of_conflict(_: Problem, response: httpx2.Response, job_id: str) -> QuerymillError:
    return IdempotencyConflict(response.request.headers.get("Idempotency-Key", ""), job_id)


def _of_failed(problem: Problem, _: httpx2.Response, job_id: str) -> QuerymillError:
    said = str(problem.get("detail", ""))
    if "state" not in problem:
        return UnreadableJob(job_id, said)
    return JobFailed(job_id, f"failed: {said}", code=problem.get("code"))


def _of_denied(problem: Problem, response: httpx2.Response, _: str) -> QuerymillError:
    return AccessDenied(f"{response.request.method} {response.request.url.path}: {problem.get('detail', '')}")


#: What makes the error of a problem, by its type.
_MADE: Final[Mapping[str, Callable[[Problem, httpx2.Response, str], QuerymillError]]] = {
    "invalid": _of_rules,
    "event-id": _of_rules,
    "idempotency-conflict": _of_conflict,
    "overloaded": lambda _, response, __: Overloaded(retry_after_s(response) or 1.0),
    "job-failed": _of_failed,
    "job-cancelled": lambda _, __, job_id: JobCancelled(job_id, "was cancelled"),
    "unauthorized": _of_denied,
    "forbidden": _of_denied,
    "origin": _of_denied,
    "host": _of_denied,
    "rate": lambda _, response, __: TooManyRequests(retry_after_s(response) or 1.0),
    "concurrency": lambda _, response, __: TooManyRequests(retry_after_s(response) or 1.0),
}
