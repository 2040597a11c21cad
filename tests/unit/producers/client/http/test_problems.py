"""What a gateway answers, as the errors of the client."""

import json
from typing import Any

import httpx2
import pytest

from querymill.client.http.exchange import passes
from querymill.client.http.problems import error_of, retry_after_s
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

JOB = "0" * 32


def answered(status: int, slug: str = "", headers: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
    body = {"type": f"/problems/{slug}", "title": "t", "status": status, "detail": "at 10.2.3.4", "request_id": "r"}
    return httpx2.Response(
        status,
        headers={"Content-Type": "application/problem+json"} | (headers or {}),
        content=json.dumps(body | more) if slug else b"<h1>10.2.3.4</h1>",
        request=httpx2.Request("POST", "https://mill/v1/jobs", headers={"Idempotency-Key": "turn-42"}),
    )


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (answered(422, "invalid", errors=[{"field": "top_n", "rule": "too large"}]), InvalidRequest),
        (answered(409, "idempotency-conflict", job_id=JOB), IdempotencyConflict),
        (answered(503, "overloaded", {"Retry-After": "7"}), Overloaded),
        (answered(424, "job-failed", state="failed", code="lost", job_id=JOB), JobFailed),
        (answered(424, "job-failed"), UnreadableJob),
        (answered(410, "job-cancelled", job_id=JOB), JobCancelled),
        (answered(404, "not-found"), UnknownJob),
        (answered(401, "unauthorized"), AccessDenied),
        (answered(403, "forbidden"), AccessDenied),
        (answered(429, "rate", {"Retry-After": "7"}), TooManyRequests),
        (answered(503, "unavailable"), Unavailable),
        (answered(502), Unavailable),
        (answered(404, headers={"Content-Type": "text/html"}), UnknownJob),
        (answered(500, "bug"), UnexpectedReply),
        (answered(200), UnexpectedReply),
        (answered(307), UnexpectedReply),
        (answered(400, "of-another-release"), UnexpectedReply),
    ],
)
def test_a_problem_becomes_the_error_that_the_board_would_raise(
    response: httpx2.Response, kind: type[QuerymillError]
) -> None:
    if kind is UnknownJob and not response.headers["content-type"].endswith("json"):
        kind = UnexpectedReply  # another server than a gateway knows nothing of jobs
    error = error_of(response, job_id=JOB)
    assert type(error) is kind
    assert [secret for secret in ("10.2.3.4", "turn-42") if secret in str(error)] == []


def test_the_rules_that_a_request_breaks_are_named() -> None:
    error = error_of(answered(422, "invalid", errors=[{"field": "top_n", "rule": "must be at most 200"}]))
    assert isinstance(error, InvalidRequest)
    assert (str(error), error.errors) == ("top_n: must be at most 200", (("top_n", "must be at most 200"),))


@pytest.mark.parametrize(
    ("response", "again"),
    [
        (answered(429, "rate"), True),
        (answered(503, "unavailable"), True),
        (answered(504), True),
        (answered(503, "overloaded"), False),  # its caller decides whether a later job is of use
        (answered(504, "late"), False),
        (answered(500, "bug"), False),
        (answered(404, "not-found"), False),
    ],
)
def test_what_passes_is_asked_again(response: httpx2.Response, again: bool) -> None:
    assert passes(response) is again


@pytest.mark.parametrize(
    ("written", "read"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("soon", None), ("nan", None), ("inf", None)]
)
def test_a_pause_is_read(written: str, read: float | None) -> None:
    assert retry_after_s(httpx2.Response(503, headers={"Retry-After": written})) == read
