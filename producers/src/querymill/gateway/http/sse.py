"""Server-Sent Events of a job.

The events of a reader wait in a queue of limited length and size. A reader that does not keep up is closed, and resumes
from its last id. So no reader can fill the memory of the process, and none loses an event.
"""

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from typing import Final

from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send

from querymill.client.events.waits import Delivery, Wait
from querymill.gateway.http.context import Stopping

MEDIA_TYPE: Final = "text/event-stream"
#: Events, and bytes of events, that may wait for a reader.
WAITING_EVENTS, WAITING_BYTES = 256, 1_000_000
HEARTBEAT_S: Final = 15.0
#: A reader that takes nothing for this long, in seconds, is closed.
SEND_S: Final = 10.0
#: When the process stops, a stream has this long for its last words, in seconds.
GRACE_S: Final = 2.0
#: After how long a reader comes back, in ms. When the process stops, all come back, but not all at once.
RETRY_MS, RETRY_SPREAD_MS = 1_000, 4_000
_HEARTBEAT: Final = b": ok\n\n"

#: Begins to hear of a job: takes the function to call with news.
Hear = Callable[[Callable[[Delivery], None]], AbstractContextManager[Wait]]
#: Takes the place of a stream while it lasts.
Place = Callable[[], AbstractAsyncContextManager[None]]


def encode(event_id: str, event: str, data: str) -> bytes:
    """Write an event. Its data is JSON in one line, which may hold any other separator of lines."""
    return ServerSentEvent(data, event=event, id=event_id, sep="\n").encode()


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


class EventStream(EventSourceResponse):
    """The response. ``first`` is sent before the events; ``is_welcome`` is asked with every heartbeat."""

    def __init__(
        self,
        hear: Hear,
        *,
        first: bytes,
        stopping: Stopping,
        is_welcome: Callable[[], Awaitable[bool]],
        place: Place,
    ) -> None:
        # The stream asks before each heartbeat who is welcome, so it sends them itself.
        super().__init__(
            self._events(hear, first, stopping), sep="\n", ping=0, send_timeout=SEND_S, shutdown_grace_period=GRACE_S
        )
        self._is_welcome = is_welcome
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the job ends, the reader goes or does not keep up, or the process stops."""
        async with self._place():
            with suppress(SendTimeoutError):  # it takes nothing; the server closes the connection
                await super().__call__(scope, receive, send)

    async def _events(self, hear: Hear, first: bytes, stopping: Stopping) -> AsyncGenerator[bytes]:
        yield f"retry: {RETRY_MS}\n: ok\n\n".encode() + first
        inbox = Inbox()
        with stopping.calling(inbox.close), hear(inbox.deliver):
            while not inbox.is_closed and not inbox.has_overflowed:
                found = await inbox.next(HEARTBEAT_S)
                if found is None:
                    if not await self._is_welcome():
                        return
                    yield _HEARTBEAT
                    continue
                for delivery in found:
                    if isinstance(delivery, Exception):
                        yield b'event: error\ndata: {"type":"/problems/unavailable","status":503}\n\n'
                        return
                    yield b"".join(encode(told.event_id, told.type, told.body) for told in delivery.told)
                    if delivery.told[-1].is_last:
                        return
        if stopping.is_set():
            yield f"retry: {RETRY_MS + random.randrange(RETRY_SPREAD_MS)}\n\n".encode()  # noqa: S311
