"""What people say of hits: kept over HTTP, listed, and refused where it says nothing."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill import AsyncQuerymill, InvalidRequest, ListFeedback, Querymill, UnknownJob
from querymill_shared.board import ValkeyBoard, Verdict
from tests.fixtures.command_line import CommandLine
from tests.fixtures.console import read_page
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S
from tests.fixtures.tallies import until


@pytest.fixture
def fleet(http: httpx.Client, worker: object) -> str:
    """A collection with one report of two pages."""
    collection = f"fleet-{uuid4().hex[:8]}"
    pages = [{"page": 1, "text": "Nine ships sail from Bergen."}, {"page": 2, "text": "The harbour is deep."}]
    line = {"sha1": "r1", "title": "Fleet", "company": "Nordhav", "pages": pages}
    sent = http.post(
        f"/v1/collections/{collection}/reports", params={"wait": 50}, content=json.dumps(line),
        headers={"Content-Type": "application/x-ndjson"},
    )  # fmt: skip
    assert sent.status_code == 200, sent.text
    return collection


def asked(http: httpx.Client, collection: str, query: str = "", **fields: Any) -> tuple[str, dict[str, Any]]:
    search = {
        "kind": "reports",
        "collection": collection,
        "query": query or f"ships {uuid4().hex}",
        "return_parent_pages": True,
    } | fields
    result = http.post("/v1/jobs", params={"wait": 50}, json=search).json()
    return result["job_id"], search


def test_what_is_said_of_a_hit_is_kept_with_the_question(http: httpx.Client, mill: Querymill, fleet: str) -> None:
    job, search = asked(http, fleet)
    said = {"hit": "r1/page/1", "relevance": 1, "comment": "names the port"}
    for relevance in (1, 3):
        kept = http.post(f"/v1/jobs/{job}/feedback", params={"wait": 50}, json=said | {"relevance": relevance})
        assert kept.status_code == 200, kept.text
        assert kept.json()["total"] == 1
    listed = mill.submit(ListFeedback(collection=fleet, of="reports")).result(timeout=PATIENCE_S)
    (judged,) = listed.judgements
    assert (judged.job, judged.hit, judged.document) == (job, "r1/page/1", "r1")
    assert judged.place == "1"
    assert (judged.relevance, judged.comment) == (3, "names the port")
    assert judged.asked == search
    http.request("DELETE", f"/v1/collections/{fleet}/reports/r1", params={"wait": 50})
    assert mill.submit(ListFeedback(collection=fleet, of="reports")).result(timeout=PATIENCE_S).total == 0


def test_what_is_said_of_a_hit_among_all_is_said_of_the_search_of_its_kind(
    http: httpx.Client, mill: Querymill, fleet: str
) -> None:
    everything = {"kind": "search", "collections": [fleet], "query": "ships", "top_k": 1}
    found = http.post("/v1/jobs", params={"wait": 50}, json=everything)
    assert found.status_code == 200, found.text
    assert {hit["kind"] for hit in found.json()["results"]} == {"reports"}
    said = {"hit": "r1", "relevance": 2}
    kept = http.post(f"/v1/jobs/{found.json()['job_id']}/feedback", params={"wait": 50}, json=said)
    assert kept.status_code == 200, kept.text
    (judged,) = mill.submit(ListFeedback(collection=fleet, of="reports")).result(timeout=PATIENCE_S).judgements
    assert (judged.document, judged.asked["kind"], judged.asked["query"]) == ("r1", "reports", "ships")


def test_feedback_becomes_a_set_that_is_measured(
    http: httpx.Client, querymill: CommandLine, fleet: str, tmp_path: Path
) -> None:
    for relevance in (1, 2):
        job, _ = asked(http, fleet, "ships?")
        said = {"hit": "r1/page/1", "relevance": relevance}
        assert http.post(f"/v1/jobs/{job}/feedback", params={"wait": 50}, json=said).status_code == 200
    job, _ = asked(http, fleet, "a deep harbour")
    for hit, relevance in (("r1/page/2", 3), ("r1/page/1", 0)):
        http.post(f"/v1/jobs/{job}/feedback", params={"wait": 50}, json={"hit": hit, "relevance": relevance})
    out = tmp_path / "said"
    made = querymill("eval", "feedback", fleet, "--kind", "reports", "--out", out)
    assert made.returncode == 0, made.stderr
    assert "2 questions with 3 judgements, 2 of them relevant" in made.stdout
    measured = querymill("eval", out, "--kind", "reports", "--json")
    assert measured.returncode == 0, measured.stderr
    figures = json.loads(measured.stdout)
    assert (figures["queries"], figures["ndcg@10"]) == (2, 1.0)
    again = querymill("eval", "feedback", fleet, "--kind", "reports", "--out", out)
    assert (again.returncode, "must be a new or an empty folder" in again.stderr) == (2, True)
    few = querymill("eval", "weights", out, "--kind", "reports")
    assert (few.returncode, "must have at least 20 judged questions, has 2" in few.stderr) == (2, True)
    none = querymill("eval", "feedback", fleet, "--kind", "files", "--out", tmp_path / "none")
    assert (none.returncode, "no search of files" in none.stderr) == (2, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("said", "field", "rule"),
    [
        ({"hit": "r9/page/1", "relevance": 1}, "hit", "must be the id of a hit of the result, such as r1/page/1"),
        ({"hit": "r1/page/1", "relevance": 4}, "relevance", "3"),
        ({"hit": "r1/page/1"}, "relevance", ""),
        ({"hit": "r1/page/1", "relevance": 1, "stars": 5}, "stars", ""),
        ({"hit": "r1/page/1", "relevance": 1, "comment": "x" * 2_001}, "comment", "2000"),
    ],
)
def test_what_breaks_a_rule_is_named(
    http: httpx.Client, fleet: str, said: dict[str, Any], field: str, rule: str
) -> None:
    job, _ = asked(http, fleet)
    refused = http.post(f"/v1/jobs/{job}/feedback", json=said)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == field
    assert rule in error["rule"]


def test_a_document_stands_for_its_only_hit(http: httpx.Client, fleet: str) -> None:
    job, _ = asked(http, fleet, top_n=1)
    (hit,) = http.get(f"/v1/jobs/{job}/result").json()["results"]
    kept = http.post(f"/v1/jobs/{job}/feedback", params={"wait": 50}, json={"hit": hit["document"], "relevance": 1})
    assert kept.status_code == 200


def test_only_a_search_that_is_done_is_judged(quiet_http: httpx.Client, board: ValkeyBoard) -> None:
    endless = {"kind": "embed", "collection": "endless", "texts": [{"id": "a", "text": uuid4().hex}]}
    job = quiet_http.post("/v1/jobs", json=endless).json()["job_id"]
    open_job = quiet_http.post(f"/v1/jobs/{job}/feedback", json={"hit": "a", "relevance": 1})
    assert open_job.status_code == 422
    board.settle(job, Verdict("cancelled"))
    unknown = quiet_http.post(f"/v1/jobs/{'0' * 32}/feedback", json={"hit": "a", "relevance": 1})
    assert unknown.status_code == 404


def test_the_page_of_a_job_adds_its_question_to_a_set(
    http: httpx.Client, mill: Querymill, querymill: CommandLine, fleet: str, tmp_path: Path
) -> None:
    query = f"ships {uuid4().hex}"
    everything = {"kind": "search", "collections": [fleet], "query": query}
    job = http.post("/v1/jobs", params={"wait": 50}, json=everything).json()["job_id"]
    shown = http.get(f"/console/jobs/{job}")
    page = read_page(shown.text, shown.headers)
    (choice, *_) = page.all("select", name="relevance-1")
    (form,) = page.all("form", id=str(choice["form"]))
    (token, *_) = page.all("input", name="token")
    at = str(form["action"])
    assert at == f"/console/jobs/{job}/feedback"
    assert http.post(at, data={"relevance-1": "3"}).status_code == 403  # no page of ours sent it
    nothing = http.post(at, data={"token": str(token["value"]), "relevance-1": ""})
    assert (nothing.status_code, "choose for at least one hit" in nothing.text) == (422, True)
    sent = http.post(at, data={"token": str(token["value"]), "relevance-1": "3"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/console/jobs/{job}?judged=1#s-hits")
    assert "The question is in your set, with 1 judgement." in http.get(sent.headers["location"]).text

    def kept() -> int:
        return mill.submit(ListFeedback(collection=fleet, of="reports")).result(timeout=PATIENCE_S).total

    until(lambda: kept() == 1)
    made = querymill("eval", "feedback", fleet, "--kind", "reports", "--out", tmp_path / "set")
    assert made.returncode == 0, made.stderr
    assert query in (tmp_path / "set" / "queries.jsonl").read_text()
    open_job = mill.submit(ListFeedback(collection=fleet, of="reports"))
    open_job.result(timeout=PATIENCE_S)
    assert "my set" not in http.get(f"/console/jobs/{open_job.id}").text  # it is no search


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_client_says_how_relevant_a_hit_is(
    http: httpx.Client, gateway: str, deployment: Deployment, fleet: str, is_remote: bool
) -> None:
    job, _ = asked(http, fleet, top_n=1)
    (hit,) = http.get(f"/v1/jobs/{job}/result").json()["results"]
    named = f"r1/page/{hit['page']}"
    connection: dict[str, Any] = {"url": gateway} if is_remote else {"settings": deployment.settings}
    with Querymill(**connection) as client:
        assert client.job(job).feedback(named, 1).result(timeout=PATIENCE_S).total == 1
        for said, relevance, field in (("r9", 1, "hit"), (named, 4, "relevance")):
            with pytest.raises(InvalidRequest) as refused:
                client.job(job).feedback(said, relevance)
            assert refused.value.errors[0][0].rpartition(".")[2] == field
        with pytest.raises(UnknownJob):
            client.job("0" * 32).feedback(named, 1)

    async def say_so() -> int:
        async with AsyncQuerymill(**connection) as client:
            kept = await client.job(job).feedback(named, 3, "exactly")
            await kept.result(timeout=PATIENCE_S)
            listed = await client.submit(ListFeedback(collection=fleet, of="reports"))
            (judged,) = (await listed.result(timeout=PATIENCE_S)).judgements
            assert (judged.hit, judged.comment) == (named, "exactly")
            return judged.relevance

    assert asyncio.run(say_so()) == 3
