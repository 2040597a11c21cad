"""A text, prompt or passage that a provider does not answer: nobody else is affected, and the text is given up.

The server is well: it answers harmless requests, and whatever does not hold the ill word.
"""

import itertools
import json
import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.gateway import SAME_FAILURES, Gateway
from querymill_workers.inference.http_judge import HttpJudge, RerankEndpoint, open_endpoint
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.inference.rankings import RelevanceByIndex
from querymill_workers.inference.refusals import Embedded, HalvingJudge, TextRefusal, embed_each
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.fakes.openai_server import (
    Answer,
    OpenAIServer,
    chat_answer,
    embedded,
    embedding_answer,
    ill,
)
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.inference import Provider
from tests.fixtures.short_forms import all_at_night, named_at_night

DURABLE = Caller("acme", Lane.BULK)
SAID = "failed to encode response: json: unsupported value: NaN"
NAN = Answer(json.dumps({"error": {"message": SAID}}).encode(), status=500)


def within(seconds: float, collection: str = "other") -> Caller:
    return Caller(collection, Lane.INTERACTIVE, time.monotonic() + seconds)


def texts(count: int = 16, *, ill_at: Sequence[int] = (4,)) -> list[str]:
    return [f"xyzzy {number}" if number in ill_at else f"text {number}" for number in range(count)]


def check(found: Sequence[Embedded], asked: Sequence[str]) -> list[str]:
    """Check that every other text has its own vector. Return why the ill ones have none."""
    for text, one in zip(asked, found, strict=True):
        assert isinstance(one, TextRefusal) is ("xyzzy" in text)
        if not isinstance(one, TextRefusal):
            np.testing.assert_allclose(one, vector_of(text), rtol=1e-6)
    return [one.reason for one in found if isinstance(one, TextRefusal)]


def counts(provider: Provider) -> dict[str, float]:
    provider.fleet_counters.flush()
    return dict(counters.read(provider.client))


@pytest.fixture
def well(openai_server: OpenAIServer) -> OpenAIServer:
    openai_server.script.is_well = True
    return openai_server


ILL = {
    "500": (NAN, f"HTTP 500: {SAID}"),
    "reset": (Answer(b"", ends="reset"), "no connection"),
    "silence": (Answer(b"{}", after_s=3), "no response in time"),
    "null": (Answer(embedding_answer([[1.0] * DIMENSIONS]).body.replace(b"1.0", b"null", 1)), ""),
}


@pytest.mark.parametrize("ill_by", all_at_night(ILL, short=["500"]))
def test_the_others_get_their_vectors_and_the_text_is_given_up_with_the_providers_words(
    provider: Provider, well: OpenAIServer, ill_by: str
) -> None:
    answer, reason = ILL[ill_by]
    well.script.embeddings = ill("xyzzy", answer)
    asked = texts(ill_at=(4, 11))
    model = provider.embeddings(timeout_s=0.5 if answer.after_s else 10)
    found, _ = embed_each(asked, model, input_type="passage", caller=DURABLE)
    for said in check(found, asked):
        assert said.startswith(f"embedding rejected: {reason}")
    ended = counts(provider)
    assert ("breaker_opened" in ended, "provider_calls/failed" in ended) == (False, False)


def test_a_text_is_given_up_only_after_it_failed_alone_again_and_again_beside_harmless_ones(
    provider: Provider, well: OpenAIServer
) -> None:
    well.script.embeddings = ill("xyzzy", NAN)
    asked = texts()
    check(embed_each(asked, provider.embeddings(), input_type="passage", caller=DURABLE)[0], asked)
    alone = [body for body in well.seen("embeddings") if body["input"] == ["xyzzy 4"]]
    assert len(alone) == SAME_FAILURES
    assert len(well.requests) < 20
    assert len(well.probes) < 20


@pytest.mark.nightly  # by day: the others get their vectors, above
def test_questions_of_others_are_answered_meanwhile(provider: Provider, well: OpenAIServer) -> None:
    well.script.embeddings = ill("xyzzy", NAN)
    model = provider.embeddings()
    for number in range(8):
        with pytest.raises(Refused, match="rejected: HTTP 500") as refused:
            model.embed([f"xyzzy {number}"], input_type="query", caller=within(20, "acme"))
        assert refused.value.code == "provider_refused"
        vectors, _ = model.embed([f"ships {number}"], input_type="query", caller=within(20))
        np.testing.assert_allclose(vectors[0], vector_of(f"ships {number}"), rtol=1e-6)
    assert "provider_calls/failed" not in counts(provider)


@pytest.mark.nightly  # by day: the others get their vectors, above
def test_an_ill_text_that_travels_with_others_costs_them_seconds_only(provider: Provider, well: OpenAIServer) -> None:
    well.script.embeddings = ill("xyzzy", NAN)
    asked = texts(64, ill_at=range(0, 64, 2))
    check(embed_each(asked, provider.embeddings(), input_type="passage", caller=DURABLE)[0], asked)
    assert len(well.requests) + len(well.probes) < 64 * 12


