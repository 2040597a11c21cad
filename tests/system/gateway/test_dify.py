"""Dify's external knowledge API, with the requests that its pages document, against a gateway with keys and workers."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import httpx
import pytest

from querymill.keys import Keyring, Scope
from querymill_shared.board import ValkeyBoard
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere, bearer, keys_on

QUESTION = {"query": "Nordhav: revenue rose to?", "retrieval_setting": {"top_k": 2, "score_threshold": 0.0}}


@pytest.fixture(scope="module")
def guarded(deployment: Deployment) -> Iterator[tuple[str, dict[str, str], dict[str, str], dict[str, str]]]:
    """The address of a gateway, a key of the collection, one of another, and one that may not search."""
    with keys_on(deployment.settings) as keyring, GatewayHere(deployment.settings) as gateway:
        own, other = bearer(keyring, "filings"), bearer(keyring, "elsewhere")
        yield gateway.url, own, other, bearer(keyring, "filings", scopes=(Scope.INGEST,))


@pytest.fixture
def dify(guarded: Any, filings: str, worker: WorkerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=guarded[0], headers=guarded[1], timeout=PATIENCE_S) as client:
        yield client


def asked(dify: httpx.Client, knowledge: str = "filings", **more: Any) -> Any:
    answer = dify.post("/retrieval", json={"knowledge_id": knowledge} | QUESTION | more)
    assert answer.status_code == 200, answer.text
    return answer.json()["records"]


def test_records_have_what_dify_reads(dify: httpx.Client, guarded: Any) -> None:
    records = asked(dify)
    assert [set(record) for record in records] == [{"content", "score", "title", "metadata"}] * 2
    first = records[0]
    assert (first["content"], first["title"]) == ("revenue rose to forty million", "Nordhav Shipping 2022, page 2")
    assert first["metadata"].items() >= {
        "id": "reports:filings/a1#p2", "document": "a1", "page": 2, "company": "Nordhav",
        "link": f"{guarded[0]}/console/collections/filings/reports/a1?page=2",
    }.items()  # fmt: skip
    assert 1 >= records[0]["score"] >= records[1]["score"] >= 0
    assert asked(dify, "filings/reports") == records


def test_records_below_the_threshold_are_left_out(dify: httpx.Client) -> None:
    every = asked(dify, retrieval_setting={"top_k": 10, "score_threshold": 0})
    least = (every[0]["score"] + every[-1]["score"]) / 2
    near = asked(dify, retrieval_setting={"top_k": 10, "score_threshold": least})
    assert near == [record for record in every if record["score"] >= least]
    assert 0 < len(near) < len(every)
    assert asked(dify, retrieval_setting={"top_k": 10, "score_threshold": 1}) == []


@pytest.mark.parametrize(
    ("condition", "documents"),
    [
        ({"conditions": [{"name": "company", "comparison_operator": "is", "value": "Borough Foods"}]}, {"b1"}),
        ({"conditions": [{"name": "title", "comparison_operator": "end with", "value": "2021"}]}, {"a2"}),
        ({"conditions": [{"name": ["company", "title"], "comparison_operator": "contains", "value": "Foods"}]}, {"b1"}),
        (
            {
                "logical_operator": "or",
                "conditions": [
                    {"name": "period", "comparison_operator": "=", "value": 2021},
                    {"name": "company", "comparison_operator": "start with", "value": "Borough"},
                ],
            },
            {"a2", "b1"},
        ),
        ({"conditions": [{"name": "category", "comparison_operator": "not empty"}]}, set()),
        (None, {"a1", "a2", "b1"}),  # Dify writes so what it leaves out
    ],
)
def test_conditions_choose_the_documents(dify: httpx.Client, condition: Any, documents: set[str]) -> None:
    setting = {"top_k": 10, "score_threshold": 0.0}
    found = asked(dify, query="revenue", retrieval_setting=setting, metadata_condition=condition)
    assert {record["metadata"]["document"] for record in found} == documents


def refused(client: httpx.Client, body: Any, headers: dict[str, str] | None = None) -> tuple[int, int, str]:
    answer = client.post("/retrieval", json=body, headers=headers)
    said = answer.json()
    assert set(said) == {"error_code", "error_msg"}
    return answer.status_code, said["error_code"], said["error_msg"]


def test_errors_have_difys_codes(dify: httpx.Client, guarded: Any, deployment: Deployment) -> None:
    question = {"knowledge_id": "filings"} | QUESTION
    assert refused(dify, question, {"Authorization": ""})[:2] == (403, 1001)
    assert refused(dify, question, {"Authorization": "Basic x"})[:2] == (403, 1001)
    assert refused(dify, question, {"Authorization": "Bearer qm_wrong"})[:2] == (403, 1002)
    assert refused(dify, question, guarded[3]) == (403, 1002, "needs scope search")
    unknown = (404, 2001, "knowledge_id: no such collection, or this key may not use it")
    assert refused(dify, question, guarded[2]) == unknown
    assert refused(dify, question | {"knowledge_id": "nowhere"}) == unknown
    with (
        closing(ValkeyBoard.connect(deployment.settings)) as board,
        closing(Keyring.connect(deployment.settings)) as keyring,
    ):
        holds_reports = f"reports-{uuid4().hex}"
        board.add_collections("reports", [holds_reports])
        own = bearer(keyring, holds_reports)
        assert refused(dify, question | {"knowledge_id": f"{holds_reports}/messages"}, own) == unknown
        assert dify.post("/retrieval", json=question | {"knowledge_id": holds_reports}, headers=own).status_code == 200
        board.remove_collections("reports", [holds_reports])
    status, code, said = refused(dify, question | {"retrieval_setting": {"top_k": 0, "score_threshold": 0}})
    assert (status, code) == (422, 422)
    assert said.startswith("retrieval_setting.top_k: ")
    hidden = {"conditions": [{"name": "published_at", "comparison_operator": "not empty"}]}
    assert "published_at: hits of reports do not show it" in refused(dify, question | {"metadata_condition": hidden})[2]
    with closing(Keyring.connect(deployment.settings)) as keyring:
        hurried = bearer(keyring, "filings", requests_per_minute=1)
    assert dify.post("/retrieval", json=question, headers=hurried).status_code == 200
    assert refused(dify, question, hurried)[:2] == (429, 429)


def test_a_knowledge_base_can_be_connected(dify: httpx.Client) -> None:
    # Dify sends the key alone, and takes these statuses for a wrong address, a wrong key and a server that is away.
    assert dify.post("/retrieval").status_code not in (403, 404, 502)
    assert dify.post("/retrieval", headers={"Authorization": "Bearer qm_wrong"}).status_code == 403
