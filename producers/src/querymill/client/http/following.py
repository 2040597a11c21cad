"""Following a job through a gateway: each event once and in order, however often the stream is cut."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from urllib.parse import quote

import httpx2

from querymill.client.events.waits import BEGINNING, is_later
from querymill.client.http.exchange import FOREVER, PATIENCE_S, Exchange, passes, pause_before
from querymill.client.http.problems import error_of, retry_after_s
from querymill.client.http.streams import ServerEvent, read_events
from querymill_shared.contracts.errors import QuerymillError, Unavailable
from querymill_shared.contracts.events import Event, decode_event

#: A stream that is silent for this long, in seconds, is opened again: the gateway sends a sign of life every 15 s.
SILENCE_S: Final = 40.0
_LAST: Final = frozenset(("done", "failed", "cancelled"))


class Following:
    """How far the events of a job have been told. Once a stream was open, outages are waited out."""

    def __init__(self, exchange: Exchange, job_id: str, after: str) -> None:
        self._exchange = exchange
        self._job_id = job_id
        self._told = after
        self._begins_at = after
        self._is_over = False
        self._ends = time.monotonic() + PATIENCE_S

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events to the last one.

        Raises:
            UnknownJob: The gateway knows no such job.
            Unavailable: It could not be reached from the beginning.
        """
        tries = 0
        while not self._is_over:
            told_before = self._told
            failure: QuerymillError = Unavailable("the stream of events ends before its job")
            pause: float | None = None
            try:
                async with aclosing(self._streamed()) as streamed:
                    async for told in streamed:
                        event = self._take(told)
                        if event is not None:  # else it was told, or only another release knows such events
                            yield event
            except httpx2.HTTPError as error:
                failure = self._exchange.unreachable(error, self._job_id)
            except _NotNow as not_now:
                failure, pause = not_now.failure, not_now.pause_s
            tries = 1 if self._told != told_before else tries + 1
            if not self._is_over:
                await pause_before(tries, failure, self._ends, pause)

    def _take(self, told: ServerEvent) -> Event | None:
        if not told.id or not is_later(told.id, self._told):
            return None
        self._told = self._begins_at = told.id
        self._is_over = told.type in _LAST
        event = decode_event(told.data)
        return None if event is None else event.with_id(told.id)

    async def _streamed(self) -> AsyncGenerator[ServerEvent]:
        path = f"/v1/jobs/{quote(self._job_id, safe='')}/events"
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self._begins_at}
        async with self._exchange.stream(path, job_id=self._job_id, headers=headers, silence_s=SILENCE_S) as response:
            if response.status_code == 204:
                self._is_over = True
                return
            if response.status_code != 200:
                await response.aread()
                failure = error_of(response, job_id=self._job_id)
                raise _NotNow(failure, retry_after_s(response)) if passes(response) else failure
            self._ends = FOREVER
            async with aclosing(read_events(response.aiter_bytes())) as read:
                async for told in read:
                    if told.type == "snapshot":  # it stands for what is gone; from the beginning, the rest is told
                        self._begins_at = BEGINNING
                        return
                    if told.type == "error":
                        return
                    yield told


class _NotNow(Exception):
    """Raised when a gateway cannot give a stream just now."""

    def __init__(self, failure: QuerymillError, pause_s: float | None) -> None:
        super().__init__()
        self.failure = failure
        self.pause_s = pause_s
