"""An upload that is waited for, and what is said while the ingestion into a collection has not ended."""

import threading
import time
from typing import Any

import httpx
import pytest
import redis

from querymill.gateway.http.waiting import MAX_WAIT_S
from querymill.keys import STORED_AT, Scope
from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.settings import Settings
from tests.fakes.worker import WorkerProcess
from tests.fixtures import documents
from tests.fixtures.gateways import GatewayHere, bearer, keys_on
from tests.system.gateway.test_documents import DOCUMENTS, LINES, lines

UNDER_WAY = "an ingestion into it is under way"
QUERIES = {"reports": "ships", "messages": "rain", "conversations": "rain", "modules": "cone", "files": "margin"}


def search(collection: str, kind: str = "reports", query: str = "how many ships") -> dict[str, Any]:
    return {"kind": kind, "query": query, "collection": collection}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_what_was_waited_for_is_found_at_once(
    http: httpx.Client, worker: WorkerProcess, openai_server: object, kind: str
) -> None:
    at = f"/v1/collections/waited/{kind}"
    sent = http.post(at, content=lines(DOCUMENTS[kind][0], {"no": 1}), headers=LINES, params={"wait": 50})
    assert sent.status_code == 200, sent.text
    told = sent.json()
    assert (told["accepted"], told["rejected"], told["stored"], told["failed"], told["jobs"]) == (
        1,
        1,
        1,
        0,
        {"done": 1},
    )
    assert sent.headers["Location"] == told["links"]["batch"] == f"/v1/batches/{told['batch']}"
    asked = http.post("/v1/jobs", json=search("waited", kind, QUERIES[kind]), params={"wait": 50})
    assert asked.status_code == 200, asked.text
    assert http.get(at).json()["total"] == 1


def test_a_document_as_it_is_can_be_waited_for(http: httpx.Client, worker: WorkerProcess) -> None:
    content = documents.pdf(documents.lines("The tide turns at noon"))
    sent = http.post("/v1/collections/waited-pdf/reports", files={"file": ("tides.pdf", content)}, params={"wait": 50})
    assert (sent.status_code, sent.json()["stored"]) == (200, 1), sent.text
    assert sent.json()["documents"][0]["title"] == "tides"


def test_many_jobs_are_waited_for_together(http: httpx.Client, worker: WorkerProcess) -> None:
    rows = [{**DOCUMENTS["reports"][0], "sha1": f"r{number}"} for number in range(40)]
    sent = http.post("/v1/collections/many/reports", content=lines(*rows), headers=LINES, params={"wait": 50})
    assert (sent.status_code, sent.json()["stored"]) == (200, 40), sent.text
    assert len(http.get("/v1/jobs", params={"collection": "many"}).json()["jobs"]) > 1


def test_an_ingestion_that_does_not_end_in_time_is_accepted(quiet_http: httpx.Client) -> None:
    for wait in (0, 0.3):
        began = time.monotonic()
        sent = quiet_http.post(
            "/v1/collections/slow/reports", content=lines(DOCUMENTS["reports"][0]), headers=LINES, params={"wait": wait}
        )
        assert (sent.status_code, "stored" in sent.json()) == (202, False)
        assert time.monotonic() - began >= wait


def test_a_wait_ends_with_the_last_job_whatever_its_end(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    def fail() -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            (latest,) = board.recent(limit=1) or ("",)
            if latest and board.picture(latest).record.collection == "failing":
                board.settle(latest, Verdict("failed", reason="the disk is full"))
                return
            time.sleep(0.02)

    thread = threading.Thread(target=fail)
    thread.start()
    sent = quiet_http.post(
        "/v1/collections/failing/reports", content=lines(DOCUMENTS["reports"][0]), headers=LINES, params={"wait": 30}
    )
    thread.join()
    assert (sent.status_code, sent.json()["stored"], sent.json()["jobs"]) == (200, 0, {"failed": 1}), sent.text


@pytest.mark.parametrize("wait", [-1, MAX_WAIT_S + 1, "nan", "soon"])
def test_a_wait_has_the_bounds_of_every_wait(quiet_http: httpx.Client, wait: object) -> None:
    refused = quiet_http.post(
        "/v1/collections/slow/reports",
        content=lines(DOCUMENTS["reports"][0]),
        headers=LINES,
        params={"wait": str(wait)},
    )
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "wait")


def test_the_description_names_the_wait_and_both_answers(quiet_http: httpx.Client) -> None:
    route = quiet_http.get("/openapi.json").json()["paths"]["/v1/collections/{collection}/{kind}"]["post"]
    submit = quiet_http.get("/openapi.json").json()["paths"]["/v1/jobs"]["post"]
    waits = [next(each for each in found["parameters"] if each["name"] == "wait") for found in (route, submit)]
    assert waits[0]["schema"] == waits[1]["schema"]
    shapes = {status: route["responses"][status]["content"]["application/json"]["schema"] for status in ("200", "202")}
    assert [shape["$ref"].rpartition("/")[2] for shape in shapes.values()] == ["UploadOutcome", "UploadBody"]


