"""The OpenAPI document: what it says is what the gateway does, with and without keys."""

import copy
import http.client
import json
import socket
from contextlib import ExitStack, closing
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import redis
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from querymill.gateway import server
from querymill.gateway.app import create_app
from querymill.gateway.dify.shape import RETRIEVAL
from querymill.gateway.http.intake import MEDIA_TYPES
from querymill.gateway.http.problems import KINDS
from querymill.gateway.http.scopes import REQUESTS
from querymill.gateway.openai.shape import is_openai_path
from querymill.gateway.schema import REQUEST, request_examples
from querymill.keys import STORED_AT, Scope
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.jobs import validate_request
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
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


#: The upload of lines or of a file, which no schema describes.
UPLOAD = ("/v1/collections/{collection}/{kind}", "post")
#: The statuses of what breaks a rule. What valid input names need not exist, and its job may fail.
REFUSED = (400, 406, 415, 422)
#: Rules about several fields, about what the gateway knows, or about all names in an object: no schema states them.
UNSTATED = (
    "answers_first needs", "every id must occur once", "name a collection", "name documents by ids",
    "no address may be called", "must have a port", "in its brackets",
    "must be the cursor of a former page", "must name documents", "filter..[key]", "must name each label once",
    "must be printable characters",
)  # fmt: skip


def whole(value: Any) -> Any:
    """2.0 is an integer for a schema, and none for Python."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: whole(each) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
        case _:
            return value


def send_anything(path: str, method: str, url: str, headers: dict[str, str], expected: set[int] | None = None) -> None:
    """Send what fits the document, and check the answers against it: it is accepted, unless a rule is unstated."""

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
        case.body = whole(case.body)
        answer = case.call(base_url=url, headers=headers, timeout=PATIENCE_S)
        case.validate_response(answer, checks=CHECKS)
        assert expected is None or answer.status_code in expected
        if answer.status_code in REFUSED and (path, method) != UPLOAD:
            assert any(rule in answer.text for rule in UNSTATED), answer.text

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
                send_anything(path, method, gateway.url, {}, {403 if path == RETRIEVAL else 401})


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
            if method not in ("post", "put"):  # those need a body to be looked for
                everything = "?all=true" if (method, path) == ("delete", "/v1/collections/{collection}/{kind}") else ""
                answered[404] = status_of(gateway.url, method, target + everything, key)
            for status, found in answered.items():
                assert (found == status) == (status in documented), f"{method} {path}: {status}, answered {found}"


def test_every_route_says_that_the_board_is_away_or_that_it_has_a_defect(
    deployment: Deployment, quiet: Settings
) -> None:
    away = deployment.settings.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"})
    own = quiet.model_copy(update={"redis_url": quiet.redis_url.removesuffix("/6") + "/7"})
    with GatewayHere(away) as gateway:
        assert_documented(gateway.url, 503, {})
    with redis.Redis.from_url(own.redis_url) as board, GatewayHere(own) as gateway:
        board.set(STORED_AT, "no keys of ours")  # nothing foresees this
        try:
            assert_documented(gateway.url, 500, {}, passed=("/healthz", "/readyz"))
        finally:
            board.delete(STORED_AT)


def assert_documented(url: str, status: int, headers: dict[str, str], *, passed: tuple[str, ...] = ()) -> None:
    """Check that those routes answer a status which document it, but for those that are passed."""
    for path, method in OPERATIONS:
        documented = str(status) in DOCUMENT["paths"][path][method]["responses"] and path not in passed
        found = status_of(url, method, path.format(**NAMES), headers)
        assert (found == status) == documented, f"{method} {path}: {status}, answered {found}"


def test_every_route_gives_up_a_request_that_does_not_come(quiet: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    with GatewayHere(quiet) as gateway, ExitStack() as opened:
        clients = {}
        for path, method in OPERATIONS:
            at = opened.enter_context(socket.create_connection(("127.0.0.1", gateway.port), PATIENCE_S))
            at.sendall(f"{method.upper()} {path.format(**NAMES)} HTTP/1.1\r\nHost: 127".encode())
            clients[path, method] = at
        for (path, method), at in clients.items():
            assert b" 408 " in at.recv(4_096), f"{method} {path}"
            assert "408" in DOCUMENT["paths"][path][method]["responses"]


def test_every_field_and_parameter_is_described_and_every_operation_named() -> None:
    nameless = [
        f"{name}.{field}"
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
        if not described.get("description")
    ]
    for path, method in OPERATIONS:
        operation = DOCUMENT["paths"][path][method]
        assert operation["operationId"]
        assert operation["summary"]
        parameters = operation.get("parameters", [])
        nameless += [f"{method} {path}: {each['name']}" for each in parameters if not each.get("description")]
    assert not nameless, f"{len(nameless)} without a description: {nameless}"


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
                is_foreign = is_openai_path(path) or path == RETRIEVAL
                media = "application/json" if is_foreign else "application/problem+json"
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
        assert set(references.found) <= {"/docs", "/docs/style.css", "/openapi.json", "/console"}
    assert "/v1/collections/{collection}/{kind}" in quiet_http.get("/docs").text
