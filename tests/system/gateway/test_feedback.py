"""What people say of hits: kept over HTTP, listed, and refused where it says nothing."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill import ListFeedback, Querymill
from querymill_shared.board import ValkeyBoard, Verdict
from tests.fixtures.command_line import CommandLine
from tests.fixtures.gateways import PATIENCE_S


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


def asked(http: httpx.Client, collection: str, query: str = "") -> tuple[str, dict[str, Any]]:
    search = {
        "kind": "reports",
        "collection": collection,
        "query": query or f"ships {uuid4().hex}",
        "return_parent_pages": True,
    }
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
    everything = {"kind": "search", "collections": [fleet], "query": "ships"}
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
    job, _ = asked(http, fleet)
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
