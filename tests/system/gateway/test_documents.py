"""Documents over HTTP: streamed in, listed, shown, exported, dropped."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import psutil
import pytest

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.settings import Settings
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until

LINES = {"Content-Type": "application/x-ndjson"}
SESSION = {"session_id": "s1", "started_at": "2026-03-01T09:00:00Z", "messages": [{"role": "user", "text": "rain"}]}
DOCUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "reports": (
        {"sha1": "r1", "title": "Nordhav", "company": "Nordhav", "pages": [{"page": 1, "text": "nine ships"}]},
        "r1",
    ),
    "messages": (SESSION, "s1"),
    "conversations": (SESSION, "s1"),
    "modules": (
        {"file_path": "src/cone.js", "code": "cone()", "meta_info": {"vtkjs_modules": ["vtkCone"]}},
        "src/cone.js",
    ),
    "files": ({"path": "src/a b%2F/ü.py", "content": "def margin(): ..."}, "src/a b%2F/ü.py"),
}


def lines(*documents: Any) -> bytes:
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in documents)


def wait_for_batch(http: httpx.Client, at: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        batch: dict[str, Any] = http.get(at).json()
        if not {"queued", "running"} & set(batch["jobs"]):
            return batch
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_of_every_kind_goes_in_and_comes_out(http: httpx.Client, worker: WorkerProcess, kind: str) -> None:
    document, name = DOCUMENTS[kind]
    at = f"/v1/collections/over-http/{kind}"
    sent = http.post(at, content=lines(document), headers=LINES)
    assert (sent.status_code, sent.json()["accepted"], sent.json()["rejected"]) == (202, 1, 0)
    assert wait_for_batch(http, sent.headers["Location"])["jobs"] == {"done": 1}
    assert kind in next(
        c["kinds"] for c in http.get("/v1/collections").json()["collections"] if c["name"] == "over-http"
    )
    assert [card["id"] for card in http.get(at).json()["documents"]] == [name]
    one = f"{at}/{quote(name)}"
    shown = http.get(one)
    assert shown.status_code == 200
    assert document.items() <= shown.json().items() or kind in ("messages", "conversations", "modules", "reports")
    assert http.get(one, headers={"If-None-Match": shown.headers["ETag"]}).status_code == 304
    exported = http.get(at, headers={"Accept": "application/x-ndjson"})
    assert [json.loads(line) for line in exported.text.splitlines()] == [shown.json()]
    assert http.delete(one).json()["outcome"] == "forgotten"
    gone = http.get(one)
    assert gone.status_code == 404


def test_notebooks_are_read_by_cell_and_secrets_are_refused(http: httpx.Client, worker: WorkerProcess) -> None:
    at = "/v1/collections/secrets/files"
    notebook = {"cells": [{"cell_type": "code", "source": "x = 1"}]}
    rows = [
        {"path": "a.ipynb", "content": json.dumps(notebook)}, {"path": ".env", "content": "A=1"},
    ]  # fmt: skip
    sent = http.post(at, content=lines(*rows), headers=LINES)
    assert (sent.status_code, sent.json()["accepted"], sent.json()["rejected"]) == (202, 1, 1)
    assert sent.json()["first_rejected"] == [{"line": 2, "field": "line", "rule": ".env: a secret, by its name"}]
    wait_for_batch(http, sent.headers["Location"])
    assert http.get(f"{at}/a.ipynb").json()["content"].startswith("# notebook: python\n# %% cell 1\n")
    whole = http.post(at, content=lines(*rows), headers=LINES, params={"include_secrets": True})
    assert (whole.json()["accepted"], whole.json()["rejected"]) == (2, 0)
    refused = http.post(
        "/v1/collections/secrets/reports", content=b"{}", headers=LINES, params={"include_secrets": True}
    )
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "include_secrets")


def test_files_get_vectors_if_the_upload_asks_for_them(
    http: httpx.Client, worker: WorkerProcess, openai_server: OpenAIServer
) -> None:
    for marker, parameters in (("plainly", {}), ("meaning", {"vectors": True})):
        row = {"path": f"{marker}.py", "content": f"def {marker}(): pass"}
        sent = http.post(f"/v1/collections/{marker}/files", content=lines(row), headers=LINES, params=parameters)
        wait_for_batch(http, sent.headers["Location"])
    until(lambda: "meaning.py" in str(openai_server.seen("embeddings")), within_s=60)
    assert "plainly.py" not in str(openai_server.seen("embeddings"))
    refused = http.post("/v1/collections/c/reports", content=b"{}", headers=LINES, params={"vectors": True})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "vectors")


def test_a_bad_line_is_named_and_the_others_are_stored(http: httpx.Client, worker: WorkerProcess) -> None:
    good = DOCUMENTS["reports"][0] | {"sha1": "good"}
    sent = http.post(
        "/v1/collections/bad-lines/reports",
        content=lines(b"{no", good, b"", {"sha1": "bad id!"}, b"\xff\xfe", b"[" * 5_000),
        headers=LINES,
    ).json()
    assert (sent["accepted"], sent["rejected"]) == (1, 4)
    assert [(bad["line"], bad["field"]) for bad in sent["first_rejected"]] == [
        (1, "line"),
        (4, "sha1"),
        (5, "line"),
        (6, "line"),
    ]


def test_if_no_line_is_good_nothing_is_accepted(http: httpx.Client) -> None:
    for body, field in ((b"", "body"), (b"\n\n", "body"), (b"{no\n", "line 1: line")):
        found = http.post("/v1/collections/no-lines/reports", content=body, headers=LINES)
        assert (found.status_code, found.json()["errors"][0]["field"]) == (422, field)


def test_the_same_content_sent_again_changes_nothing(http: httpx.Client, worker: WorkerProcess) -> None:
    body = lines(*({**SESSION, "session_id": f"s{number}"} for number in range(200)))
    for _ in range(2):
        sent = http.post("/v1/collections/again/messages", content=body, headers=LINES)
        assert sent.json()["accepted"] == 200
        assert wait_for_batch(http, sent.headers["Location"])["jobs"].keys() == {"done"}
        assert http.get("/v1/collections/again/messages", params={"limit": 1}).json()["total"] == 200


def test_documents_are_dropped_by_a_filter_and_never_by_a_typo(http: httpx.Client, worker: WorkerProcess) -> None:
    at = "/v1/collections/filtered/reports"
    reports = [DOCUMENTS["reports"][0] | {"sha1": f"f{n}", "company": f"Company {n % 2}"} for n in range(4)]
    wait_for_batch(http, http.post(at, content=lines(*reports), headers=LINES).headers["Location"])
    for wrong in ({}, {"filter": "company"}, {"filtr": "company=Company 1"}, {"all": "true", "filter": "company=x"}):
        assert http.delete(at, params=wrong).status_code == 422
    chosen = {"filter": "company=Company 1"}
    assert http.get(at, params=chosen).json()["total"] == 2
    assert http.delete(at, params=chosen | {"dry_run": "true"}).json() == {"matches": 2}
    assert http.delete(at, params=chosen).json() == {"outcome": "forgotten", "total": 2}
    assert http.delete(at, params={"all": "true"}).json()["total"] == 2


def test_an_upload_of_any_size_takes_little_memory(http: httpx.Client) -> None:
    def garbage() -> Iterator[bytes]:
        for _ in range(120):
            yield b"x" * 1_000_000  # one line of 120 MB

    http.get("/openapi.json")
    measured = psutil.Process()  # the gateway is in this process
    before = measured.memory_info().rss
    sent = http.post("/v1/collections/big/messages", content=garbage(), headers=LINES)
    assert (sent.status_code, sent.json()["errors"][0]["rule"]) == (422, "must be at most 16000000 bytes")
    assert measured.memory_info().rss - before < 80_000_000


def test_what_is_accepted_before_a_cut_stays(http: httpx.Client, gateway: str, worker: WorkerProcess) -> None:
    def stored() -> int:
        found = http.get("/v1/collections/cut/messages", params={"limit": 1})
        return 0 if found.status_code == 404 else int(found.json()["total"])

    def wait_for(count: int) -> None:
        until(lambda: stored() >= count, within_s=PATIENCE_S)

    url = httpx.URL(gateway)
    body = lines(*({**SESSION, "session_id": f"cut{number}"} for number in range(100)))
    with socket.create_connection((url.host, url.port or 80)) as caller:
        head = f"POST /v1/collections/cut/messages HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nContent-Length: 99999\r\n"
        caller.sendall(head.encode() + b"Content-Type: application/x-ndjson\r\n\r\n" + body + b'{"half')
        # The first job is handed on while the upload goes on.
        wait_for(64)
    wait_for(100)


def began(url: str, at: str, body: bytes) -> socket.socket:
    """A connection on which an upload began; its end is not sent."""
    where = httpx.URL(url)
    caller = socket.create_connection((where.host, where.port or 80))
    head = f"POST {at} HTTP/1.1\r\nHost: {where.netloc.decode()}\r\nContent-Length: 99999\r\n"
    caller.sendall(head.encode() + b"Content-Type: application/x-ndjson\r\n\r\n" + body)
    return caller


def sessions(name: str, count: int) -> bytes:
    return lines(*({**SESSION, "session_id": f"{name}{number}"} for number in range(count)))


def submitted(board: ValkeyBoard, name: str) -> list[str]:
    """The sessions of an upload that are on the board, in their order."""
    asked = (board.picture(job_id).asked for job_id in reversed(board.recent(limit=50)))
    loaded = [request for request in asked if isinstance(request, IngestMessages)]
    ids = [session.session_id for request in loaded for session in request.documents]
    return [id_ for id_ in ids if id_.startswith(name)]


def until_submitted(board: ValkeyBoard, name: str, count: int) -> None:
    until(lambda: len(submitted(board, name)) >= count, within_s=PATIENCE_S)


def test_what_comes_together_with_the_end_of_a_connection_is_accepted_and_half_a_line_is_not(
    quiet_gateway: GatewayHere, board: ValkeyBoard
) -> None:
    # The gateway asks the board for the key first: the client has gone before the body is read.
    for round_ in range(5):
        name = f"gone{round_}-"
        began(quiet_gateway.url, "/v1/collections/gone/messages", sessions(name, 5) + b'{"half').close()
        until_submitted(board, name, 5)
        quiet_gateway.until_waiting(0)
        assert submitted(board, name) == [f"{name}{number}" for number in range(5)]


def test_a_gateway_that_stops_accepts_what_came_and_says_how_much(quiet: Settings, board: ValkeyBoard) -> None:
    with GatewayHere(quiet) as stopped:
        caller = began(stopped.url, "/v1/collections/stopped/messages", sessions("stopped", 70) + b'{"half')
        stopped.until_waiting(1)
        until_submitted(board, "stopped", 64)
        stopped.ask_to_stop()
        with caller, caller.makefile("rb") as answer:
            received = answer.read().decode()
    assert received.startswith("HTTP/1.1 503")
    assert "70 documents were accepted before" in received
    assert len(submitted(board, "stopped")) == 70
