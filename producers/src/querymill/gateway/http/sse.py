"""Server-Sent Events: one task a reader for what it is sent, one that notices when it goes.

The events of a reader wait in a queue of limited length and size. A reader that does not keep up is closed, and resumes
from its last id. So no reader can fill the memory of the process, and none loses an event.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from querymill.client.events.waits import Delivery, Wait
from querymill.gateway.http.gate import Stopping
from querymill.gateway.http.waiting import until_gone

MEDIA_TYPE: Final = "text/event-stream"
#: Events, and bytes of events, that may wait for a reader.
WAITING_EVENTS, WAITING_BYTES = 256, 1_000_000
HEARTBEAT_S: Final = 15.0
#: A reader that takes nothing for this long, in seconds, is closed.
SEND_S: Final = 10.0
#: After how long a reader comes back, in ms. When the process stops, all come back, but not all at once.
RETRY_MS, RETRY_SPREAD_MS = 1_000, 4_000
_HEARTBEAT: Final = b": ok\n\n"

#: Begins to hear of a job: takes the function to call with news.
Hear = Callable[[Callable[[Delivery], None]], AbstractContextManager[Wait]]
#: Takes the place of a stream while it lasts.
Place = Callable[[], AbstractAsyncContextManager[None]]


def encode(event_id: str, event: str, data: str) -> bytes:
    """Write an event. Its data is JSON in one line, which may hold any other separator of lines."""
    return f"id: {event_id}\nevent: {event}\ndata: {data}\n\n".encode()


class Inbox:
    """What waits for a reader. Filled from the threads of the client's reader of events, emptied by one task."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._held: deque[Delivery] = deque()
        self._bytes = 0
        self._count = 0
        self._news = asyncio.Event()
        self.is_closed = False
        self.has_overflowed = False

    def deliver(self, delivery: Delivery) -> None:
        """Take news of the job. Safe to call from any thread."""
        self._loop.call_soon_threadsafe(self._take, delivery)

    def close(self) -> None:
        """End the stream, from the loop's own thread."""
        self.is_closed = True
        self._news.set()

    def _take(self, delivery: Delivery) -> None:
        if not isinstance(delivery, Exception):
            # What a reader missed comes in one piece, however long. Only what comes after it can be too much.
            if self._held:
                self._count += len(delivery.told)
                self._bytes += sum(len(told.body) for told in delivery.told)
            self.has_overflowed = self._count > WAITING_EVENTS or self._bytes > WAITING_BYTES
        if self.has_overflowed:
            self._held.clear()
        else:
            self._held.append(delivery)
        self._news.set()

    async def next(self, wait_s: float) -> list[Delivery] | None:
        """Return what has come, waiting for it up to so many seconds, or None if nothing has."""
        if not self._held and not self.is_closed and not self.has_overflowed:
            try:
                async with asyncio.timeout(wait_s):
                    await self._news.wait()
            except TimeoutError:
                return None
        self._news.clear()
        found = list(self._held)
        self._held.clear()
        self._count = self._bytes = 0
        return found


class EventStream(Response):
    """The response. ``first`` is sent before the events; ``is_welcome`` is asked with every heartbeat."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        hear: Hear,
        *,
        first: bytes,
        stopping: Stopping,
        is_welcome: Callable[[], Awaitable[bool]],
        place: Place,
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hear = hear
        self._first = first
        self._stopping = stopping
        self._is_welcome = is_welcome
        self._place = place

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the job ends, the reader goes or does not keep up, or the process stops."""
        async with self._place():
            inbox = Inbox()
            gone = asyncio.create_task(until_gone(receive))
            gone.add_done_callback(lambda _: inbox.close())
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await _send(send, f"retry: {RETRY_MS}\n: ok\n\n".encode() + self._first)
                with self._stopping.calling(inbox.close), self._hear(inbox.deliver):
                    await self._pass_on(inbox, send)
                await _send(send, self._last_words(), more=False)
            except TimeoutError:
                return  # it takes nothing; the server closes the connection
            finally:
                gone.cancel()

    async def _pass_on(self, inbox: Inbox, send: Send) -> None:
        while not inbox.is_closed and not inbox.has_overflowed:
            found = await inbox.next(HEARTBEAT_S)
            if found is None:
                if not await self._is_welcome():
                    return
                await _send(send, _HEARTBEAT)
                continue
            for delivery in found:
                if isinstance(delivery, Exception):
                    await _send(send, b'event: error\ndata: {"type":"/problems/unavailable","status":503}\n\n')
                    return
                await _send(send, b"".join(encode(told.event_id, told.type, told.body) for told in delivery.told))
                if delivery.told[-1].is_last:
                    return

    def _last_words(self) -> bytes:
        if not self._stopping.is_set():
            return b""
        return f"retry: {RETRY_MS + random.randrange(RETRY_SPREAD_MS)}\n\n".encode()  # noqa: S311


async def _send(send: Send, data: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(SEND_S):
        await send({"type": "http.response.body", "body": data, "more_body": more})
