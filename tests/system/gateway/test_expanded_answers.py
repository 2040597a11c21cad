"""What a chat model writes beside a question that is answered: where one writes answers, and nowhere else."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from querymill import Querymill
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.expansion import EXPAND_WITHIN_S
from querymill_workers.jobs.heartbeat import HeartbeatThread
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream
from tests.fixtures.deployment import Deployment, ended
from tests.fixtures.gateways import GatewayHere
from tests.fixtures.people import ingestion
from tests.fixtures.tallies import until

QUESTION, MEANT = "which line stays open", "keepalive interval of every idle connection: thirty seconds"
WRITTEN = "keepalive interval of an idle connection, thirty seconds: the line"
REFUSAL = Answer(b'{"error": {"message": "no", "type": "invalid_request_error"}}', 400)


@pytest.fixture(scope="module")
def url(deployment: Deployment) -> Iterator[str]:
    with GatewayHere(deployment.settings) as gateway:
        yield gateway.url


@pytest.fixture
def chats(mill: Querymill, worker: object, openai_server: OpenAIServer) -> str:
    """More messages with the words of the question than an answer is written from, and one that it means."""
    said = [f"the line at desk {number} stays open" for number in range(12)] + [MEANT]
    sessions = [
        {
            "session_id": f"s{number}",
            "started_at": "2026-03-01T10:00:00Z",
            "messages": [{"message_id": f"m{number}", "role": "user", "text": text}],
        }
        for number, text in enumerate(said)
    ]
    ended(mill, mill.submit(ingestion("messages", "answered", *sessions)))
    return "answered/messages"


def replying(hypothesis: Answer) -> Any:
    """Write the answer from all passages, and whatever else is asked for as given."""
    return lambda request: chat_stream("It does [1].") if request.get("stream") else hypothesis


def ask(url: str, model: str, **more: Any) -> dict[str, Any]:
    asked = {"model": model, "messages": [{"role": "user", "content": QUESTION}]} | more
    reply = httpx.post(f"{url}/v1/chat/completions", json=asked, timeout=60).raise_for_status().json()
    assert reply["choices"][0]["message"]["content"] == "It does [1]."
    return reply["querymill"]  # type: ignore[no-any-return]


def search_in(mill: Querymill, answered: dict[str, Any]) -> Any:
    return mill.job(answered["jobs"][0]).result(timeout=10)


def test_an_answer_is_written_from_what_the_words_of_the_question_do_not_find(
    url: str, chats: str, mill: Querymill, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = replying(chat_answer(WRITTEN))
    expanded = ask(url, chats)
    found = search_in(mill, expanded)
    assert (expanded["missing"], found.expansion_texts) == ([], {"hyde": (WRITTEN,)})
    assert MEANT in [hit.content for hit in found.results]
    plain = search_in(mill, ask(url, chats, expand=False))
    assert MEANT not in [hit.content for hit in plain.results]
    assert (plain.expansion_texts, [stage.name for stage in plain.stages if "hyde" in stage.name]) == ({}, [])


@pytest.mark.parametrize(
    ("hypothesis", "within_s"),
    [(REFUSAL, 3.0), (chat_answer(WRITTEN, after_s=40), EXPAND_WITHIN_S + 4)],
    ids=["refuses", "is slow"],
)
def test_a_model_that_writes_nothing_beside_the_question_costs_the_answer_little(
    url: str, chats: str, mill: Querymill, openai_server: OpenAIServer, hypothesis: Answer, within_s: float
) -> None:
    openai_server.script.chat = replying(hypothesis)
    begun = time.monotonic()
    answered = ask(url, chats)
    assert time.monotonic() - begun < within_s
    assert [each.partition(":")[0] for each in answered["missing"]] == ["hyde"]
    assert len(search_in(mill, answered).results) == 10


def test_where_a_worker_writes_no_answers_no_step_is_added(
    url: str, chats: str, mill: Querymill, openai_server: OpenAIServer, deployment: Deployment
) -> None:
    openai_server.script.chat = replying(chat_answer(WRITTEN))
    turns = [{"role": "user", "content": "what of the desks?"}, {"role": "assistant", "content": "They have lines."}]
    with quoting_worker(deployment):
        openai_server.requests.clear()
        answered = ask(url, chats, messages=[*turns, {"role": "user", "content": "which of them stays open?"}])
        (writing,) = openai_server.seen("completions")
    assert writing["stream"]
    found = search_in(mill, answered)
    assert (answered["missing"], [stage.name for stage in found.stages]) == ([], ["search"])


@contextmanager
def quoting_worker(deployment: Deployment) -> Iterator[None]:
    """Beside those that have a chat model, a worker process that has none says what it is."""
    with closing(ValkeyBoard.connect(deployment.settings)) as board:
        heartbeat = HeartbeatThread(board, name="quoting", lease_s=deployment.settings.querymill_lease_s)
        heartbeat.begin()
        heartbeat.describe(queues=["expand"], slots=1, writes=False)
        try:
            yield
        finally:
            heartbeat.end()
            until(lambda: all(life.name != "quoting" for life in board.workers()), within_s=10)
