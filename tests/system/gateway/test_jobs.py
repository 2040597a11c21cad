"""Jobs over HTTP: submitted, waited for, looked at, listed, cancelled."""

import json
import socket
from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill import EmbedTexts, Querymill, ReportSearch, TextToEmbed
from querymill_shared.board import ValkeyBoard, Verdict
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until

NOBODYS_JOB = "0" * 32


def search(collection: str, query: str = "how many ships", **fields: Any) -> dict[str, Any]:
    return {"kind": "reports", "query": query, "collection": collection, "deadline": 30} | fields


def endless() -> dict[str, Any]:
    """A job for the board without workers."""
    return {"kind": "embed", "collection": "endless", "texts": [{"id": "a", "text": uuid4().hex}]}


def slow(openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda request: chat_answer("<slow>", after_s=3)


def test_a_job_is_accepted_at_once_and_its_result_is_there_later(http: httpx.Client, filings: str) -> None:
    accepted = http.post("/v1/jobs", json=search(filings))
    body = accepted.json()
    assert accepted.status_code == 202
    assert accepted.headers["Location"] == body["links"]["self"] == f"/v1/jobs/{body['job_id']}"
    assert (body["kind"], body["collection"]) == ("reports", filings)
    found = http.get(body["links"]["result"], params={"wait": 50})
    assert found.status_code == 200
    assert found.json()["results"][0]["document"] == "a1"


def test_with_wait_the_response_is_the_result(http: httpx.Client, filings: str) -> None:
    found = http.post("/v1/jobs", params={"wait": 50}, json=search(filings, "which revenue"))
    assert found.status_code == 200
    assert found.json()["complete"]


def test_when_the_time_is_up_the_response_is_the_job(quiet_http: httpx.Client) -> None:
    found = quiet_http.post("/v1/jobs", params={"wait": 0.01}, json=endless())
    assert (found.status_code, found.json()["state"]) == (202, "queued")
    not_over = quiet_http.get(found.json()["links"]["result"])
    assert (not_over.status_code, not_over.headers["Retry-After"]) == (202, "1")


def test_a_result_never_changes_so_it_is_not_sent_twice(http: httpx.Client, filings: str) -> None:
    found = http.post("/v1/jobs", params={"wait": 50}, json=search(filings, "dividend"))
    at = f"/v1/jobs/{found.json()['job_id']}/result"
    again = http.get(at, headers={"If-None-Match": found.headers["ETag"]})
    head = http.head(at)
    assert (again.status_code, again.content) == (304, b"")
    assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(found.content)))
    assert head.content == b""


def test_a_job_shows_its_steps_and_is_polled_for_nothing(http: httpx.Client, filings: str) -> None:
    done = http.post("/v1/jobs", params={"wait": 50}, json=search(filings, "soup")).json()
    shown = http.get(f"/v1/jobs/{done['job_id']}")
    assert shown.json()["state"] == "done"
    assert [(step["name"], step["state"], step["attempt"]) for step in shown.json()["steps"]] == [
        ("original", "done", 1)
    ]
    (attempt,) = shown.json()["steps"][0]["attempts"]
    assert (attempt["outcome"], attempt["number"], attempt["code"]) == ("done", 1, None)
    assert attempt["queued_at"] <= attempt["started_at"] <= attempt["ended_at"]
    assert attempt["worker"]
    assert [part["what"] for part in attempt["parts"]] == ["route", "expand", "embed", "search"]
    assert shown.json()["request"]["query"] == "soup"
    again = http.get(f"/v1/jobs/{done['job_id']}", headers={"If-None-Match": shown.headers["ETag"]})
    assert again.status_code == 304


