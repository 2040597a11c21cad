"""What the scripted provider does: well, and in each way in which a provider is ill."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tests.fakes.judging import judging, passages_of
from tests.fakes.openai_server import (
    Answer,
    OpenAIServer,
    Script,
    chat_answer,
    chat_stream,
    embedded,
    is_harmless,
    reworded,
)

Respond = Callable[[dict[str, Any]], Answer]


def written(request: dict[str, Any]) -> Answer:
    """Answer, judge passages or reword, as the request asks."""
    if is_harmless(request):
        return chat_answer("Hello.")
    if request.get("stream"):
        return chat_stream("Nine ships ", "[1].")
    return judging(lambda text: 0.9 if "fleet" in text else 0.4)(request) if passages_of(request) else reworded(request)


def behave(provider: OpenAIServer) -> None:
    """Let the provider do what is asked of it."""
    provider.script = Script(chat=written, embeddings=embedded, is_well=True)


def _always(body: bytes, status: int = 200, *, headers: Mapping[str, str] = {}) -> Respond:  # read alone
    return lambda request: Answer(body, status=status, headers=dict(headers))


def _hang(request: dict[str, Any]) -> Answer:
    threading.Event().wait(30)
    return Answer(b"{}", ends="reset")


def _drip(request: dict[str, Any]) -> Answer:
    """Send a blank every half second, and never an answer."""
    return Answer(b"", headers={"Content-Type": "application/json"}, events=[b" "] * 120, apart_s=0.5, ends="cut")


def _lacking_one(request: dict[str, Any]) -> Answer:
    reply = json.loads(embedded(request).body)
    return Answer(json.dumps(reply | {"data": reply["data"][1:]}).encode())


def _short_vectors(request: dict[str, Any]) -> Answer:
    reply = json.loads(embedded(request).body)
    for item in reply["data"]:
        item["embedding"] = item["embedding"][:7]
    return Answer(json.dumps(reply).encode())


#: How a provider is ill, by what the page calls it.
ILLNESSES: Final[Mapping[str, Respond]] = {
    "500": _always(b'{"error": {"message": "overloaded"}}', 500),
    "429": _always(b'{"error": {"message": "slow down"}}', 429, headers={"Retry-After": "1"}),
    "hang": _hang,
    "slow drip": _drip,
    "HTML": _always(b"<html>busy</html>", headers={"Content-Type": "text/html"}),
    "half": lambda request: Answer(embedded(request).body if "input" in request else b"{", ends="cut"),
    "reset": lambda request: Answer(b"", ends="reset"),
    "one missing": lambda request: _lacking_one(request) if "input" in request else Answer(b"{}"),
    "short vectors": lambda request: _short_vectors(request) if "input" in request else Answer(b'{"choices": []}'),
    "nested": _always(b"[" * 100_000),
}


@contextmanager
def holding(provider: OpenAIServer, gates: Mapping[str, Callable[[], object]]) -> Iterator[None]:
    """Call the gate of a word before each answer to a chat request that has it; it may wait."""

    def respond(request: dict[str, Any]) -> Answer:
        asked = json.dumps(request)
        for word, wait in gates.items():
            if word in asked:
                wait()
        return written(request)

    provider.script = Script(chat=respond, embeddings=embedded, is_well=True)
    try:
        yield
    finally:
        behave(provider)


@contextmanager
def ill(provider: OpenAIServer, *illnesses: str) -> Iterator[None]:
    """Let each request in turn meet one of the illnesses."""
    asked = threading.Lock()
    count = 0

    def respond(request: dict[str, Any]) -> Answer:
        nonlocal count
        with asked:
            count += 1
            chosen = illnesses[count % len(illnesses)]
        return ILLNESSES[chosen](request)

    provider.script = Script(chat=respond, embeddings=respond)
    try:
        yield
    finally:
        behave(provider)
