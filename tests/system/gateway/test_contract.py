"""The OpenAPI document: what it says is what the gateway does, with and without keys."""

import copy
import http.client
import json
from contextlib import closing
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from querymill.gateway.app import create_app
from querymill.gateway.intake import MEDIA_TYPES
from querymill.gateway.openai_shape import is_openai_path
from querymill.gateway.problems import KINDS
from querymill.gateway.schema import REQUEST, request_examples
from querymill.gateway.scopes import REQUESTS
from querymill.keys import Scope
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.jobs import validate_request
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on

DOCUMENT = create_app(Settings()).openapi()
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
]
#: Kinds whose requests are made up. All others are sent as their examples: a union of forty kinds takes half a minute.
MADE_UP = ("reports", "messages", "embed", "drop_documents")


@schemathesis.serializer(*MEDIA_TYPES)
def as_bytes(_: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


def reduced() -> dict[str, Any]:
    document = copy.deepcopy(DOCUMENT)
    union = document["components"]["schemas"][REQUEST]
    chosen = {kind: union["discriminator"]["mapping"][kind] for kind in MADE_UP}
    union["discriminator"]["mapping"] = chosen
    union["oneOf"] = [{"$ref": reference} for reference in chosen.values()]
    del document["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    return document


SCHEMA = schemathesis.openapi.from_dict(reduced())


def send_anything(path: str, method: str, url: str, headers: dict[str, str], expected: set[int] | None = None) -> None:
    """Send what fits the document and what does not, and check the answers against it."""

    # The same requests in every run: what is found once is found again.
    @settings(
        max_examples=4,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=SCHEMA[path][method.upper()].as_strategy())
    def check(case: Any) -> None:
        if "wait" in (case.query or {}):
            case.query["wait"] = 0
        answer = case.call(base_url=url, headers=headers, timeout=PATIENCE_S)
        case.validate_response(answer, checks=CHECKS)
        assert expected is None or answer.status_code in expected

    check()


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_without_keys_every_answer_is_one_that_the_document_names(
    gateway: str, worker: WorkerProcess, path: str, method: str
) -> None:
    send_anything(path, method, gateway, {})


def test_with_keys_every_answer_is_one_that_the_document_names(quiet: Settings) -> None:
    own = quiet.model_copy(update={"redis_url": quiet.redis_url.removesuffix("/6") + "/7"})
    with keys_on(own) as keyring, GatewayHere(own) as gateway:
        key = bearer(keyring, "*", scopes=tuple(Scope))
        for path, method in OPERATIONS:
            send_anything(path, method, gateway.url, key)
            if path not in ("/healthz", "/readyz"):
                # What is no address of the route at all is 404 or 405 for those with a key only.
                send_anything(path, method, gateway.url, {}, {401})


#: What brings a status about on every route that documents it.
PROVOKED: dict[int, dict[str, str]] = {
    401: {"Authorization": ""},
    403: {"Origin": "https://evil.example"},
    406: {"Accept": "image/png"},
    413: {"Content-Length": "99999999999"},
    421: {"Host": "evil.example"},
    431: {"X-Long": "x" * 17_000},
}
IN_ADDRESS = {414: "?" + "x" * 9_000, 422: "?nosuch=1"}
NAMES = {
    "collection": "filings",
    "kind": "reports",
    "job_id": "0" * 32,
    "batch": "0" * 32,
    "document": "r1",
    "model": "none",
}


def status_of(url: str, method: str, target: str, headers: dict[str, str]) -> int:
    where = httpx.URL(url)
    connection = http.client.HTTPConnection(where.host, where.port, timeout=PATIENCE_S)
    with closing(connection):
        connection.putrequest(method.upper(), target, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status


def test_every_status_that_the_document_names_is_answered(quiet: Settings) -> None:
    own = quiet.model_copy(
        update={"redis_url": quiet.redis_url.removesuffix("/6") + "/7", "querymill_hosts": ("127.0.0.1",)}
    )
    with keys_on(own) as keyring, GatewayHere(own) as gateway:
        key = bearer(keyring, "filings", scopes=tuple(Scope))
        hurried = bearer(keyring, "filings", scopes=tuple(Scope), requests_per_minute=1)
        assert status_of(gateway.url, "get", "/v1/collections", hurried) == 200
        for path, method in OPERATIONS:
            documented = {int(status) for status in DOCUMENT["paths"][path][method]["responses"]}
            target = path.format(**NAMES)
            answered = {
                status: status_of(gateway.url, method, target, key | headers) for status, headers in PROVOKED.items()
            }
            answered |= {
                status: status_of(gateway.url, method, target + more, key) for status, more in IN_ADDRESS.items()
            }
            answered[429] = status_of(gateway.url, method, target, hurried)
            if method != "post":  # those need a body to be looked for
                everything = "?all=true" if (method, path) == ("delete", "/v1/collections/{collection}/{kind}") else ""
                answered[404] = status_of(gateway.url, method, target + everything, key)
            for status, found in answered.items():
                assert (found == status) == (status in documented), f"{method} {path}: {status}, answered {found}"


@pytest.mark.parametrize("kind", REQUESTS)
def test_the_example_of_every_kind_is_valid(kind: str) -> None:
    example = request_examples()[kind]
    assert validate_request(json.dumps(example)).kind == kind
    shown = DOCUMENT["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]["examples"]
    assert shown[kind]["value"] == example


def test_the_example_of_every_kind_is_accepted(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    for kind in ("reports", "modules", "messages", "conversations", "files"):
        board.add_collections(kind, ["filings"])
    for kind, example in request_examples().items():
        assert quiet_http.post("/v1/jobs", json=example).status_code == 202, kind


def test_every_error_is_described_as_what_it_is() -> None:
    for path, method in OPERATIONS:
        for status, response in DOCUMENT["paths"][path][method]["responses"].items():
            if int(status) >= 400:
                media = "application/json" if is_openai_path(path) else "application/problem+json"
                assert list(response["content"]) == [media]
    assert "HTTPValidationError" not in DOCUMENT["components"]["schemas"]


def test_the_answer_to_a_cancellation_is_not_described_as_the_event_of_one() -> None:
    answer = DOCUMENT["paths"]["/v1/jobs/{job_id}"]["delete"]["responses"]["200"]["content"]["application/json"]
    described = DOCUMENT["components"]["schemas"][answer["schema"]["$ref"].rsplit("/", 1)[1]]
    assert set(described["properties"]) == {"job_id", "state", "cancelled"}


@pytest.mark.parametrize("hit", ["ReportHit", "ModuleDocumentHit", "MessageHit", "ConversationHit", "FileHit"])
def test_a_hit_is_described_with_its_fields(hit: str) -> None:
    assert {"score"} < DOCUMENT["components"]["schemas"][hit]["properties"].keys()


class References(HTMLParser):
    """Collects what a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "style", "onclick")]


def test_the_pages_load_nothing_from_elsewhere(quiet_http: httpx.Client) -> None:
    for path in ("/docs", *(f"/problems/{slug}" for slug in KINDS)):
        page = quiet_http.get(path)
        assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        references = References()
        references.feed(page.text)
        assert set(references.found) <= {"/docs", "/docs/style.css", "/openapi.json"}
    assert "/v1/collections/{collection}/{kind}" in quiet_http.get("/docs").text