def test_a_collection_that_is_being_filled_says_so(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    at = "/v1/collections/filling"
    quiet_http.post(f"{at}/reports", content=lines(DOCUMENTS["reports"][0]), headers=LINES)

    def answers(kind: str) -> list[httpx.Response]:
        return [
            quiet_http.post("/v1/jobs", json=search("filling", kind)),
            quiet_http.get(f"{at}/{kind}"),
            quiet_http.get(f"{at}/{kind}/r1"),
        ]

    for found in answers("reports"):
        assert (found.status_code, UNDER_WAY in found.json()["detail"]) == (404, True), found.text
        assert found.json()["errors"][0]["field"] == "collection"
    for found in answers("messages"):
        assert (found.status_code, UNDER_WAY in found.text) == (404, False)
    (job_id,) = board.recent(limit=1)
    board.settle(job_id, Verdict("failed", reason="no"))
    for found in answers("reports"):
        assert (found.status_code, UNDER_WAY in found.text) == (404, False)


def test_only_a_key_that_may_see_the_ingestion_hears_of_it(quiet: Settings, quiet_http: httpx.Client) -> None:
    quiet_http.post("/v1/collections/secret/reports", content=lines(DOCUMENTS["reports"][0]), headers=LINES)
    with keys_on(quiet) as keyring:
        loader = bearer(keyring, "secret", scopes=(Scope.SEARCH, Scope.INGEST))
        reader = bearer(keyring, "secret", scopes=(Scope.SEARCH,))
        stranger = bearer(keyring, "another", scopes=(Scope.SEARCH, Scope.INGEST, Scope.OPERATE))
        with GatewayHere(quiet) as guarded, httpx.Client(base_url=guarded.url, timeout=30) as http:
            told = [
                (found.status_code, UNDER_WAY in found.text)
                for key in (loader, reader, stranger)
                for found in (
                    http.post("/v1/jobs", json=search("secret"), headers=key),
                    http.get("/v1/collections/secret/reports", headers=key),
                )
            ]
    assert told == [(404, True)] * 2 + [(404, False)] * 4


def test_a_conflict_names_the_job_of_the_key(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    board.add_collections("reports", ["conflicts"])
    first = quiet_http.post("/v1/jobs", json=search("conflicts"), headers={"Idempotency-Key": "turn-1"})
    assert first.status_code == 202, first.text
    other = quiet_http.post("/v1/jobs", json=search("conflicts", query="other"), headers={"Idempotency-Key": "turn-1"})
    told = other.json()
    assert (other.status_code, told["job_id"]) == (409, first.json()["job_id"])
    assert told["job_id"] in told["detail"]
    assert told["links"]["self"] == f"/v1/jobs/{told['job_id']}"
    board.settle(told["job_id"], Verdict("done", result="{}"))
    again = quiet_http.post("/v1/jobs", json=search("conflicts", query="other"), headers={"Idempotency-Key": "turn-1"})
    assert (again.status_code, again.json()["job_id"]) == (409, told["job_id"])


def test_a_conflict_names_no_job_that_the_key_may_not_see(quiet: Settings, board: ValkeyBoard) -> None:
    """A key of both scopes asks, and loses the one for ingestion."""
    board.add_collections("reports", ["shared"])
    row = DOCUMENTS["reports"][0]
    ingest = {"kind": "ingest_reports", "collection": "shared", "documents": [row]}
    with keys_on(quiet) as keyring:
        made, written = keyring.add("both", scopes=(Scope.SEARCH, Scope.INGEST), collections=["shared"])
        key = {"Authorization": f"Bearer {written}", "Idempotency-Key": "turn-2"}
        with GatewayHere(quiet) as guarded, httpx.Client(base_url=guarded.url, timeout=30) as http:
            first = http.post("/v1/jobs", json=ingest, headers=key)
            assert first.status_code == 202, first.text
            seen = http.post("/v1/jobs", json=search("shared"), headers=key)
            assert seen.json()["job_id"] == first.json()["job_id"]
            with redis.Redis.from_url(quiet.redis_url) as server:
                fewer = made.model_copy(update={"scopes": frozenset((Scope.SEARCH,))})
                server.hset(STORED_AT, made.id, fewer.model_dump_json())
            deadline = time.monotonic() + 20
            while "job_id" in (hidden := http.post("/v1/jobs", json=search("shared"), headers=key)).json():
                assert time.monotonic() < deadline
                time.sleep(0.1)
    assert (hidden.status_code, first.json()["job_id"] in hidden.text) == (409, False)
