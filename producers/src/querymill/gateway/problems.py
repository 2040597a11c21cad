"""Errors as problem details (RFC 9457): what is wrong, in which field, by which rule."""

from collections.abc import Sequence
from typing import Any

import redis
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from querymill_shared.addresses import mask_text
from querymill_shared.contracts.errors import (
    IdempotencyConflict,
    JobCancelled,
    JobFailed,
    UnknownCollection,
    UnknownJob,
)

MEDIA_TYPE = "application/problem+json"
#: What each error means over HTTP. A job that failed did so behind us: a provider or a store was away.
STATUS: dict[type[Exception], tuple[int, str]] = {
    UnknownCollection: (404, "Unknown collection"),
    UnknownJob: (404, "Unknown job"),
    IdempotencyConflict: (409, "Idempotency key used for another request"),
    JobFailed: (502, "The job failed"),
    JobCancelled: (410, "The job was cancelled"),
    TimeoutError: (504, "No result in time"),
    redis.ConnectionError: (503, "The board is not reachable"),
    redis.TimeoutError: (503, "The board is not reachable"),
}


def register(app: FastAPI) -> None:
    """Turn every error of Querymill into a problem response."""
    for kind in STATUS:
        app.add_exception_handler(kind, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(ValidationError, _invalid)
    app.add_exception_handler(HTTPException, _of_http)


def problem(status: int, title: str, detail: str, **more: Any) -> JSONResponse:
    """Build a problem."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail} | more
    return JSONResponse(body, status, media_type=MEDIA_TYPE)


async def _ours(_: Request, error: Exception) -> JSONResponse:
    status, title = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    match error:
        case redis.ConnectionError() | redis.TimeoutError():
            said = title  # its own text names hosts and ports, which callers need not know
        case UnknownCollection():
            said = error.reason  # other collections may be other tenants'
        case _:
            said = mask_text(str(error))
    return problem(status, title, said)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    found: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError | ValidationError) else ()
    errors = [{"field": _field(part["loc"]), "rule": part["msg"]} for part in found]
    detail = "; ".join(f"{part['field']}: {part['rule']}" for part in errors)
    return problem(422, "The request breaks a rule", detail, errors=errors)


async def _of_http(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = str(error.detail) if isinstance(error, HTTPException) else "internal error"
    return problem(status, said, said)


def _field(place: Sequence[Any]) -> str:
    return ".".join(str(part) for part in place if part != "body") or "request"
