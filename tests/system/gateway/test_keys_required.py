"""Keys that are required stay required, whatever the board has lost; a session ends with the secret it began with."""

import importlib.util
import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
import redis

from querymill.cli.doctor import diagnose
from querymill.cli.probing import DoctorFinding
from querymill.gateway.app import create_app
from querymill.gateway.http.context import SESSION_S
from querymill.gateway.server import UnguardedHost, serve
from querymill.keys import STORED_AT, Keyring, Scope
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, gateway_process, keys_on
from tests.fixtures.short_forms import all_at_night

MCP = {"Accept": "application/json, text/event-stream"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
#: A request at each kind of door: API, document, deletion, events, metrics, agents, OpenAI's routes, the console.
DOORS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("GET", "/v1/jobs", {}),
    ("GET", "/v1/collections/filings/reports/r1", {}),
    ("DELETE", "/v1/collections/filings/reports/r1", {}),
    (
        "POST",
        "/v1/collections/filings/reports",
        {"content": b"{}", "headers": {"Content-Type": "application/x-ndjson"}},
    ),
    ("POST", "/v1/jobs", {"json": {"kind": "reports", "query": "x", "collection": "filings"}}),
    ("GET", f"/v1/jobs/{'0' * 32}/events", {"headers": {"Accept": "text/event-stream"}}),
    ("GET", f"/v1/batches/{'0' * 32}", {}),
    ("GET", "/v1/fleet", {}),
    ("GET", "/metrics", {}),
    ("POST", "/mcp", {"json": CALL, "headers": MCP}),
    ("GET", "/mcp", {"headers": {"Accept": "text/event-stream"}}),
    ("GET", "/v1/models", {}),
    ("POST", "/v1/chat/completions", {"json": {"model": "filings", "messages": [{"role": "user", "content": "x"}]}}),
    ("POST", "/api/chat/vectors", {"json": {"query": "x", "collection": "filings"}}),
    ("GET", "/console", {}),
    ("GET", "/console/jobs", {}),
    ("POST", "/console/dead", {"data": {"do": "drop"}}),
    ("GET", f"/console/jobs/{'0' * 32}/events", {}),
)
PROXY = {
    "Forwarded": "for=203.0.113.9;proto=https",
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "https",
    "x-forwarded-host": "api.example.com",
    "Via": "1.1 nginx",
    "X-Real-IP": "203.0.113.9",
    "CF-Connecting-IP": "203.0.113.9",
}


