"""Providers that accept less than others: a refused parameter is left out, and remembered for the model."""

import gzip
import json
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.http_judge import HttpJudge, RerankEndpoint, RerankShape, open_endpoint
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.inference.rankings import RelevanceByIndex
from querymill_workers.inference.work import Unacceptable
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fakes.answers import judgement
from tests.fakes.openai_server import (
    Answer,
    OpenAIServer,
    chat_answer,
    chat_stream,
    embedded,
    embedding_answer,
    refusing,
    rejection,
)
from tests.fakes.vectors import vector_of
from tests.fixtures.inference import Provider

TURNS = [ChatTurn(role="user", content="how many ships are there in the harbour of Rotterdam?")]
TEXTS = ["nine ships", "seven ships", "one ship"]


def caller(seconds: float = 60.0) -> Caller:
    return Caller("c", Lane.INTERACTIVE, time.monotonic() + seconds)


def ended(provider: Provider) -> Mapping[str, float]:
    """Count the calls by how they ended, over all models."""
    provider.fleet_counters.flush()
    counts = counters.read(provider.client)
    return {
        name: count for name, count in counts.items() if name.startswith("provider_calls/") and name.count("/") == 1
    }


def replied(request: dict[str, Any]) -> Answer:
    if request.get("stream"):
        return chat_stream("nine ", "ships")
    return chat_answer(judgement() if "response_format" in request else "nine ships")


def streamed(chat: ChatModel) -> str:
    heard: list[str] = []

    def hear(part: str) -> bool:
        heard.append(part)
        return True

    chat.stream(TURNS, max_tokens=50, caller=caller(), hear=hear)
    return "".join(heard)


def judged(chat: ChatModel) -> float:
    turns = [*TURNS, ChatTurn(role="user", content=f"judge at {time.monotonic()}")]
    return chat.structured(turns, AnswerScoresReply, max_tokens=50, caller=caller())[0].grounded


REFUSED = [
    ["max_completion_tokens"], ["max_completion_tokens", "max_tokens"], ["temperature", "frequency_penalty"],
    ["stream_options"], ["temperature", "stream_options", "max_completion_tokens", "json_schema"],
]  # fmt: skip


@pytest.mark.parametrize("form", ["openai", "pydantic"])
@pytest.mark.parametrize("names", REFUSED, ids=" ".join)
def test_a_chat_model_is_asked_without_what_it_refuses(
    provider: Provider, openai_server: OpenAIServer, names: list[str], form: Any
) -> None:
    openai_server.script.chat = refusing(names, replied, form=form)
    chat = provider.chat()
    assert (streamed(chat), judged(chat)) == ("nine ships", 0.9)
    learned = len(openai_server.requests)
    assert (streamed(chat), judged(chat)) == ("nine ships", 0.9)
    assert len(openai_server.requests) == learned + 2, "what was refused is remembered"
    assert ended(provider) == {"provider_calls/answered": 4}, "no call counts as a failure"


def test_a_model_that_knows_no_format_at_all_still_judges(provider: Provider, openai_server: OpenAIServer) -> None:
    def fenced(request: dict[str, Any]) -> Answer:
        return chat_answer(f"```json\n{judgement()}\n```")

    openai_server.script.chat = refusing(["json_schema", "json_object"], fenced)
    assert judged(provider.chat()) == 0.9
    assert "response_format" not in openai_server.seen("completions")[-1]


