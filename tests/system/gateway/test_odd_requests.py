"""Requests that nobody means well: each gets a clear refusal, and no page a defect of the gateway."""

import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from querymill import EmbedTexts, TextToEmbed
from querymill.gateway.app import create_app
from querymill.keys import Scope
from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on

DIGITS = "9" * 5_000


@pytest.fixture(scope="module")
def guarded(quiet: Settings) -> Iterator[tuple[httpx.Client, dict[str, dict[str, str]]]]:
    """A client of a gateway to a board without workers, and the headers of keys by what they may."""
    with keys_on(quiet) as keyring, GatewayHere(quiet) as gateway:
        keys = {scope.value: bearer(keyring, "c", scopes=(scope,)) for scope in Scope}
        with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S) as client:
            yield client, keys


def test_every_path_refuses_a_method_that_it_lacks(quiet: Settings, quiet_http: httpx.Client) -> None:
    paths = {str(route.path) for route in create_app(quiet).state.routes}
    assert len([path for path in paths if path.startswith("/console/")]) > 20
    for path in sorted(paths | {"/console/none", "/mcp"}):
        filled = re.sub(r"\{[^}]*\}", "0", path)
        told = {method: quiet_http.request(method, filled).status_code for method in ("PUT", "PATCH")}
        assert set(told.values()) <= {401, 404, 405, 415}, (path, told)


@pytest.mark.parametrize(
    "path",
    [
        f"/console/collections/c/reports/a?page={DIGITS}",
        f"/console/collections/c/reports/a?job={'0' * 32}&hit={DIGITS}",
        f"/console/jobs/{'0' * 32}?from={DIGITS}",
        f"/console/jobs?limit={DIGITS}",
        f"/console/fleet?minutes={DIGITS}",
        f"/console/search?q=x&top_k={DIGITS}",
        f"/v1/jobs?limit={DIGITS}",
        f"/v1/jobs/{'0' * 32}?wait={DIGITS}",
        f"/v1/jobs/{'0' * 32}/events?after={DIGITS}",
        f"/v1/collections/c/reports?limit={DIGITS}",
        f"/v1/fleet/history?minutes={DIGITS}",
    ],
)
def test_a_number_of_thousands_of_digits_is_no_defect(quiet_http: httpx.Client, path: str) -> None:
    assert quiet_http.get(path).status_code < 500


def test_a_form_of_too_many_fields_is_refused_by_the_rule(quiet_http: httpx.Client) -> None:
    form = "&".join(f"f{number}=1" for number in range(600))
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in ("/console/sign-in", "/console/search", f"/console/jobs/{'0' * 32}/cancel"):
        answer = quiet_http.post(path, content=form, headers=headers)
        assert answer.status_code < 500, path


def test_only_who_may_ingest_cancels_and_releases_what_writes(
    guarded: tuple[httpx.Client, dict[str, dict[str, str]]], board: ValkeyBoard
) -> None:
    http, keys = guarded
    texts = (TextToEmbed(id="a", text="nine ships"),)
    stored = board.submit(EmbedTexts(collection="c", texts=texts, into="table"))[0]
    for path, key, status in (
        (f"/v1/jobs/{stored}", "search", 403),
        (f"/v1/jobs/{stored}:release", "search", 403),
        (f"/v1/jobs/{stored}", "operate", 200),
    ):
        method = "POST" if path.endswith("release") else "DELETE"
        assert http.request(method, path, headers=keys[key]).status_code == status, (path, key)
    returned = board.submit(EmbedTexts(collection="c", texts=texts))[0]
    assert http.delete(f"/v1/jobs/{returned}", headers=keys["search"]).json()["cancelled"]


def test_who_may_delete_may_count_what_that_would_delete(filings: str, deployment: Deployment) -> None:
    at = f"/v1/collections/{filings}/reports"
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        deletes = bearer(keyring, filings, scopes=(Scope.DELETE,))
        with httpx.Client(base_url=gateway.url, timeout=PATIENCE_S, headers=deletes) as http:
            counted = http.delete(at, params={"filter": "company=Nordhav", "dry_run": "true"})
            assert (counted.status_code, counted.json()) == (200, {"matches": 2})
            assert http.get(at).status_code == 403


def test_a_stream_that_could_never_say_anything_is_not_opened(
    guarded: tuple[httpx.Client, dict[str, dict[str, str]]],
) -> None:
    http, keys = guarded
    for method in ("GET", "DELETE", "PUT"):
        refused = http.request(method, "/mcp", headers=keys["search"] | {"Accept": "text/event-stream"})
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_a_body_with_two_lengths_is_refused_and_its_connection_closed(quiet_gateway: GatewayHere) -> None:
    address = urlsplit(quiet_gateway.url)
    head = "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    body = "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=PATIENCE_S) as connection:
        connection.sendall((head + body).encode())
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"problems/framing" in answer


@pytest.mark.parametrize("page", [2**31, int("9" * 30)])
def test_a_page_beyond_what_is_stored_is_refused_at_the_door(
    guarded: tuple[httpx.Client, dict[str, dict[str, str]]], page: int
) -> None:
    http, keys = guarded
    document = {"sha1": "a", "title": "t", "pages": [{"page": page, "text": "x"}]}
    body = {"kind": "ingest_reports", "collection": "c", "documents": [document]}
    refused = http.post("/v1/jobs", json=body, headers=keys["ingest"])
    rules = {error["field"]: error["rule"] for error in refused.json()["errors"]}
    assert refused.status_code == 422
    assert "2147483647" in rules["documents.0.pages.0.page"], rules
