"""Replies in parts from a real HTTP server: what is charged, what is tried again, and what never is."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import redis

from querymill_shared import counters
from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.answer_ports import AnswerEnd
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from tests.fakes.openai_server import Answer, OpenAIServer, chat_answer, chat_stream
from tests.fixtures.inference import Provider
from tests.fixtures.short_forms import named_at_night

TURNS = [ChatTurn(role="user", content="how many ships?")]


def caller(seconds: float | None = 60.0) -> Caller:
    return Caller("filings", Lane.INTERACTIVE, None if seconds is None else time.monotonic() + seconds)


class Ear:
    """Hears parts; has heard enough after so many."""

    def __init__(self, enough: int = 10_000) -> None:
        self.parts: list[str] = []
        self.heard = threading.Event()
        self._enough = enough

    def __call__(self, part: str) -> bool:
        self.parts.append(part)
        self.heard.set()
        return len(self.parts) < self._enough

    @property
    def text(self) -> str:
        return "".join(self.parts)


def stream(
    provider: Provider, ear: Ear, *, seconds: float | None = 60.0, max_tokens: int = 50, **options: Any
) -> AnswerEnd:
    return provider.chat(**options).stream(TURNS, max_tokens=max_tokens, caller=caller(seconds), hear=ear)


def first(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    left = list(answers)
    return lambda body: left.pop(0) if left else chat_stream("nine ", "ships")


def counts(provider: Provider) -> Mapping[str, float]:
    provider.fleet_counters.flush()
    return counters.read(provider.client)


def ended(provider: Provider) -> Mapping[str, float]:
    """Count the calls by how they ended."""
    return {name: count for name, count in counts(provider).items() if name.startswith("provider_calls/")}


def ended_at_last(provider: Provider) -> Mapping[str, float]:
    """Count the calls by how they ended, once those whose callers have left have ended, too."""
    stop = time.monotonic() + 30
    while not ended(provider) and time.monotonic() < stop:
        time.sleep(0.02)
    return ended(provider)


def test_parts_are_heard_as_they_come_and_the_tokens_are_the_providers(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    ear, heard_before = Ear(), list[bool]()

    def gate(sent: int) -> None:
        # Nothing more is sent until what was sent before has been heard.
        heard_before.append(sent not in {1, 2} or ear.heard.wait(10))
        ear.heard.clear()

    openai_server.script.chat = lambda body: chat_stream("nine", " ships", " sail", gate=gate)
    written = stream(provider, ear)
    assert ear.text == "nine ships sail"
    assert written == AnswerEnd(is_whole=True, usage=ProviderUsage(1, 13), completion_tokens=3)
    assert all(heard_before)
    (request,) = openai_server.seen("completions")
    assert (request["stream"], request["stream_options"]) == (True, {"include_usage": True})


PASSING = {
    "429": Answer(b"{}", status=429, headers={"retry-after-ms": "100"}),
    "reset": Answer(b"", ends="reset"),
    "no answer in time": chat_stream("late", after_s=30),
    "cut before the first part": chat_stream(ends="cut"),
    "an error instead of a part": Answer(
        b"", headers={"Content-Type": "text/event-stream"}, events=[b'data: {"error": {"message": "overloaded"}}\n\n']
    ),
}


@pytest.mark.parametrize("answer", named_at_night(PASSING, short=["429", "reset", "cut before the first part"]))
def test_what_happens_before_the_first_part_is_tried_again_unheard(
    provider: Provider, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.chat = first(answer)
    ear = Ear()
    assert stream(provider, ear, timeout_s=3).is_whole
    assert ear.text == "nine ships"
    assert len(openai_server.requests) == 2


BROKEN = {
    "cut": chat_stream("nine ", "sh", ends="cut"),
    "garbage": Answer(
        b"",
        headers={"Content-Type": "text/event-stream"},
        events=[*chat_stream("nine ", "sh").events[:2], b"data: {{{\n\n"],
    ),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("seconds", [60.0, None])
def test_what_breaks_off_after_the_first_part_is_not_tried_again_here(
    provider: Provider, openai_server: OpenAIServer, answer: Answer, seconds: float | None
) -> None:
    openai_server.script.chat = lambda body: answer
    ear = Ear()
    with pytest.raises(Unavailable, match="chat model: the reply broke off"):
        stream(provider, ear, seconds=seconds)
    assert ear.text == "nine sh"
    assert len(openai_server.requests) == 1


SPOKEN = chat_stream("nine ", "ships").events[:2]
EVENTS = {"Content-Type": "text/event-stream"}
WHOLE = {
    "no stream at all": chat_answer("nine ships"),
    "neither finish reason nor [DONE]": Answer(b"", headers=EVENTS, events=SPOKEN),
}


@pytest.mark.parametrize("answer", WHOLE.values(), ids=WHOLE.keys())
def test_a_reply_that_has_arrived_is_read_whatever_field_is_missing(
    provider: Provider, openai_server: OpenAIServer, answer: Answer
) -> None:
    openai_server.script.chat = lambda body: answer
    ear = Ear()
    written = stream(provider, ear)
    assert (ear.text, written.is_whole, written.fault) == ("nine ships", True, "")
    assert len(openai_server.requests) == 1


def test_an_error_after_the_first_words_keeps_them_and_is_told(provider: Provider, openai_server: OpenAIServer) -> None:
    error = b'data: {"error": {"message": "overloaded by: how many ships?", "code": 502}}\n\n'
    openai_server.script.chat = lambda body: Answer(b"", headers=EVENTS, events=[*SPOKEN, error])
    ear = Ear()
    written = stream(provider, ear)
    assert (ear.text, written.is_whole, written.fault) == ("nine ships", False, "HTTP 502: overloaded by: …")
    assert ended(provider) == {"provider_calls/failed": 1}


def test_a_silent_stream_is_left(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_stream("nine ", "ships", apart_s=60)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="broke off: no response in time"):
        stream(provider, Ear(), timeout_s=3)
    assert time.monotonic() - started < 30
    assert ended(provider) == {"provider_calls/failed": 1}


def test_the_deadline_cuts_a_stream_that_goes_on(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_stream(*["word "] * 100, apart_s=0.3)
    started = time.monotonic()
    with pytest.raises(Refused, match="cut by the deadline"):
        stream(provider, Ear(), seconds=2)
    assert 1.9 < time.monotonic() - started < 15
    assert ended_at_last(provider) == {"provider_calls/cut": 1}


SLOW = {
    "before the first part": 0,
    "between two parts": 1,
}


@pytest.mark.parametrize("silent_after", SLOW.values(), ids=SLOW.keys())
def test_a_stream_that_is_silent_until_the_deadline_says_nothing_against_the_provider(
    provider: Provider, openai_server: OpenAIServer, silent_after: int
) -> None:
    goes_on = threading.Event()

    def gate(sent: int) -> None:
        assert sent < silent_after or goes_on.wait(30)

    openai_server.script.chat = lambda body: chat_stream("nine ", "ships", gate=gate)
    with pytest.raises(Refused, match="cut by the deadline"):
        stream(provider, Ear(), seconds=2)
    goes_on.set()
    assert ended_at_last(provider) == {"provider_calls/cut": 1}


def test_a_stream_that_is_silent_for_the_providers_whole_time_has_failed_although_its_caller_left(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda body: chat_stream("nine ", "ships", after_s=60)
    with pytest.raises(Refused, match="cut by the deadline"):
        stream(provider, Ear(), seconds=1.5, timeout_s=3)
    assert ended_at_last(provider) == {"provider_calls/failed": 1}


def test_who_has_heard_enough_ends_the_stream(provider: Provider, openai_server: OpenAIServer) -> None:
    openai_server.script.chat = lambda body: chat_stream(*["word "] * 100, apart_s=0.3)
    started = time.monotonic()
    ear = Ear(enough=3)
    stream(provider, ear)
    assert (len(ear.parts), time.monotonic() - started < 15) == (3, True)
    time.sleep(0.3)
    assert openai_server.streamed_whole == 0


def test_a_listener_that_fails_does_not_count_against_the_provider(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda body: chat_stream("nine")

    def deaf(part: str) -> bool:
        raise redis.ConnectionError("the board is away")

    chat = provider.chat()
    with pytest.raises(redis.ConnectionError):
        chat.stream(TURNS, max_tokens=50, caller=caller(), hear=deaf)
    assert counts(provider).get("provider_calls/failed", 0) == 0