def test_an_idempotency_key_leads_to_its_first_job(http: httpx.Client, filings: str) -> None:
    def send(query: str, key: str) -> httpx.Response:
        return http.post("/v1/jobs", json=search(filings, query), headers={"Idempotency-Key": key})

    first, again, quoted = send("turn", "turn-42"), send("turn", "turn-42"), send("turn", '"turn-42"')
    assert first.json()["job_id"] == again.json()["job_id"] == quoted.json()["job_id"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == quoted.headers["Idempotent-Replayed"] == "true"
    other = send("another turn", "turn-42")
    assert (other.status_code, other.json()["type"]) == (409, "/problems/idempotency-conflict")


def test_identical_work_that_is_joined_is_no_replay(
    http: httpx.Client, filings: str, openai_server: OpenAIServer
) -> None:
    slow(openai_server)
    asked = search(filings, "asked by two at once", hyde=True)
    first = http.post("/v1/jobs", json=asked, headers={"Idempotency-Key": "a"})
    joined = http.post("/v1/jobs", json=asked, headers={"Idempotency-Key": "b"})
    assert first.json()["job_id"] != joined.json()["job_id"]
    assert "Idempotent-Replayed" not in joined.headers


def test_a_job_is_cancelled_once(quiet_http: httpx.Client) -> None:
    job_id = quiet_http.post("/v1/jobs", json=endless()).json()["job_id"]
    first, again = quiet_http.delete(f"/v1/jobs/{job_id}"), quiet_http.delete(f"/v1/jobs/{job_id}")
    assert first.json() == {"job_id": job_id, "state": "cancelled", "cancelled": True}
    assert again.json() == {"job_id": job_id, "state": "cancelled", "cancelled": False}
    gone = quiet_http.get(f"/v1/jobs/{job_id}/result")
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/job-cancelled")


def test_a_job_that_failed_is_424_with_its_reason(
    http: httpx.Client, filings: str, openai_server: OpenAIServer, worker: WorkerProcess
) -> None:
    asked = {"kind": "show_document", "retriever": "reports", "collection": filings, "id": "nowhere"}
    failed = http.post("/v1/jobs", params={"wait": 50}, json=asked)
    assert (failed.status_code, failed.json()["type"]) == (424, "/problems/job-failed")
    assert failed.json()["code"]
    assert failed.json()["state"] == "failed"


@pytest.mark.parametrize(("on_disconnect", "state"), [("cancel", "cancelled"), ("finish", "queued")])
def test_what_becomes_of_a_job_whose_caller_goes_is_the_callers_choice(
    quiet_http: httpx.Client, quiet_gateway: GatewayHere, on_disconnect: str, state: str
) -> None:
    url, asked = httpx.URL(quiet_gateway.url), json.dumps(endless())
    quiet_gateway.until_waiting(0)
    with socket.create_connection((url.host, url.port or 80)) as caller:
        head = f"POST /v1/jobs?wait=50&on_disconnect={on_disconnect} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\n"
        fields = f"Content-Type: application/json\r\nContent-Length: {len(asked)}\r\n\r\n"
        caller.sendall(f"{head}{fields}{asked}".encode())
        quiet_gateway.until_waiting(1)
    quiet_gateway.until_waiting(0)
    until(lambda: newest(quiet_http)["state"] == state, within_s=PATIENCE_S)  # it is cancelled after the place is free


def newest(http: httpx.Client) -> dict[str, Any]:
    found: list[dict[str, Any]] = http.get("/v1/jobs", params={"limit": 1}).json()["jobs"]
    return found[0]


def test_jobs_are_listed_newest_first_page_by_page(http: httpx.Client, mill: Querymill, filings: str) -> None:
    ids = [mill.submit(ReportSearch(query=f"page {number}", collection=filings)).id for number in range(7)]
    seen: list[str] = []
    page = http.get("/v1/jobs", params={"limit": 3, "collection": filings, "kind": "reports"})
    while True:
        seen += [job["job_id"] for job in page.json()["jobs"]]
        if set(ids) <= set(seen):
            break
        assert page.json()["next"]
        assert 'rel="next"' in page.headers["Link"]
        page = http.get(page.headers["Link"].partition(">")[0].removeprefix("<"))
    assert len(seen) == len(set(seen))
    times = [http.get(f"/v1/jobs/{job_id}").json()["created_at"] for job_id in seen]
    assert times == sorted(times, reverse=True)


def test_jobs_whose_results_lack_a_part_are_found(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    whole, lacking = (
        board.submit(EmbedTexts(collection="lacking", texts=(TextToEmbed(id="a", text=uuid4().hex),)))[0]
        for _ in range(2)
    )
    board.settle(whole, Verdict("done", result="{}"))
    board.settle(lacking, Verdict("done", result="{}", complete=False))
    for complete, expected in ((True, whole), (False, lacking)):
        (found,) = quiet_http.get("/v1/jobs", params={"collection": "lacking", "complete": complete}).json()["jobs"]
        assert (found["job_id"], found["complete"]) == (expected, complete)
    page = quiet_http.get("/console/jobs", params={"collection": "lacking", "state": "incomplete"}).text
    assert (f"j-{lacking}" in page, f"j-{whole}" in page, "done, incomplete" in page) == (True, False, True)


WRONG: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", f"/v1/jobs/{NOBODYS_JOB}", {}, 404, "not-found"),
    ("GET", "/v1/jobs/{}", {}, 404, "not-found"),
    ("GET", f"/v1/jobs/{NOBODYS_JOB}/result", {}, 404, "not-found"),
    ("GET", f"/v1/jobs/{NOBODYS_JOB}/events", {}, 404, "not-found"),
    ("DELETE", f"/v1/jobs/{NOBODYS_JOB}", {}, 404, "not-found"),
    ("GET", "/v1/jobs?stat=dead", {}, 422, "invalid"),
    ("GET", "/v1/jobs?limit=1&limit=2", {}, 422, "invalid"),
    ("GET", "/v1/jobs?state=runing", {}, 422, "invalid"),
    ("GET", "/v1/jobs?before=x", {}, 422, "invalid"),
    ("GET", "/v1/jobs/", {}, 404, "not-found"),
    ("GET", "/v1/jobs", {"headers": {"Accept": "image/png"}}, 406, "not-acceptable"),
    ("POST", "/v1/jobs", {"content": b"kind=reports"}, 415, "media-type"),
    ("POST", "/v1/jobs?wait=56", {"json": {}}, 422, "invalid"),
    ("POST", "/v1/jobs", {"json": {"kind": "poems"}}, 422, "invalid"),
    ("POST", "/v1/jobs", {"json": search("x", " ")}, 422, "invalid"),
    ("POST", "/v1/jobs", {"json": search("nowhere")}, 404, "not-found"),
    ("POST", "/v1/jobs", {"json": search("x"), "headers": {"Idempotency-Key": "a b"}}, 422, "invalid"),
    ("GET", "/v1/jobs", {"headers": {"Host": "evil.example"}}, 421, "host"),
    ("GET", "/v1/jobs", {"headers": {"Origin": "http://evil.example"}}, 403, "origin"),
    ("GET", "/v1/jobs", {"headers": {"Origin": "null"}}, 403, "origin"),
    ("GET", f"/v1/jobs?kind={'x' * 9_000}", {}, 414, "address-too-long"),
    ("GET", "/v1/jobs", {"headers": {"X-Long": "x" * 17_000}}, 431, "headers-too-large"),
    ("PUT", "/v1/jobs", {}, 405, "method"),
]


@pytest.mark.parametrize(("method", "path", "more", "status", "slug"), WRONG)
def test_what_is_wrong_is_a_problem(
    http: httpx.Client, method: str, path: str, more: dict[str, Any], status: int, slug: str
) -> None:
    found = http.request(method, path, **more)
    body = found.json()
    assert (found.status_code, body["status"], body["type"]) == (status, status, f"/problems/{slug}")
    assert found.headers["Content-Type"] == "application/problem+json"
    assert body["request_id"] == found.headers["Request-Id"]
    assert "evil" not in found.text


def test_a_method_that_a_route_lacks_names_those_that_it_has(http: httpx.Client) -> None:
    assert http.put("/v1/jobs").headers["Allow"] == "GET, HEAD, POST"
    assert http.patch(f"/v1/jobs/{NOBODYS_JOB}").headers["Allow"] == "DELETE, GET, HEAD"


def test_a_broken_rule_names_its_field(http: httpx.Client) -> None:
    body = http.post("/v1/jobs", json=search("x", " ", top=3)).json()
    assert {(error["field"], error["rule"]) for error in body["errors"]} == {
        ("query", "must not be empty or blank"),
        ("top", "Extra inputs are not permitted"),
    }
    both = http.post("/v1/jobs", json=search("x", top_n=20, candidates=10)).json()
    assert both["errors"] == [{"field": "candidates", "rule": "candidates (10) must be at least top_n (20)"}]


def test_a_body_that_is_too_large_is_refused_before_it_is_read(http: httpx.Client) -> None:
    def chunks() -> Any:
        for _ in range(11):
            yield b" " * 1_000_000

    for content in (b" " * 11_000_000, chunks()):
        try:
            found = http.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})
        except httpx.WriteError:
            continue  # the connection was closed while the rest was sent
        assert found.status_code == 413


def test_a_listed_page_may_call_and_no_other(deployment: Deployment, filings: str) -> None:
    page = {"Origin": "https://app.example"}
    with (
        GatewayHere(deployment.settings.model_copy(update={"querymill_cors_origins": [page["Origin"]]})) as here,
        httpx.Client(base_url=here.url) as client,
    ):
        asked = {"Access-Control-Request-Method": "POST"}
        allowed = client.options("/v1/jobs", headers=page | asked)
        answered = client.get("/v1/jobs", headers=page)
        refused = client.options("/v1/jobs", headers={"Origin": "https://other.example"} | asked)
    assert (allowed.status_code, allowed.headers["Access-Control-Allow-Origin"]) == (204, page["Origin"])
    assert answered.headers["Access-Control-Allow-Origin"] == page["Origin"]
    assert "ETag" in answered.headers["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in answered.headers
    assert (refused.status_code, "Access-Control-Allow-Origin" in refused.headers) == (403, False)