def test_a_model_that_does_not_stream_gives_its_answer_at_once(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = refusing(["stream"], replied)
    assert streamed(provider.chat()) == "nine ships"


def test_the_first_error_of_a_stream_may_refuse_a_parameter(provider: Provider, openai_server: OpenAIServer) -> None:
    error = {"error": {"message": "frequency_penalty is not supported", "code": 400}}

    def script(request: dict[str, Any]) -> Answer:
        if "frequency_penalty" not in request:
            return replied(request)
        headers = {"Content-Type": "text/event-stream"}
        return Answer(b"", headers=headers, events=[f"data: {json.dumps(error)}\n\n".encode()])

    openai_server.script.chat = script
    assert streamed(provider.chat()) == "nine ships"


def test_what_nothing_helps_against_is_told_in_the_providers_words(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    said = "the tool harbour_of is unknown: how many ships are there in the harbour of Rotterdam?"
    openai_server.script.chat = lambda request: rejection({"message": said, "param": "tools"})
    for ask in (streamed, judged):
        with pytest.raises(Refused) as caught:
            ask(provider.chat())
        assert str(caught.value).startswith("chat model rejected: HTTP 400: ")
        assert "tool harbour_of is unknown" in str(caught.value)
        assert "Rotterdam" not in str(caught.value)
    assert len(openai_server.requests) == 2
    assert set(ended(provider)) == {"provider_calls/rejected"}


# Embeddings.


@pytest.mark.parametrize(
    "names", [["encoding_format"], ["input_type"], ["encoding_format", "input_type"]], ids=" ".join
)
@pytest.mark.parametrize("form", ["openai", "pydantic"])
def test_texts_are_embedded_without_what_the_provider_refuses(
    provider: Provider, openai_server: OpenAIServer, names: list[str], form: Any
) -> None:
    openai_server.script.embeddings = refusing(names, embedded, form=form)
    embeddings = provider.embeddings()
    for text in TEXTS:
        found, _ = embeddings.embed([text], input_type="query", caller=caller())
        np.testing.assert_allclose(found[0], vector_of(text), rtol=1e-6)
    assert len(openai_server.requests) == len(names) + len(TEXTS)
    assert not set(names) & openai_server.seen("embeddings")[-1].keys()
    assert ended(provider) == {"provider_calls/answered": 3}


def test_a_refused_text_is_told_in_the_providers_words_and_refuses_no_parameter(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda request: rejection({"message": "the input is too long: nine ships"})
    with pytest.raises(Unacceptable) as caught:
        provider.embeddings().embed(["nine ships"], input_type="query", caller=caller())
    assert str(caught.value) == "embedding rejected: HTTP 400: the input is too long: …"
    assert len(openai_server.requests) == 1


def edited(edit: Callable[[Any], object]) -> Callable[[dict[str, Any]], Answer]:
    """Embed honestly, but change the items of the response."""

    def script(request: dict[str, Any]) -> Answer:
        reply = json.loads(embedding_answer([vector_of(text).tolist() for text in request["input"]]).body)
        edit(reply["data"])
        reply["usage"] = None
        return Answer(json.dumps(reply).encode())

    return script


EDITS: dict[str, Callable[[Any], object]] = {
    "another order, no index where it is 0": lambda items: items[0].pop("index") or items.reverse(),
    "Base64": lambda items: [
        item.update(embedding=b64encode(struct.pack(f"<{len(item['embedding'])}f", *item["embedding"])).decode())
        for item in items
    ],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_vectors_that_have_arrived_are_read_whatever_their_index(
    provider: Provider, openai_server: OpenAIServer, edit: Callable[[Any], object]
) -> None:
    openai_server.script.embeddings = edited(edit)
    found, _ = provider.embeddings().embed(TEXTS, input_type="passage", caller=caller())
    for row, text in zip(found, TEXTS, strict=True):
        np.testing.assert_allclose(row, vector_of(text), rtol=1e-6)
    assert len(openai_server.requests) == 1


def test_a_compressed_reply_is_read(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda request: Answer(
        gzip.compress(embedded(request).body), headers={"Content-Encoding": "gzip"}
    )
    found, _ = provider.embeddings().embed(TEXTS, input_type="passage", caller=caller())
    np.testing.assert_allclose(found[0], vector_of(TEXTS[0]), rtol=1e-6)


def test_a_list_of_parameters_that_is_refused_at_once_costs_one_repetition(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    unknown = ("max_completion_tokens", "frequency_penalty")
    places = [{"loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in unknown]

    def script(request: dict[str, Any]) -> Answer:
        if request.keys() & set(unknown):
            return Answer(json.dumps({"detail": places}).encode(), status=422)
        return replied(request)

    openai_server.script.chat = script
    assert streamed(provider.chat()) == "nine ships"
    first, second = openai_server.seen("completions")
    assert second["max_tokens"] == first["max_completion_tokens"]


# Rerank endpoints.


@pytest.mark.parametrize(
    ("shape", "names"), [("cohere", ["top_n"]), ("tei", ["truncate"])], ids=lambda value: str(value)
)
def test_an_endpoint_is_asked_without_what_it_refuses(
    provider: Provider, openai_server: OpenAIServer, shape: RerankShape, names: list[str]
) -> None:
    entries = [{"index": "1", "relevance_score": 0.75}, {"relevance_score": 0.25}]
    reply: Any = entries if shape == "tei" else {"results": entries}
    openai_server.script.rerank = refusing(names, lambda request: Answer(json.dumps(reply).encode()), form="pydantic")
    gateway: Gateway[RelevanceByIndex] = Gateway(provider.account(model="judge"), "rerank endpoint", timeout_s=5)
    with open_endpoint(provider.url, "k") as client:
        judge = HttpJudge(
            RerankEndpoint(client, provider.url, model="judge", shape=shape),
            gateway,
            provider.ledger(),
            passage_tokens=1000,
        )
        for _ in range(2):
            assert judge.judge("how many?", {"a": "x", "b": "y"}, caller=caller())[0] == {"a": 0.25, "b": 0.75}
    assert len(openai_server.requests) == 3
    assert ended(provider) == {"provider_calls/answered": 2}


def test_the_words_of_a_rerank_endpoint_are_the_reason(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.rerank = lambda request: Answer(b'{"message": "invalid model id"}', status=400)
    gateway: Gateway[RelevanceByIndex] = Gateway(provider.account(model="judge"), "rerank endpoint", timeout_s=5)
    with open_endpoint(provider.url, "k") as client:
        judge = HttpJudge(
            RerankEndpoint(client, provider.url, model="judge", shape="cohere"),
            gateway,
            provider.ledger(),
            passage_tokens=1000,
        )
        with pytest.raises(Refused, match="rerank endpoint rejected: HTTP 400: invalid model id"):
            judge.judge("how many?", {"a": "x"}, caller=caller())
