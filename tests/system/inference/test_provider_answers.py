"""What providers really answer: limits, faults and nonsense; nothing is lost, nothing wrong is taken for right."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers import wiring
from querymill_workers.inference import account
from querymill_workers.inference.account import CircuitOpen
from querymill_workers.inference.embeddings import SharedEmbeddings
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, embedded, embedding_answer, held
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.inference import Provider
from tests.fixtures.short_forms import all_at_night, named_at_night

LIMITED = Answer(b'{"error": {"message": "slow down"}}', status=429)


def within(seconds: float) -> Caller:
    return Caller("c", Lane.INTERACTIVE, time.monotonic() + seconds)


def first(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Give these answers first, then honest ones."""
    left = list(answers)
    return lambda body: left.pop(0) if left else embedded(body)


def vectors(provider: Provider, *texts: str, seconds: float = 60, timeout_s: float = 10) -> Any:
    return provider.embeddings(timeout_s=timeout_s).embed(texts, input_type="query", caller=within(seconds))[0]


PASSING = {
    "500": Answer(b"{}", status=500),
    "no answer in time": Answer(embedding_answer([[1.0] * DIMENSIONS]).body, after_s=30),
    "reset": Answer(b"", ends="reset"),
    "cut": Answer(embedding_answer([[1.0] * DIMENSIONS]).body, ends="cut"),
    "truncated JSON": Answer(b'{"object": "list", "data": [{"index": 0, "embed'),
    "NaN": Answer(embedding_answer([[1.0] * DIMENSIONS]).body.replace(b"1.0", b"NaN", 1)),
    "a number without end": Answer(b'{"data": [], "usage": {"total_tokens": ' + b"9" * 100_000 + b"}}"),
    "no UTF-8": Answer(b'{"data": "\xff"}'),
}


