"""The table of providers and features: each cell by real HTTP through the real gateway, as the documentation shows it.

The exchanges are data of ours in ``tests/fixtures/providers``; the page of the documentation is made from them.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import refusals_key
from querymill_workers.inference.answers import AnswerScoresReply
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.http_judge import PLAIN_PASSAGES, HttpJudge, RerankEndpoint, open_endpoint
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.inference.rankings import RelevanceByIndex
from querymill_workers.inference.refusals import HARMLESS, HalvingJudge, TextRefusal, embed_each
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fakes.openai_server import Answer, OpenAIServer
from tests.fakes.vectors import vector_of
from tests.fixtures.inference import Provider
from tests.fixtures.providers import FEATURES, cells, filled, providers
from tests.fixtures.short_forms import named_at_night

QUESTION = "how many ships are there?"
TURNS = [ChatTurn(role="user", content=QUESTION)]
TEXTS = ["nine ships", "seven ships", "one ship"]
PASSAGES = {"a": "bread is baked", "b": "nine ships", "c": "seven ships"}
SCORED = (*PASSAGES.values(), HARMLESS, *PLAIN_PASSAGES)
SCORES = dict(zip(SCORED, (0.125, 0.875, 0.5, 0.25, 0.9375, 0.0), strict=True))
CELLS = {f"{provider}: {feature}": exchange for provider, feature, exchange in cells()}
WRONG = ("quota", "unknown model", "context length", "content filter")


def caller(seconds: float = 30.0) -> Caller:
    return Caller("c", Lane.INTERACTIVE, time.monotonic() + seconds)


def said(exchange: Mapping[str, Any], request: Mapping[str, Any]) -> Answer:
    """Answer a request as the provider does."""
    status, headers = exchange.get("status", 200), exchange.get("headers", {})
    if "raw" in exchange or "events" in exchange:
        events = exchange.get("raw") or [event_of(event) for event in exchange["events"]]
        return Answer(b"", headers={"Content-Type": "text/event-stream"}, events=[event.encode() for event in events])
    vectors = [vector_of(text).tolist() for text in request.get("input", ())]
    scores = [SCORES[text] for text in request.get("documents") or request.get("texts") or ()]
    return Answer(json.dumps(filled(exchange["reply"], vectors, scores)).encode(), status=status, headers=headers)


def event_of(event: Any) -> str:
    if isinstance(event, str):
        return f"{event}\n\n" if event.startswith(":") else f"data: {event}\n\n"
    return f"data: {json.dumps(event)}\n\n"


def script(exchange: Mapping[str, Any]) -> Callable[[dict[str, Any]], Answer]:
    """Refuse the parameters that the provider refuses, one at a time. Then answer."""

    def answer(request: dict[str, Any]) -> Answer:
        kind = request.get("response_format", {}).get("type")
        for name, refusal in exchange.get("refuses", {}).items():
            if name in request or name == f"response_format {kind}":
                return said(refusal, request)
        if "short" in exchange and request.get("max_completion_tokens", request.get("max_tokens", 0)) < 1_000:
            return Answer(json.dumps(exchange["short"]).encode())
        if set(exchange.get("ignores", ())) & request.keys():
            return Answer(json.dumps(exchange["reply"] | {"usage": {"completion_tokens": 900}}).encode())
        if "most" in exchange and len(request["input"]) <= exchange["most"]:
            return said({"reply": GOOD["embeddings"]}, request)
        if "word" in exchange and not any(exchange["word"] in text for text in request["input"]):
            return said({"reply": GOOD["embeddings"]}, request)
        return said(exchange, request)

    return answer


GOOD: Mapping[str, Any] = {
    "chat": {"choices": [{"message": {"content": "Nine ships."}, "finish_reason": "stop"}]},
    "embeddings": {"data": [{"index": "$index", "embedding": "$vector"}]},
    "rerank": {"results": [{"index": "$index", "relevance_score": "$score"}]},
}


class Asked:
    """One provider, asked for each feature as a worker asks."""

    def __init__(self, provider: Provider, server: OpenAIServer, exchange: Mapping[str, Any]) -> None:
        self._provider = provider
        self._chat = provider.chat(model="m")
        self._embeddings = provider.embeddings()
        self._shape = exchange.get("shape", "cohere")
        self.play(server, script(exchange))

    @staticmethod
    def play(server: OpenAIServer, answer: Callable[[dict[str, Any]], Answer]) -> None:
        server.script.chat = server.script.embeddings = server.script.rerank = answer
        server.script.is_well = True

    def ask(self, what: str, seconds: float = 30.0) -> Any:
        match what:
            case "chat":
                return self._chat.ask(TURNS, max_tokens=50, caller=caller(seconds))[0]
            case "stream":
                return self.stream()[0]
            case "structured":
                return self._chat.structured(TURNS, AnswerScoresReply, max_tokens=90, caller=caller(seconds))[
                    0
                ].grounded
            case "embeddings":
                return self._embeddings.embed(TEXTS, input_type="passage", caller=caller(seconds))[0]
            case _:
                return self.rerank(seconds)

    def stream(self) -> tuple[str, str]:
        heard: list[str] = []

        def hear(part: str) -> bool:
            heard.append(part)
            return True

        written = self._chat.stream(TURNS, max_tokens=50, caller=caller(), hear=hear)
        return "".join(heard), written.fault

    def rerank(self, seconds: float) -> Mapping[str, float]:
        account = self._provider.account(model="judge")
        with open_endpoint(self._provider.url, "k") as client:
            endpoint = RerankEndpoint(client, self._provider.url, model="m", shape=self._shape)
            gateway: Gateway[RelevanceByIndex] = Gateway(account, "rerank endpoint", timeout_s=5, probe=endpoint.probe)
            judge = HalvingJudge(HttpJudge(endpoint, gateway, self._provider.ledger(), passage_tokens=1_000))
            return judge.judge(QUESTION, PASSAGES, caller=caller(seconds))[0]

    def embed(self, texts: Sequence[str]) -> Any:
        return self._embeddings.embed(texts, input_type="passage", caller=caller())[0]

    def embed_each(self) -> list[Any]:
        return embed_each([*TEXTS, "ill ships"], self._embeddings, input_type="passage", caller=Caller("c", Lane.BULK))[
            0
        ]


def is_right(what: str, reply: Any) -> bool:
    """Tell whether a reply says what the provider said."""
    match what:
        case "chat" | "stream":
            return bool(reply == "Nine ships.")
        case "structured":
            return bool(reply == 0.9)
        case "embeddings":
            return np.allclose(reply, [vector_of(text) for text in TEXTS], rtol=1e-6)
        case _:
            return sorted(reply, key=lambda key: -reply[key]) == ["b", "c", "a"] and all(
                0 <= r <= 1 for r in reply.values()
            )


@pytest.fixture
def asked(request: pytest.FixtureRequest, provider: Provider, openai_server: OpenAIServer) -> Asked:
    return Asked(provider, openai_server, request.param)


def of_feature(*features: str) -> pytest.MarkDecorator:
    found = {name: exchange for name, exchange in CELLS.items() if name.partition(": ")[2] in features}
    named = {name: (exchange, name.partition(": ")[2], exchange) for name, exchange in found.items()}
    # By day a third, and each feature of some provider.
    first = {feature: name for name, (_, feature, _) in reversed(named.items())}
    cases = named_at_night(named, short={*first.values(), *[*named][::3]})
    return pytest.mark.parametrize(("asked", "feature", "exchange"), cases, indirect=["asked"])


def failures_of(provider: Provider) -> dict[str, dict[Any, Any]]:
    """Return the provider's own accounts whose breaker has counted a failure: calls of earlier tests may still end."""
    accounts: dict[str, Any] = {account.key: provider.client.hgetall(account.key) for account in provider.accounts}
    return {
        key: fields | {b"refusals": provider.client.lrange(refusals_key(key), 0, -1)}
        for key, fields in accounts.items()
        if fields.get(b"failures")
    }


