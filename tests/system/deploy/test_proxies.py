"""`deploy/proxy`: nginx and Caddy in front of a gateway, as a caller from elsewhere meets them."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
import redis

from querymill import EmbedTexts, TextToEmbed
from querymill.keys import Scope
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.events import Progress
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.front_proxies import SNIPPETS, FrontProxy, front_proxy
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on, read_stream
from tests.fixtures.tallies import until

#: An address of this machine that no server listens on: requests from it are told apart from others.
CALLER = "127.0.0.2"


@pytest.fixture(scope="module")
def settings(deployment: Deployment) -> Iterator[Settings]:
    """A board without workers, for a gateway that requires keys as behind any proxy."""
    url = deployment.settings.redis_url.removesuffix("/2") + "/7"
    with redis.Redis.from_url(url) as server:
        server.flushdb()
        yield deployment.settings.model_copy(update={"redis_url": url, "querymill_keys_required": True})
        server.flushdb()


@pytest.fixture(scope="module")
def gateway(settings: Settings) -> Iterator[GatewayHere]:
    with GatewayHere(settings) as here:
        yield here


@pytest.fixture(scope="module")
def key(settings: Settings) -> Iterator[dict[str, str]]:
    with keys_on(settings) as keyring:
        yield bearer(keyring, "*", scopes=(Scope.SEARCH, Scope.INGEST, Scope.OPERATE))


@pytest.fixture(scope="module", params=SNIPPETS)
def proxy(request: pytest.FixtureRequest, gateway: GatewayHere) -> Iterator[FrontProxy]:
    with front_proxy(request.param, gateway.port) as running:
        yield running


@pytest.fixture
def http(proxy: FrontProxy, key: dict[str, str]) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(verify=proxy.trust, local_address=CALLER)
    with httpx.Client(base_url=proxy.url, headers=key, timeout=PATIENCE_S, transport=transport) as client:
        yield client


def test_each_event_arrives_before_the_next_one_happens(http: httpx.Client, settings: Settings) -> None:
    board = ValkeyBoard.connect(settings)
    job_id = board.submit(EmbedTexts(collection="c", texts=(TextToEmbed(id="a", text="one"),)))[0]
    seen = []
    with http.stream("GET", f"/v1/jobs/{job_id}/events", headers={"Accept": "text/event-stream"}) as answer:
        assert answer.status_code == 200, answer.read()
        for number, event in enumerate(read_stream(answer.iter_lines())):
            seen.append(event.type)
            if number < 20:
                board.append_event(job_id, Progress(stage="embed", done=number, total=20))
            elif number == 20:
                board.settle(job_id, Verdict("cancelled"))
    board.close()
    assert seen == ["queued", *["progress"] * 20, "cancelled"]


def test_an_upload_of_some_megabytes_passes(http: httpx.Client) -> None:
    page = {"page": 1, "text": "nine ships in the harbour " * 4_000}
    lines = [{"sha1": f"r{number}", "title": "Nordhav", "pages": [page]} for number in range(60)]
    body = "\n".join(map(json.dumps, lines))
    assert len(body) > 5_000_000
    headers = {"Content-Type": "application/x-ndjson"}
    sent = http.post("/v1/collections/harbour/reports", content=body, headers=headers)
    assert sent.status_code == 202, sent.text


@pytest.mark.parametrize("path", ["/metrics", "/metrics/", "//metrics", "/%6detrics", "/x/../metrics", "/metrics?a=1"])
def test_metrics_are_for_those_who_ask_the_gateway_itself(
    http: httpx.Client, gateway: GatewayHere, key: dict[str, str], path: str
) -> None:
    direct = httpx.get(f"{gateway.url}/metrics", headers=key, timeout=PATIENCE_S)
    assert "querymill_board_up 1.0" in direct.text
    found = http.get(httpx.URL(str(http.base_url)).copy_with(raw_path=path.encode()))
    assert found.status_code == 404, found.text
    assert "querymill_" not in found.text


def test_only_a_key_lets_in_and_http_leads_to_https(http: httpx.Client, proxy: FrontProxy) -> None:
    assert http.get("/v1/jobs").status_code == 200
    assert http.get("/v1/jobs", headers={"Authorization": "Bearer wrong"}).status_code == 401
    plain = httpx.get(f"{proxy.plain_url}/v1/jobs", follow_redirects=False, timeout=PATIENCE_S)
    assert plain.status_code == 308
    assert plain.headers["location"].startswith("https://localhost")


def test_the_log_of_the_proxy_has_the_address_of_the_caller_and_no_question(
    http: httpx.Client, proxy: FrontProxy, key: dict[str, str]
) -> None:
    question = "how-many-ships"
    # Refused by the proxy itself, by the gateway, and answered.
    assert http.get("/metrics", params={"q": question}).status_code == 404
    assert http.get("/nowhere", params={"q": question}).status_code == 404
    assert http.get("/v1/jobs", params={"collection": question}, headers={"Referer": question}).is_success
    until(lambda: proxy.log.count(CALLER) >= 3, within_s=10)
    assert question not in proxy.log
    assert key["Authorization"].removeprefix("Bearer ") not in proxy.log


@pytest.mark.parametrize("kind", SNIPPETS)
def test_the_gateway_hears_of_the_caller_and_of_the_name_that_was_called(kind: str) -> None:
    heard: list[dict[str, str]] = []

    class Heard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Heard) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with front_proxy(kind, server.server_address[1]) as proxy:
            transport = httpx.HTTPTransport(verify=proxy.trust, local_address=CALLER)
            claimed = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "http", "Traceparent": "00-1"}
            with httpx.Client(base_url=proxy.url, transport=transport, headers=claimed) as client:
                assert client.get("/v1/jobs").status_code == 204
        server.shutdown()
    assert heard[0]["host"] == proxy.url.removeprefix("https://")
    assert heard[0]["x-forwarded-for"] == CALLER
    assert heard[0]["x-forwarded-proto"] == "https"
    assert heard[0]["traceparent"] == "00-1"
