"""When the stream of an answer begins, and how it ends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import nullcontext
from typing import Any

import pytest

from querymill.gateway.http.context import Stopping
from querymill.gateway.http.problems import Problem
from querymill.gateway.openai import completion_stream
from querymill.gateway.openai.completion_stream import CompletionStream, Finished, ReplyHead

SCOPE = {"type": "http", "method": "POST"}


async def sent_of(told: AsyncGenerator[str | Finished], stopping: Stopping | None = None) -> list[Any]:
    """Send an answer to a client that stays, and return the messages. What is raised says what was sent before."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    stream = CompletionStream(
        told, ReplyHead("filings", 0), with_usage=False, stopping=stopping or Stopping(), place=nullcontext
    )
    try:
        await stream(SCOPE, receive, send)
    except Problem as error:
        error.add_note(f"{len(sent)} messages")
        raise
    return sent


async def answer(*parts: str, then: Exception | None = None, after_s: float = 0) -> AsyncGenerator[str | Finished]:
    await asyncio.sleep(after_s)
    for part in parts:
        yield part
    if then is not None:
        raise then
    yield Finished("".join(parts), (), ())


def test_an_answer_begins_with_its_role_and_ends_with_done() -> None:
    head, *bodies = asyncio.run(sent_of(answer("Forty ", "million.")))
    assert (head["status"], dict(head["headers"])[b"content-type"]) == (200, b"text/event-stream; charset=utf-8")
    assert b'"role": "assistant"' in bodies[0]["body"]
    assert b"".join(each["body"] for each in bodies).endswith(b"\n\ndata: [DONE]\n\n")
    assert [each["more_body"] for each in bodies][-2:] == [True, False]


def test_what_goes_wrong_before_the_answer_begins_has_a_status() -> None:
    with pytest.raises(Problem) as failed:
        asyncio.run(sent_of(answer(then=Problem("job-failed"))))
    assert failed.value.__notes__ == ["0 messages"]


def test_what_goes_wrong_later_is_a_part_and_there_is_no_done() -> None:
    *_, last, _ = asyncio.run(sent_of(answer("Forty ", then=Problem("job-failed"))))
    assert last["body"].startswith(b'data: {"error": {')


def test_a_heartbeat_begins_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion_stream, "HEARTBEAT_S", 0.02)
    head, first, *_ = asyncio.run(sent_of(answer("Forty.", after_s=0.2)))
    assert (head["type"], first["body"]) == ("http.response.start", b": ok\n\n")


@pytest.mark.parametrize("parts", [(), ("Forty ",)])
def test_an_answer_ends_when_the_process_stops(parts: tuple[str, ...]) -> None:
    async def endless() -> AsyncGenerator[str | Finished]:
        for part in parts:
            yield part
        stopping.set()
        await asyncio.Event().wait()

    stopping = Stopping()
    if parts:
        assert b"unavailable" in asyncio.run(sent_of(endless(), stopping))[-2]["body"]
    else:
        with pytest.raises(Problem, match="unavailable"):
            asyncio.run(sent_of(endless(), stopping))