READ = ("chat", "stream", "structured", "reasoning", "embeddings", "rerank", "broken JSON", "rerank, raw scores",
        "embeddings, Base64", "reasoning, marks")  # fmt: skip
LIMITED = ("rate limit", "rate limit, money under way")
OVERLOADED = ("overload", "overload, flex tier")


@of_feature(*READ)
def test_a_reply_is_read(asked: Asked, feature: str, exchange: Mapping[str, Any], provider: Provider) -> None:
    what = exchange.get("of", feature)
    if what == "reasoning":
        what = "stream" if "events" in exchange else "chat"
    assert is_right(what, asked.ask(what))
    assert failures_of(provider) == {}


@of_feature(*WRONG)
def test_what_is_wrong_is_said_at_once_in_the_providers_words(
    asked: Asked, feature: str, exchange: Mapping[str, Any], provider: Provider, openai_server: OpenAIServer
) -> None:
    with pytest.raises(Refused) as caught:
        asked.ask(exchange["of"])
    assert exchange["says"] in str(caught.value)
    assert caught.value.code == "provider_refused"
    assert QUESTION not in str(caught.value)
    if feature in ("quota", "unknown model"):
        assert len(openai_server.requests) <= 2 * len(TEXTS), "it is not tried again"
    assert failures_of(provider) == {}


