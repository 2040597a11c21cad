"""The HTTP gateway as a process of its own."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from querymill import ChatSession, IngestSession, MessageSearch, Querymill, UnknownCollection
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.worker import WorkerProcess
from tests.fixtures.deployment import Deployment


@pytest.fixture(scope="module")
def gateway(deployment: Deployment) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "querymill.gateway", "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | deployment.environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/healthz").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def ask(url: str, body: object = None) -> tuple[int, Any, str]:
    """Send a request; status, decoded body and media type."""
    sent = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    request = urllib.request.Request(url, data=sent, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            text, media = answer.read().decode(), answer.headers.get_content_type()
            return answer.status, json.loads(text) if media.endswith("json") else text, media
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read()), error.headers.get_content_type()


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
    mill.submit(IngestSession(collection="gateway-chats", session=session)).result(timeout=20)
    return "gateway-chats"


def test_the_chat_vector_search_answers_at_once(gateway: str, chats: str) -> None:
    asked = {"collection": chats, "query": "rain in Bergen", "similarity_threshold": None, "limit": 1}
    status, body, _ = ask(f"{gateway}/api/chat/vectors", asked)
    assert status == 200
    (hit,) = body["results"]
    assert (hit["message_id"], hit["session_id"], hit["session_name"], hit["user_name"]) == ("m1", "s1", "Rain", "Ada")
    assert (hit["message_role"], hit["vector_type"]) == ("user", "message")
    assert (body["total"], body["query"], body["similarity_threshold"]) == (2, "rain in Bergen", None)


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
    ({"collection": "nowhere"}, 404, "nowhere"),
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
    assert body["detail"] == "collection: no messages in 'nowhere'"
    assert chats not in json.dumps(body)
    with pytest.raises(UnknownCollection, match=chats):
        mill.submit(MessageSearch(collection="nowhere", query="rain"))