@pytest.fixture
def settings(deployment: Deployment) -> Iterator[Settings]:
    """A board of its own, which has no keys and no data."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/11"
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield deployment.settings.model_copy(update={"redis_url": url})
        server.flushdb()


def lose_everything(settings: Settings) -> None:
    with redis.Redis.from_url(settings.redis_url) as server:
        server.flushdb()


def answers(url: str, headers: dict[str, str]) -> dict[str, int]:
    """The status of each door for a caller without a key. The console sends visitors to its sign-in page by 303."""
    found = {}
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as http:
        for method, path, sent in DOORS:
            with http.stream(method, path, **sent | {"headers": headers | sent.get("headers", {})}) as answer:
                is_page = path.startswith("/console") and answer.headers.get("location", "").startswith(
                    "/console/sign-in"
                )
                found[f"{method} {path}"] = 401 if is_page else answer.status_code
    return found


def all_refused() -> dict[str, int]:
    return dict.fromkeys((f"{method} {path}" for method, path, _ in DOORS), 401)


def with_key(settings: Settings) -> dict[str, str]:
    with closing(Keyring.connect(settings)) as keyring:
        _, written = keyring.add("all", scopes=list(Scope), collections=["*"])
    return {"Authorization": f"Bearer {written}"}


@pytest.mark.parametrize(
    "ruled",
    [
        {"querymill_keys_required": True},
        {"querymill_hosts": ["api.example.com", "127.0.0.1"]},
    ],
    ids=["setting", "hosts"],
)
def test_where_keys_are_required_a_board_without_keys_opens_no_door(settings: Settings, ruled: dict[str, Any]) -> None:
    settings = settings.model_copy(update=ruled)
    host = {"Host": "api.example.com"} if "querymill_hosts" in ruled else {}
    with GatewayHere(settings) as gateway:
        assert answers(gateway.url, host) == all_refused()
        key = with_key(settings)
        assert httpx.get(f"{gateway.url}/v1/jobs", headers=key | host).status_code == 200
        lose_everything(settings)
        assert answers(gateway.url, host) == all_refused()
        assert httpx.get(f"{gateway.url}/v1/jobs", headers=key | host).status_code == 401
    with GatewayHere(settings) as gateway:  # started again: a deployment, a reboot
        assert answers(gateway.url, host) == all_refused()


@pytest.mark.parametrize("header", all_at_night(PROXY, short=["Forwarded", "X-Forwarded-For"]))
def test_a_request_that_came_through_a_proxy_needs_a_key_and_so_do_all_after_it(
    settings: Settings, header: str
) -> None:
    with GatewayHere(settings) as gateway:
        assert httpx.get(f"{gateway.url}/v1/jobs").status_code == 200
        assert httpx.get(f"{gateway.url}/v1/jobs", headers={header: PROXY[header]}).status_code == 401
        assert answers(gateway.url, {}) == all_refused()


def test_a_probe_through_a_proxy_counts_too(settings: Settings) -> None:
    with GatewayHere(settings) as gateway:
        assert httpx.get(f"{gateway.url}/healthz", headers={"X-Forwarded-For": "203.0.113.9"}).status_code == 200
        assert httpx.get(f"{gateway.url}/v1/jobs").status_code == 401


def test_a_name_that_is_not_loopback_opens_nothing(settings: Settings) -> None:
    with GatewayHere(settings) as gateway:
        assert not {200, 202} & set(answers(gateway.url, {"Host": "api.example.com"}).values())


def test_a_gateway_that_began_with_keys_never_opens_even_if_nobody_called_before_they_vanished(
    settings: Settings,
) -> None:
    with_key(settings)
    with GatewayHere(settings) as gateway:
        lose_everything(settings)
        assert answers(gateway.url, {}) == all_refused()


def test_the_lack_of_keys_is_said_by_the_probe_and_the_log(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    settings = settings.model_copy(update={"querymill_keys_required": True})
    with GatewayHere(settings) as gateway:
        for _ in range(3):
            found = httpx.get(f"{gateway.url}/readyz", timeout=PATIENCE_S)
            assert (found.status_code, "querymill keys add" in found.json()["detail"]) == (503, True)
            assert httpx.get(f"{gateway.url}/v1/jobs").status_code == 401
        said = [line for line in caplog.messages if "querymill keys add" in line]
        assert len(said) == 1, "once is enough"
        with_key(settings)
        assert httpx.get(f"{gateway.url}/readyz").json() == {"status": "ready"}
        assert httpx.get(f"{gateway.url}/healthz").status_code == 200


def test_the_doctor_says_that_keys_are_required_and_none_is_stored(
    settings: Settings, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)  # what workers look at takes seconds each time
    for name, value in (deployment.environment | {"REDIS_URL": settings.redis_url}).items():
        monkeypatch.setenv(name, value)

    def keys(hosts: str = "[]") -> DoctorFinding | None:
        monkeypatch.setenv("QUERYMILL_HOSTS", hosts)
        return next((finding for finding in diagnose() if finding.name == "API keys"), None)

    unasked = keys()
    assert unasked is not None
    assert (unasked.ok, unasked.value) == (None, "none")
    lacking = keys('["api.example.com"]')
    assert lacking is not None
    assert (lacking.ok, "querymill keys add" in lacking.mend) == (False, True)
    with_key(settings)
    for hosts in ("[]", '["api.example.com"]'):
        stored = keys(hosts)
        assert stored is not None
        assert (stored.ok, stored.mend) == (True, "")


def test_a_gateway_as_a_process_stays_closed_behind_a_proxy_after_the_board_lost_its_data(settings: Settings) -> None:
    environment = {"REDIS_URL": settings.redis_url, "QUERYMILL_KEYS_REQUIRED": "true"}
    key = with_key(settings)
    with gateway_process(environment) as gateway:
        assert httpx.get(f"{gateway.url}/v1/jobs", headers=key).status_code == 200
    lose_everything(settings)
    with gateway_process(environment) as gateway:
        assert httpx.get(f"{gateway.url}/v1/jobs", headers=PROXY).status_code == 401
        assert "querymill keys add" in gateway.written


def test_beyond_loopback_a_gateway_still_does_not_start_without_a_key(settings: Settings) -> None:
    with pytest.raises(UnguardedHost, match="querymill keys add"):
        serve(settings, host="0.0.0.0", port=0)


def test_a_gateway_without_keys_on_loopback_is_open_as_before(settings: Settings) -> None:
    with GatewayHere(settings) as gateway, httpx.Client(base_url=gateway.url) as http:
        for host in ("127.0.0.1", "localhost", "localhost:8080", "[::1]:1", "LOCALHOST"):
            assert http.get("/v1/jobs", headers={"Host": host}).status_code == 200
        assert http.get("/readyz").json() == {"status": "ready"}


@pytest.fixture
def keyring(settings: Settings) -> Iterator[Keyring]:
    with keys_on(settings) as keyring:
        yield keyring


class Visitor:
    """A browser that signed in with a key. It keeps nothing but its cookies."""

    def __init__(self, url: str, written: str) -> None:
        self.url = url
        with httpx.Client(base_url=url, timeout=PATIENCE_S) as http:
            token = re.search(r'name="token" value="([0-9a-f]+)"', http.get("/console/sign-in").text)
            assert token is not None
            sent = {"token": token[1], "key": written, "next": "/console"}
            assert http.post("/console/sign-in", data=sent).status_code == 303
            self.cookies = dict(http.cookies)

    def sees(self) -> int:
        """The status of a page: 303 leads back to the sign-in page."""
        return httpx.get(f"{self.url}/console/jobs", cookies=self.cookies, timeout=PATIENCE_S).status_code


def test_a_session_ends_with_the_secret_that_began_it(settings: Settings, keyring: Keyring) -> None:
    key, leaked = keyring.add("leaked", scopes=list(Scope), collections=["*"])
    with GatewayHere(settings) as gateway:
        begun = Visitor(gateway.url, leaked)
        assert begun.sees() == 200
        _, newer = keyring.rotate(key.id, grace_s=0)
        assert begun.sees() == 303
        with_newer = Visitor(gateway.url, newer)
        assert with_newer.sees() == 200
        keyring.revoke(key.id)
        assert with_newer.sees() == 303


def test_a_session_lasts_through_the_grace_of_its_secret_and_no_longer(settings: Settings, keyring: Keyring) -> None:
    key, old = keyring.add("old", scopes=list(Scope), collections=["*"])
    with GatewayHere(settings) as gateway:
        begun = Visitor(gateway.url, old)
        keyring.rotate(key.id, grace_s=600)
        assert begun.sees() == 200
        end_grace(settings, key.id)
        assert begun.sees() == 303


def end_grace(settings: Settings, key_id: str) -> None:
    """Let the time of a rotated secret be over, as the board would find it later."""
    with redis.Redis.from_url(settings.redis_url, decode_responses=True) as server:
        stored = json.loads(str(server.hget(STORED_AT, key_id)))
        for secret in stored["secrets"]:
            secret["until"] = secret["until"] and 1.0
        server.hset(STORED_AT, key_id, json.dumps(stored))


def test_a_session_ends_some_hours_after_the_sign_in_however_busy_it_is(settings: Settings, keyring: Keyring) -> None:
    _, written = keyring.add("busy", scopes=list(Scope), collections=["*"])
    with GatewayHere(settings) as gateway, redis.Redis.from_url(settings.redis_url, decode_responses=True) as server:
        begun = Visitor(gateway.url, written)
        (session,) = (name for name in server.scan_iter("*console*"))
        assert 0 < server.ttl(session) <= SESSION_S
        server.expire(session, 100)
        assert begun.sees() == 200
        assert server.ttl(session) <= 100


def test_a_session_that_names_no_secret_of_its_key_is_none(settings: Settings, keyring: Keyring) -> None:
    """Such as a forger would write who knows the id of a key."""
    key, written = keyring.add("boss", scopes=list(Scope), collections=["*"])
    with GatewayHere(settings) as gateway, redis.Redis.from_url(settings.redis_url, decode_responses=True) as server:
        begun = Visitor(gateway.url, written)
        (session,) = (name for name in server.scan_iter("*console*"))
        for forged in (key.id, f"{key.id} ", f"{key.id} {'0' * 64}", f"{key.id} {'0' * 64} x", " ", ""):
            server.set(session, forged)
            assert begun.sees() == 303


def test_the_rule_holds_for_whoever_makes_the_application(settings: Settings) -> None:
    hosts = settings.model_copy(update={"querymill_hosts": ["api.example.com"]})
    assert create_app(hosts).state.context.keys_required
    assert create_app(settings, keys_required=True).state.context.keys_required
    assert not create_app(settings).state.context.keys_required