def test_an_ill_text_that_is_asked_first_after_an_outage_ends_it(provider: Provider, well: OpenAIServer) -> None:
    well.script.embeddings = lambda request: NAN
    model, opened = provider.embeddings(), False
    while not opened:
        with pytest.raises((Refused, Unavailable)):
            model.embed(["ships"], input_type="query", caller=within(20))
        opened = "breaker_opened" in counts(provider)
    well.script.embeddings = ill("xyzzy", NAN)
    provider.cool_down()
    with pytest.raises(Refused, match="rejected: HTTP 500"):
        model.embed(["xyzzy"], input_type="query", caller=within(20))
    assert not provider.client.hexists(provider.account().key, "open_until")


def test_a_rate_limit_counts_the_harmless_requests_too(provider: Provider, well: OpenAIServer) -> None:
    well.script.embeddings = ill("xyzzy", NAN)
    model = provider.embeddings(rpm=1_200)
    asked = texts(4, ill_at=(1,))
    check(embed_each(asked, model, input_type="passage", caller=DURABLE)[0], asked)
    ahead_ms = float(provider.client.hget(provider.account().key, "requests_full") or 0)
    seconds, _ = provider.client.time()
    assert len(well.probes) > 5
    assert ahead_ms > (seconds - 5) * 1000, "each of them was charged"


def taking_turns(*ill_ones: bool) -> Callable[[dict[str, Any]], Answer]:
    """Several servers behind one address, which take turns; some fail whatever they are asked."""
    turns = itertools.cycle(ill_ones)
    return lambda request: NAN if next(turns) else embedded(request)


def at_first(answer: Answer, times: int) -> Callable[[dict[str, Any]], Answer]:
    left = [answer] * times
    return lambda request: left.pop() if left else embedded(request)


FLAPPING: dict[str, Callable[[], Callable[[dict[str, Any]], Answer]]] = {
    "every second fails": lambda: taking_turns(True, False),
    "every third fails": lambda: taking_turns(True, False, False),
    "two of three fail": lambda: taking_turns(True, True, False),
    "every fourth fails": lambda: taking_turns(True, False, False, False),
    "half fail by chance": lambda: lambda request: NAN if random.random() < 0.5 else embedded(request),
    "NaN at first": lambda: at_first(embedding_answer([[math.nan] * DIMENSIONS] * 16), 9),
}


@pytest.mark.parametrize("flapping", named_at_night(FLAPPING, short=["every second fails", "half fail by chance"]))
def test_a_provider_that_fails_now_and_then_refuses_no_text(
    provider: Provider, well: OpenAIServer, flapping: Callable[[], Callable[[dict[str, Any]], Answer]]
) -> None:
    well.script.embeddings = flapping()
    asked, stop = texts(24, ill_at=()), time.monotonic() + 120
    while True:
        assert time.monotonic() < stop
        try:  # as a durable step does, which is put back
            found, _ = embed_each(asked, provider.embeddings(), input_type="passage", caller=DURABLE)
            break
        except Unavailable:
            provider.cool_down()
    assert check(found, asked) == []


@pytest.mark.nightly  # by day: the passages beside an ill one, in this file
def test_a_prompt_that_the_chat_model_does_not_answer_leaves_it_to_the_others(
    provider: Provider, well: OpenAIServer
) -> None:
    well.script.chat = lambda body: NAN if "xyzzy" in json.dumps(body) else chat_answer("fine")
    chat = provider.chat()
    for number in range(3):
        turns = [ChatTurn(role="user", content=f"xyzzy {number}")]
        with pytest.raises(Refused, match="chat model rejected: HTTP 500"):
            chat.ask(turns, max_tokens=9, caller=within(20))
        with pytest.raises(Refused, match="chat model rejected: HTTP 500"):
            chat.stream(turns, max_tokens=9, caller=within(20), hear=lambda _: True)
    assert chat.ask([ChatTurn(role="user", content="q")], max_tokens=9, caller=within(20))[0] == "fine"
    assert "provider_calls/failed" not in counts(provider)


def judge_of(provider: Provider, client: Any) -> HalvingJudge:
    endpoint = RerankEndpoint(client, provider.url, model="judge-1", shape="cohere")
    gateway: Gateway[RelevanceByIndex] = Gateway(
        provider.account(model="judge-1"), "rerank endpoint", timeout_s=5, probe=endpoint.probe
    )
    return HalvingJudge(HttpJudge(endpoint, gateway, provider.ledger(), passage_tokens=2_000))


def judging(request: dict[str, Any]) -> Answer:
    if "xyzzy" in json.dumps(request):
        return NAN
    results = [{"index": index, "relevance_score": 0.5} for index in range(len(request["documents"]))]
    return Answer(json.dumps({"results": results}).encode())


def test_the_passages_beside_an_ill_one_are_judged(provider: Provider, well: OpenAIServer) -> None:
    well.script.rerank = judging
    passages = {f"p{number}": text for number, text in enumerate(texts(10))}
    with open_endpoint(provider.url, "k") as client:
        judged, _ = judge_of(provider, client).judge("how many ships?", passages, caller=within(30))
        assert judged == dict.fromkeys(passages.keys() - {"p4"}, 0.5)
        asked = len(well.requests)
        with pytest.raises(Refused, match="rerank endpoint rejected: HTTP 500"):
            judge_of(provider, client).judge("xyzzy?", passages, caller=within(30))
    assert len(well.requests) - asked < 6, "an ill question is not asked beside every passage"
    assert "provider_calls/failed" not in counts(provider)
