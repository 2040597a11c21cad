"""The compatible route, and whether the gateway is alive and ready."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from querymill import ChatSession, IngestMessages, MessageSearch, Querymill, UnknownCollection
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.gateways import ask


def test_it_lives_and_is_ready(gateway: str) -> None:
    assert ask(f"{gateway}/healthz")[:2] == (200, {"status": "ok"})
    assert ask(f"{gateway}/readyz")[:2] == (200, {"status": "ready"})


def test_metrics_are_the_fleets(gateway: str) -> None:
    status, text, media = ask(f"{gateway}/metrics")
    assert (status, media) == (200, "text/plain")
    assert "querymill_budget_pauses_total" in text


def test_what_is_not_there_is_a_problem(gateway: str) -> None:
    status, body, media = ask(f"{gateway}/v2/anything")
    assert (status, media, body["status"], body["title"]) == (404, "application/problem+json", 404, "Not Found")


SESSION = {
    "session_id": "s1", "name": "Rain", "user_name": "Ada", "started_at": "2026-03-01T09:00:00Z",
    "messages": [
        {"message_id": "m1", "role": "user", "text": "how much rain fell in Bergen in January"},
        {"message_id": "m2", "role": "assistant", "text": "the station counted 310 millimetres"},
    ],
}  # fmt: skip


@pytest.fixture
def chats(worker: WorkerProcess, mill: Querymill, openai_server: OpenAIServer) -> str:
    session = ChatSession.model_validate(SESSION)
    stored = mill.submit(IngestMessages(collection="gateway-chats", documents=(session,))).result(timeout=20)
    if stored.embedding_jobs:
        mill.job(stored.embedding_jobs[0]).result(timeout=20)
    return "gateway-chats"


def test_the_chat_vector_search_answers_at_once(gateway: str, chats: str) -> None:
    asked = {"collection": chats, "query": "rain in Bergen", "similarity_threshold": None, "limit": 1}
    status, body, _ = ask(f"{gateway}/api/chat/vectors", asked)
    assert status == 200
    (hit,) = body["results"]
    assert (hit["message_id"], hit["session_id"], hit["session_name"], hit["user_name"]) == ("m1", "s1", "Rain", "Ada")
    assert (hit["message_role"], hit["vector_type"]) == ("user", "message")
    assert (body["total"], body["query"], body["similarity_threshold"]) == (2, "rain in Bergen", None)


@pytest.mark.nightly  # by day: one caller, above
def test_400_callers_wait_at_once(gateway: str, chats: str) -> None:
    def status_of(number: int) -> int:
        asked = {"collection": chats, "query": f"rain in Bergen in year {number}", "deadline": 60}
        return ask(f"{gateway}/api/chat/vectors", asked)[0]

    with ThreadPoolExecutor(400) as callers:
        assert Counter(callers.map(status_of, range(400))) == {200: 400}


BAD = [
    ({"limit": 0}, 422, "limit"),
    ({"similarity_threshold": 2}, 422, "similarity_threshold"),
    ({"query": " "}, 422, "query"),
    ({"top": 3}, 422, "top"),
    ({"collection": "nowhere"}, 404, "collection"),
]


@pytest.mark.parametrize(("change", "expected", "names"), BAD)
def test_what_breaks_a_rule_is_a_problem_that_names_it(
    gateway: str, chats: str, change: dict[str, Any], expected: int, names: str
) -> None:
    status, body, media = ask(f"{gateway}/api/chat/vectors", {"collection": chats, "query": "rain"} | change)
    assert (status, media) == (expected, "application/problem+json")
    assert names in body["detail"]


def test_a_body_that_is_no_json_is_a_problem(gateway: str) -> None:
    status, body, _ = ask(f"{gateway}/api/chat/vectors", b"{no")
    assert status == 422
    assert "JSON" in body["detail"]


def test_an_unknown_collection_names_no_other(gateway: str, chats: str, mill: Querymill) -> None:
    status, body, _ = ask(f"{gateway}/api/chat/vectors", {"collection": "nowhere", "query": "rain"})
    assert status == 404
    assert body["errors"] == [{"field": "collection", "rule": "holds nothing of this kind that the key may see"}]
    assert chats not in json.dumps(body)
    with pytest.raises(UnknownCollection, match=chats):
        mill.submit(MessageSearch(collection="nowhere", query="rain"))
