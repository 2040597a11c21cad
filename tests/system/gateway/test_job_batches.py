"""Many jobs in one request: each part is answered by itself."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill_shared.board import ValkeyBoard
from querymill_shared.settings import Settings
from tests.fixtures.gateways import GatewayHere, bearer, keys_on
from tests.system.gateway.test_jobs import endless, search

BATCH = "/v1/jobs:batch"


def part(request: Any, key: str | None = None) -> dict[str, Any]:
    return {"request": request} | ({} if key is None else {"idempotency_key": key})


def send(http: httpx.Client, *parts: Any, wait: float = 0, **more: Any) -> list[dict[str, Any]]:
    answer = http.post(BATCH, params={"wait": wait}, json={"jobs": parts}, **more)
    assert answer.status_code == 200, answer.text
    jobs: list[dict[str, Any]] = answer.json()["jobs"]
    return jobs


def test_a_bad_part_costs_no_other(http: httpx.Client, filings: str) -> None:
    answers = send(
        http,
        part(search(filings, "how many ships are there")),
        part({"kind": "reports", "collection": filings, "query": "", "ships": 9}),
        part({"kind": "poems"}),
        part(search("nothing-here", "how many ships")),
        part(search(filings), key="not visible"),
        "no part",
        part(search(filings, "which dividend")),
        wait=50,
    )
    assert [answer["status"] for answer in answers] == [200, 422, 422, 404, 422, 422, 200]
    assert answers[0]["job"]["state"] == "done"
    assert answers[0]["result"]["job_id"] == answers[0]["job"]["job_id"]
    assert {error["field"] for error in answers[1]["problem"]["errors"]} == {"query", "ships"}
    assert [answer["problem"]["errors"][0]["field"] for answer in answers[2:5]] == [
        "kind", "collection", "idempotency_key",
    ]  # fmt: skip


def test_each_part_has_an_idempotency_key_of_its_own(quiet_http: httpx.Client) -> None:
    asked, key = endless(), uuid4().hex
    first, again, other, keyless = send(
        quiet_http, part(asked, key), part(asked, key), part(endless(), key), part(asked)
    )
    assert first["job"]["job_id"] == again["job"]["job_id"] != keyless["job"]["job_id"]
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert (other["status"], other["problem"]["job_id"]) == (409, first["job"]["job_id"])
    alone = quiet_http.post("/v1/jobs", json=asked, headers={"Idempotency-Key": key})
    assert alone.json()["job_id"] == first["job"]["job_id"]


def test_parts_are_accepted_in_their_order(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    answers = send(quiet_http, *[part(endless()) for _ in range(20)])
    jobs = [answer["job"]["job_id"] for answer in answers]
    versions = [claim.accepted_us for job_id in jobs for claim in board.claim_steps(
        job_id, board.picture(job_id).steps[0].name, life="", limit=1).held]  # fmt: skip
    assert len(versions) == 20
    assert versions == sorted(versions)


def test_a_part_whose_time_is_up_is_answered_with_its_job(quiet_http: httpx.Client) -> None:
    (answer,) = send(quiet_http, part(endless()), wait=0.05)
    assert (answer["status"], answer["job"]["state"]) == (202, "queued")
    assert "result" not in answer


def test_the_parts_of_a_batch_are_bounded(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    before = board.recent(limit=1)
    for jobs, rule in (
        ([], "List should have at least 1 item after validation, not 0"),
        ([part(endless())] * 101, "List should have at most 100 items after validation, not 101"),
        ({}, "Input should be a valid array"),
    ):
        refused = quiet_http.post(BATCH, json={"jobs": jobs})
        assert (refused.status_code, refused.json()["errors"]) == (422, [{"field": "jobs", "rule": rule}])
    unknown = quiet_http.post(BATCH, json={"jobs": [part(endless())], "wait": 5})
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (422, "wait")
    assert quiet_http.post(BATCH, content=b"[", headers={"Content-Type": "application/json"}).status_code == 422
    assert board.recent(limit=1) == before


def test_a_key_may_do_in_a_batch_what_it_may_alone(quiet: Settings) -> None:
    with keys_on(quiet) as keyring, GatewayHere(quiet) as gateway:
        http = httpx.Client(base_url=gateway.url, timeout=60, headers=bearer(keyring, "seen", requests_per_minute=10))
        with http:
            hidden, forbidden = send(
                http, part(search("hidden")), part({"kind": "reindex", "of": "messages", "collection": "seen"})
            )
            assert (hidden["status"], forbidden["status"]) == (404, 403)
            six = http.post(BATCH, json={"jobs": [part(search("seen"))] * 6})
            assert (six.json()["jobs"][5]["status"], six.headers["RateLimit"].split(";")[1]) == (404, "r=2")
            never = http.post(BATCH, json={"jobs": [part(search("seen"))] * 11})
            assert "the key allows so many requests per minute" in never.json()["detail"]
            late = http.post(BATCH, json={"jobs": [part(search("seen"))] * 2})
            assert (late.status_code, late.json()["type"]) == (429, "/problems/rate")


@pytest.mark.parametrize("path", ["messages/m1", "messages?all=true"])
def test_a_deletion_waits_as_long_as_its_caller_says(quiet_http: httpx.Client, board: ValkeyBoard, path: str) -> None:
    board.add_collections("messages", ["kept"])
    accepted = quiet_http.delete(
        f"/v1/collections/kept/{path}", params={"wait": 0} | dict(httpx.QueryParams(path.partition("?")[2]))
    )
    assert (accepted.status_code, accepted.json()["state"]) == (202, "queued")
    assert accepted.elapsed.total_seconds() < 5
