"""The door's own rules."""

import asyncio
import socket
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from querymill.gateway import server
from querymill.gateway.http import middleware
from querymill.gateway.http.middleware import host_name, limit_of
from querymill.gateway.http.problems import Problem
from querymill.gateway.http.submitting import read_idempotency_key
from querymill.gateway.server import is_loopback
from querymill_shared.settings import Settings
from tests.fixtures.gateways import GatewayHere

#: Nothing here reaches the board: the gateway answers before, or the test fails.
NOWHERE = Settings(redis_url="redis://127.0.0.1:1/0")


@pytest.mark.parametrize(
    ("host", "name"), [("A.example:80", "a.example"), ("[::1]:8080", "::1"), ("127.0.0.1", "127.0.0.1"), ("", "")]
)
def test_a_host_is_known_by_its_name(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("a.example", False),
    ],
)
def test_only_loopback_needs_no_key(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_only_uploads_may_be_large() -> None:
    assert limit_of({"method": "POST", "path": "/v1/collections/c/reports"}) == middleware.MAX_UPLOAD
    assert limit_of({"method": "POST", "path": "/v1/jobs"}) == middleware.MAX_BODY


@pytest.mark.parametrize(
    ("written", "key"), [("a", "a"), ('"a b"', None), ('"a"', "a"), (None, None), ("x" * 255, "x" * 255), ('"', '"')]
)
def test_an_idempotency_key_is_bare_or_quoted(written: str | None, key: str | None) -> None:
    if written is not None and key is None:
        with pytest.raises(Problem):
            read_idempotency_key(written)
    else:
        assert read_idempotency_key(written) == key


@pytest.mark.parametrize("written", ["", "x" * 256, "ä", "a b", '""'])
def test_anything_else_is_no_idempotency_key(written: str) -> None:
    if written == '""':
        assert read_idempotency_key(written) == '""'  # two visible characters
        return
    with pytest.raises(Problem):
        read_idempotency_key(written)


@pytest.mark.parametrize(
    ("length", "slug"), [("9" * 5_000, "too-large"), ("10000001", "too-large"), ("10000000", None), ("²", None)]
)
def test_a_length_that_no_number_holds_is_too_large(length: str, slug: str | None) -> None:
    scope = {"method": "POST", "path": "/v1/jobs", "query_string": b"", "headers": []}
    try:
        middleware._check_sizes(scope, Headers({"content-length": length}))
        refused = None
    except Problem as problem:
        refused = problem.slug
    assert refused == slug


def test_who_does_not_say_what_they_want_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    with GatewayHere(NOWHERE) as gateway:
        at = (httpx.URL(gateway.url).host, httpx.URL(gateway.url).port)
        for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(at) as client:
                client.settimeout(60)
                client.sendall(begun)
                received = b""
                while part := client.recv(4_096):
                    received += part
            assert b"408 Request Timeout" in received


def test_a_body_that_comes_too_slowly_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "SLOW_S", 0.2)

    async def receive() -> Any:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def silent() -> Any:
        await asyncio.sleep(60)

    async def run(receive: Any) -> str:
        body = middleware._Body(receive, 1_000, {})
        try:
            while True:
                await body()
        except Problem as problem:
            return problem.slug

    assert asyncio.run(run(receive)) == "too-slow"
    assert asyncio.run(run(silent)) == "too-slow"


def test_a_board_that_is_away_is_503_and_named_to_nobody() -> None:
    with GatewayHere(NOWHERE) as gateway:
        found = httpx.get(f"{gateway.url}/v1/jobs", timeout=60)
        assert (found.status_code, found.json()["detail"]) == (503, "the board is not reachable")
        assert found.headers["Retry-After"] == "1"
        assert httpx.get(f"{gateway.url}/readyz", timeout=60).status_code == 503
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200