@pytest.mark.parametrize("answer", named_at_night(PASSING, short=["500", "reset", "truncated JSON"]))
def test_what_may_pass_is_tried_again_and_the_vector_is_right(
    provider: Provider, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.embeddings = first(answer, answer)
    (vector,) = vectors(provider, "ships", timeout_s=1.5 if answer.after_s else 10)
    np.testing.assert_allclose(vector, vector_of("ships"), rtol=1e-6)
    assert len(openai_server.requests) == 3


def test_what_does_not_pass_is_given_up_with_its_reason(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda body: PASSING["500"]
    with pytest.raises(Refused, match="embedding unavailable: HTTP 500"):
        vectors(provider, "ships")
    assert len(openai_server.requests) == 3


FINAL = {
    "400": Answer(b"{}", status=400),
    "401": Answer(b"{}", status=401),
    "a wrong dimension": embedding_answer([[1.0, 2.0]]),
}


@pytest.mark.parametrize("answer", FINAL.values(), ids=FINAL.keys())
def test_what_no_second_try_would_better_is_refused_at_once(
    provider: Provider, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.embeddings = first(*[answer] * 20)
    with pytest.raises(Refused, match="embedding rejected"):
        vectors(provider, "ships")
    assert len(openai_server.requests) == 1
    openai_server.script.embeddings = embedded
    np.testing.assert_allclose(vectors(provider, "ships")[0], vector_of("ships"), rtol=1e-6)


@pytest.mark.parametrize(
    "headers", all_at_night([{"Retry-After": "1"}, {"retry-after-ms": "900"}, {}], short=[{"retry-after-ms": "900"}])
)
def test_a_429_is_waited_out_by_all_and_costs_no_try(
    provider: Provider, openai_server: OpenAIServer, headers: dict[str, str]
) -> None:
    openai_server.script.embeddings = first(Answer(LIMITED.body, status=429, headers=headers))
    one, other = provider.embeddings(), provider.embeddings()
    started = time.monotonic()
    asking = threading.Thread(target=one.embed, args=(["a"],), kwargs={"input_type": "query", "caller": within(60)})
    asking.start()
    while not openai_server.requests:
        time.sleep(0.01)
    time.sleep(0.1)
    other.embed(["b"], input_type="query", caller=within(60))
    asking.join()
    assert 0.8 < time.monotonic() - started < 20
    assert len(openai_server.requests) == 3


def test_a_429_that_outlasts_the_deadline_is_refused_without_waiting_for_it(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = first(Answer(LIMITED.body, status=429, headers={"Retry-After": "60"}))
    started = time.monotonic()
    with pytest.raises(Refused, match="no call can start before the deadline"):
        vectors(provider, "ships", seconds=30)
    assert time.monotonic() - started < 10


def test_after_five_failures_in_a_row_the_provider_is_left_alone(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.embeddings = lambda body: Answer(b"{}", status=503)
    one = provider.embeddings()
    for number in range(10):
        asked = len(openai_server.requests)
        with pytest.raises((Refused, CircuitOpen)) as failed:
            one.embed([f"text {number}"], input_type="query", caller=within(60))
        if isinstance(failed.value, CircuitOpen) and len(openai_server.requests) == asked:
            break
    assert isinstance(failed.value, CircuitOpen)
    assert "failed 5 times in a row" in str(failed.value)
    assert asked >= 5
    openai_server.script.embeddings = embedded
    time.sleep(failed.value.again_in_s + 0.1)
    np.testing.assert_allclose(vectors(provider, "c")[0], vector_of("c"), rtol=1e-6)


SLOW = Answer(embedding_answer([[1.0] * DIMENSIONS]).body, after_s=30)


def ended(provider: Provider) -> dict[str, float]:
    """Count the calls that were made by how they ended."""
    provider.fleet_counters.flush()
    counts = counters.read(provider.client)
    unmade = "provider_calls/unused"
    return {name: count for name, count in counts.items() if name.startswith("provider_calls/") and name != unmade}


def ask_in_a_hurry(model: SharedEmbeddings, text: str) -> str:
    """Ask with little time until a call was made, and return why it was cut or not made at all."""
    while True:
        with pytest.raises((Refused, CircuitOpen)) as refused:
            model.embed([text], input_type="query", caller=within(0.2))
        reason = str(refused.value)
        if "no response in time" in reason or "circuit open" in reason:
            return reason


def test_calls_cut_by_their_callers_time_leave_the_provider_to_the_others(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    for number in range(1, 7):
        was_left = threading.Event()
        openai_server.script.embeddings = held(was_left, embedded)
        stop = time.monotonic() + 60
        while len(openai_server.seen("embeddings")) < number:
            # On a busy machine, a caller's time may pass before the provider is asked.
            assert time.monotonic() < stop
            ask_in_a_hurry(provider.embeddings(), f"text {number}")
        was_left.set()
        while sum(ended(provider).values()) < number:
            assert time.monotonic() < stop
            time.sleep(0.02)
    np.testing.assert_allclose(vectors(provider, "ships")[0], vector_of("ships"), rtol=1e-6)
    assert ended(provider) == {"provider_calls/answered": 7}, "the provider did answer, if late"


def test_the_breaker_opens_for_a_silent_provider_although_every_caller_is_in_a_hurry(
    provider: Provider, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.script.embeddings = lambda body: SLOW
    monkeypatch.setattr(account, "COOLDOWN_MS", 30_000)
    hurried, stop = provider.embeddings(timeout_s=0.5), time.monotonic() + 60
    number, reason = 0, ""
    while "circuit open" not in reason:
        assert time.monotonic() < stop
        number += 1
        reason = ask_in_a_hurry(hurried, f"text {number}")
    assert set(ended(provider)) == {"provider_calls/failed"}


def test_a_caller_whose_patience_ends_is_told_so(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.embeddings = lambda body: SLOW
    with pytest.raises(Refused, match="no response in time") as caught:
        provider.embeddings().embed(["text"], input_type="query", caller=replace(within(0.2), late="slow"))
    assert caught.value.code == "slow"


@contextmanager
def half_open() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_half_open_connection_costs_the_time_limit_and_no_more(provider: Provider) -> None:
    with half_open() as url:
        mute = Provider(provider.client, url, provider.fleet_counters, provider.opened)
        started = time.monotonic()
        with pytest.raises(Refused, match="no response in time"):
            vectors(mute, "ships", seconds=3, timeout_s=0.5)
        assert time.monotonic() - started < 20


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    grade: int


def structured(provider: Provider) -> Verdict:
    turns = [{"role": "user", "content": "grade it"}]
    return provider.chat().structured(turns, Verdict, max_tokens=20, caller=within(60))[0]  # type: ignore[arg-type]  # plain dictionaries


def test_a_reply_of_another_shape_gets_one_repair_try_and_is_told_what_was_wrong(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    replies = [chat_answer('{"grade": "high"}'), chat_answer('```json\n{"grade": 3}\n```')]
    openai_server.script.chat = lambda body: replies.pop(0)
    assert structured(provider).grade == 3
    asked = openai_server.seen("completions")
    assert asked[0]["response_format"]["json_schema"]["name"] == "Verdict"
    assert "grade: Input should be a valid integer" in asked[1]["messages"][-1]["content"]


def test_two_replies_of_another_shape_are_given_up(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("I would say three")
    with pytest.raises(Refused, match="two replies without the requested structure"):
        structured(provider)
    assert len(openai_server.requests) == 2


def test_an_empty_reply_says_nothing_against_the_provider(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("  ")
    for number in range(8):
        with pytest.raises(Refused, match="empty reply"):
            provider.chat().ask([{"role": "user", "content": str(number)}], max_tokens=9, caller=within(60))
    assert len(openai_server.requests) == 8


def test_tokens_are_corrected_by_what_the_provider_says(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_answer("short")
    provider.chat().ask([{"role": "user", "content": "q"}], max_tokens=500, caller=within(60))
    provider.fleet_counters.flush()
    counts = counters.read(provider.client)
    assert counts["tokens_refunded"] > 400
    assert counts["provider_calls/answered"] == 1


@pytest.mark.usefixtures("wired")
def test_no_connection_is_shared_over_a_fork() -> None:
    before = wiring.cache_client()
    assert wiring.cache_client() is before
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"same" if wiring.cache_client() is before else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"other"
    assert wiring.cache_client() is before
    os.close(read)
    os.close(write)
