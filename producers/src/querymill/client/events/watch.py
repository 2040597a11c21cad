"""One reader of events for all who wait in one client: two threads and two connections, however many wait."""

import asyncio
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakSet

from querymill.client.events.reader import EventReader
from querymill.client.events.waits import Delivery, Heard, Wait
from querymill_shared.board import StreamedEvent, WatchedBoard
from querymill_shared.contracts.errors import StillRunning


class Watch:
    """Waits for jobs. The reader starts with the first wait and ends when nobody has waited for a while."""

    def __init__(self, open_board: Callable[[], WatchedBoard]) -> None:
        self._open_board = open_board
        self.forget()
        _watches.add(self)

    def forget(self) -> None:
        """Begin again, as in a forked process, which has none of the threads."""
        self._lock = threading.Lock()
        self._reader: EventReader | None = None

    def close(self) -> None:
        """End every wait with `ClientClosed`, and close the connections. A later wait opens them again."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.stop()

    @contextmanager
    def waiting(
        self, job_id: str, deliver: Callable[[Delivery], None], *, every_event: bool, after: str = "0-0"
    ) -> Iterator[Wait]:
        """Have a function called with what is heard of a job, by the reader's threads, until the block ends.

        It gets every event that is later than the event ``after``, or the end only.
        """
        wait = Wait(job_id, deliver, every_event=every_event, since=time.monotonic(), after=after)
        with self._lock:
            if self._reader is None or not self._reader.take(wait):
                self._reader = EventReader(self._open_board())
                self._reader.take(wait)
            reader = self._reader
        try:
            yield wait
        finally:
            reader.drop(wait)

    def end(self, job_id: str, *, until: float | None) -> Heard:
        """Wait for the end of a job, until a time on the monotonic clock.

        Raises:
            StillRunning: It has not ended by then.
            UnknownJob: It is not on the board.
            ClientClosed: The client was closed.
        """
        inbox: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        with self.waiting(job_id, inbox.put, every_event=False) as wait:
            return _heard(_taken(inbox, wait, until))

    def events(self, job_id: str, *, until: float | None, after: str = "0-0") -> Iterator[StreamedEvent]:
        """Yield every event of a job that is later than an event, to its end. Raises as `end` does."""
        inbox: queue.SimpleQueue[Delivery] = queue.SimpleQueue()
        with self.waiting(job_id, inbox.put, every_event=True, after=after) as wait:
            while True:
                for told in _heard(_taken(inbox, wait, until)).told:
                    yield told
                    if told.is_last:
                        return

    async def end_async(self, job_id: str, *, until: float | None) -> Heard:
        """See `end`."""
        inbox: asyncio.Queue[Delivery] = asyncio.Queue()
        with self.waiting(job_id, _into(inbox), every_event=False) as wait:
            async with _in_time(wait, until):
                return _heard(await inbox.get())

    async def events_async(
        self, job_id: str, *, until: float | None, after: str = "0-0"
    ) -> AsyncGenerator[StreamedEvent]:
        """See `events`."""
        inbox: asyncio.Queue[Delivery] = asyncio.Queue()
        with self.waiting(job_id, _into(inbox), every_event=True, after=after) as wait:
            while True:
                async with _in_time(wait, until):
                    delivery = await inbox.get()
                for told in _heard(delivery).told:
                    yield told
                    if told.is_last:
                        return


def _taken(inbox: queue.SimpleQueue[Delivery], wait: Wait, until: float | None) -> Delivery:
    left = None if until is None else until - time.monotonic()
    try:
        if left is not None and left <= 0:
            return inbox.get_nowait()
        return inbox.get(timeout=left)
    except queue.Empty:
        raise _late(wait) from None


def _into(inbox: asyncio.Queue[Delivery]) -> Callable[[Delivery], None]:
    loop = asyncio.get_running_loop()

    def deliver(delivery: Delivery) -> None:
        loop.call_soon_threadsafe(inbox.put_nowait, delivery)

    return deliver


@asynccontextmanager
async def _in_time(wait: Wait, until: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(None if until is None else until - time.monotonic()):
            yield
    except TimeoutError:
        raise _late(wait) from None


def _late(wait: Wait) -> StillRunning:
    return StillRunning(wait.job_id, unattended=wait.unattended)


def _heard(delivery: Delivery) -> Heard:
    if isinstance(delivery, Exception):
        raise delivery
    return delivery


def _forget_all() -> None:
    for watch in _watches:
        watch.forget()


_watches: WeakSet[Watch] = WeakSet()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_all)
