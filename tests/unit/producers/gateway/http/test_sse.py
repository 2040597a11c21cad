"""A stream's own rules: back-pressure, heartbeats, and its end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from querymill.client.events.waits import Delivery, Heard, Wait
from querymill.gateway.http import sse
from querymill.gateway.http.context import Stopping
from querymill.gateway.http.sse import WAITING_BYTES, WAITING_EVENTS, EventStream, Inbox, encode
from querymill_shared.board import StreamedEvent


def told(number: int, *, of: str = "progress", size: int = 2) -> Heard:
    return Heard((StreamedEvent("0" * 32, f"{number}-0", number, of, f'"{"x" * (size - 2)}"'),))


class Stream:
    """A stream whose source and reader are the test."""

    def __init__(self, *, is_welcome: bool = True) -> None:
        self.stopping = Stopping()
        self.sent: list[bytes] = []
        self.may_send = asyncio.Event()
        self.may_send.set()
        self.gone = asyncio.Event()
        self.deliver: Callable[[Delivery], None]
        self.places = 0
        self._is_welcome = is_welcome
        self.hears = asyncio.Event()

    @contextmanager
    def _hear(self, deliver: Callable[[Delivery], None]) -> Iterator[Wait]:
        self.deliver = deliver
        self.hears.set()
        yield Wait("0" * 32, deliver, every_event=True, since=0.0)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        self.places += 1
        try:
            yield
        finally:
            self.places -= 1

    async def _welcome(self) -> bool:
        return self._is_welcome

    async def _receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.body" and self.hears.is_set():
            await self.may_send.wait()
        self.sent.append(message.get("body", b""))

    async def start(self) -> "asyncio.Task[None]":
        stream = EventStream(self._hear, first=b"", stopping=self.stopping, is_welcome=self._welcome, place=self._place)
        task = asyncio.create_task(stream({"type": "http", "method": "GET"}, self._receive, self._send))
        await self.hears.wait()
        return task


def test_a_reader_that_does_not_keep_up_is_closed() -> None:
    async def run(deliveries: list[Heard]) -> bytes:
        stream = Stream()
        task = await stream.start()
        stream.may_send.clear()
        for delivery in deliveries:
            stream.deliver(delivery)
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        stream.may_send.set()
        await task
        assert stream.places == 0
        return b"".join(stream.sent)

    too_many = asyncio.run(run([told(number) for number in range(2 * WAITING_EVENTS)]))
    assert too_many.count(b"id: ") < WAITING_EVENTS
    too_large = asyncio.run(run([told(number, size=WAITING_BYTES // 3) for number in range(8)]))
    assert too_large.count(b"id: ") < 8


def test_what_a_reader_missed_comes_in_one_piece_however_long() -> None:
    async def run() -> None:
        inbox = Inbox()
        inbox.deliver(Heard(tuple(told(number).told[0] for number in range(900))))
        found = await inbox.next(10)
        assert found is not None
        assert len(found) == 1
        assert not inbox.has_overflowed

    asyncio.run(run())


def test_a_stream_ends_with_its_job_its_reader_or_its_process() -> None:
    async def run(end: Callable[[Stream], None]) -> bytes:
        stream = Stream()
        task = await stream.start()
        end(stream)
        await asyncio.wait_for(task, 30)
        assert stream.places == 0
        return b"".join(stream.sent)

    assert asyncio.run(run(lambda stream: stream.deliver(told(1, of="done")))).endswith(
        b'id: 1-0\nevent: done\ndata: ""\n\n'
    )
    assert asyncio.run(run(lambda stream: stream.gone.set())) == b"retry: 1000\n: ok\n\n"
    assert asyncio.run(run(lambda stream: stream.stopping.set())).count(b"retry: ") == 2
    assert b"event: error" in asyncio.run(run(lambda stream: stream.deliver(RuntimeError())))


def test_a_revoked_key_is_noticed_at_the_next_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_S", 0.01)

    async def run(*, is_welcome: bool) -> int:
        stream = Stream(is_welcome=is_welcome)
        task = await stream.start()
        while is_welcome and stream.sent.count(b": ok\n\n") < 3:
            await asyncio.sleep(0.01)
        stream.gone.set()
        await task
        return stream.sent.count(b": ok\n\n")

    assert asyncio.run(run(is_welcome=True)) >= 3
    assert asyncio.run(run(is_welcome=False)) == 0


def test_an_event_is_written_in_three_lines() -> None:
    assert encode("1-0", "done", '{"a":1}') == b'id: 1-0\nevent: done\ndata: {"a":1}\n\n'