@of_feature(*LIMITED)
def test_a_rate_limit_is_waited_for(
    asked: Asked, feature: str, exchange: Mapping[str, Any], openai_server: OpenAIServer, provider: Provider
) -> None:
    with pytest.raises(Refused) as caught:
        asked.ask(exchange["of"], seconds=0.5)
    assert caught.value.code == "limit"
    assert failures_of(provider) == {}


@of_feature(*OVERLOADED)
def test_an_overload_that_passes_costs_nothing(
    asked: Asked, feature: str, exchange: Mapping[str, Any], openai_server: OpenAIServer
) -> None:
    what = exchange["of"]
    left = [exchange]
    Asked.play(openai_server, lambda request: said(left.pop() if left else {"reply": GOOD[what]}, request))
    assert is_right(what, asked.ask(what))


@of_feature("broken stream")
def test_of_a_stream_that_breaks_what_has_come_is_kept(asked: Asked, feature: str, exchange: Mapping[str, Any]) -> None:
    heard, fault = asked.stream()
    assert heard == "Nine ships."
    assert exchange["says"] in fault


@of_feature("batch size")
def test_a_provider_gets_no_more_texts_at_once_than_it_takes(
    asked: Asked, feature: str, exchange: Mapping[str, Any], openai_server: OpenAIServer, provider: Provider
) -> None:
    assert is_right("embeddings", asked.ask("embeddings"))
    before = len(openai_server.requests)
    asked.embed([f"{number} ships" for number in range(7)])
    sizes = [len(request["input"]) for _, request in openai_server.requests[before:]]
    assert sorted(sizes) == [1, 2, 2, 2]
    assert failures_of(provider) == {}


@of_feature("token limit")
def test_a_limit_that_is_ignored_is_named_otherwise(
    asked: Asked, feature: str, exchange: Mapping[str, Any], openai_server: OpenAIServer
) -> None:
    assert is_right("chat", asked.ask("chat"))
    assert asked.stream()[0] == "Nine ships."
    first, second = openai_server.seen("completions")
    assert (first["max_completion_tokens"], second["max_tokens"]) == (50, 50)
    assert "max_completion_tokens" not in second


@of_feature("ill text")
def test_one_ill_text_costs_the_others_nothing(
    asked: Asked, feature: str, exchange: Mapping[str, Any], provider: Provider
) -> None:
    *found, ill = asked.embed_each()
    assert is_right("embeddings", found)
    assert isinstance(ill, TextRefusal)
    assert exchange["reply"]["error"]["message"][:20] in ill.reason
    assert failures_of(provider) == {}


def test_every_cell_is_tested() -> None:
    tested = {*READ, *WRONG, *LIMITED, *OVERLOADED, "broken stream", "ill text", "batch size", "token limit"}
    assert {name.partition(": ")[2] for name in CELLS} == tested
    assert len(providers()) == 16
    assert set(FEATURES) <= tested
