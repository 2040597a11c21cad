"""Requests to a gateway: sent again where that does no harm, for as long as a caller has patience."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2

from querymill.client.http.address import CONNECT_S, SEND_S, Address
from querymill.client.http.problems import PASSING, error_of, problem_of, retry_after_s, slug_of, unreachable
from querymill_shared.contracts.errors import ClientClosed, QuerymillError

#: A gateway that is away is tried for this long, in seconds. A wait that it has answered once outlasts any outage.
PATIENCE_S: Final = 10.0
#: A reply must begin within this time after the gateway has what it waits for, in seconds.
REPLY_S: Final = 20.0
#: Pauses between tries, in seconds: they double from the first to the longest.
FIRST_PAUSE_S: Final = 0.1
MAX_PAUSE_S: Final = 2.0
FOREVER: Final = float("inf")


class Reply:
    """What a gateway answered. ``is_repeated`` says that an earlier try may have done what was asked."""

    def __init__(self, response: httpx2.Response, *, is_repeated: bool) -> None:
        self.response = response
        self.is_repeated = is_repeated
        self.status = response.status_code

    def body(self) -> Any:
        """Return the decoded body."""
        return self.response.json()


class Exchange:
    """Asks one gateway from coroutines. Each event loop has connections of its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._client: httpx2.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    async def close(self) -> None:
        """Close the connections. Requests under way end with `ClientClosed`."""
        self._is_closed = True
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        *,
        job_id: str = "",
        params: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        wait_s: float = 0.0,
        until: float = FOREVER,
        patience_s: float = PATIENCE_S,
        taken: frozenset[int] = frozenset(),
    ) -> Reply:
        """Send a request that may be sent twice. The gateway may wait ``wait_s`` seconds before it answers.

        A gateway that is away, or has no room just now, is asked again until ``until`` or for ``patience_s`` seconds,
        after the pause that it asks for. Statuses that are ``taken`` are returned as any success is.

        Raises:
            QuerymillError: It cannot be reached, or refuses.
        """
        tries, ends = 0, min(time.monotonic() + patience_s, until)
        while True:
            request = self._build(method, path, params, content, headers, wait_s)
            pause: float | None = None
            try:
                response = await self._open().send(request)
            except httpx2.HTTPError as error:
                failure = self._failure(error, job_id)
                if "CERTIFICATE_VERIFY_FAILED" in str(error):  # no later try would help
                    raise failure from error
            else:
                if response.is_success or response.status_code in taken:
                    return Reply(response, is_repeated=tries > 0)
                failure, pause = error_of(response, job_id=job_id), retry_after_s(response)
                if not passes(response):
                    raise failure
            tries += 1
            await pause_before(tries, failure, ends, pause)

    @asynccontextmanager
    async def stream(
        self, path: str, *, job_id: str, headers: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[httpx2.Response]:
        """Open a stream, once. A silence of ``silence_s`` seconds is a lost connection.

        Raises:
            httpx2.HTTPError: The connection failed, at any time.
            QuerymillError: The client was closed.
        """
        client = self._open()
        request = client.build_request(
            "GET", path, headers=headers, timeout=httpx2.Timeout(CONNECT_S, read=silence_s, write=SEND_S, pool=None)
        )
        try:
            response = await client.send(request, stream=True)
        except httpx2.HTTPError:
            self._refuse_if_closed(job_id)
            raise
        try:
            yield response
        except httpx2.HTTPError:
            self._refuse_if_closed(job_id)
            raise
        finally:
            await response.aclose()

    def unreachable(self, error: httpx2.HTTPError, job_id: str) -> QuerymillError:
        """Return the error of a connection that failed."""
        return self._failure(error, job_id)

    def _build(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any] | None,
        content: bytes | None,
        headers: Mapping[str, str] | None,
        wait_s: float,
    ) -> httpx2.Request:
        timeout = httpx2.Timeout(CONNECT_S, read=REPLY_S + wait_s, write=SEND_S, pool=None)
        sent = dict(headers or {}) | ({} if content is None else {"Content-Type": "application/json"})
        return self._open().build_request(method, path, params=params, content=content, headers=sent, timeout=timeout)

    def _open(self) -> httpx2.AsyncClient:
        if self._is_closed:
            raise ClientClosed("")
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:  # the connections of a loop that has ended are of no use
            self._client, self._loop = self.address.open(), loop
        return self._client

    def _failure(self, error: httpx2.HTTPError, job_id: str) -> QuerymillError:
        self._refuse_if_closed(job_id)
        return unreachable(error, self.address.url)

    def _refuse_if_closed(self, job_id: str) -> None:
        if self._is_closed:
            raise ClientClosed(job_id)


def passes(response: httpx2.Response) -> bool:
    """Whether the same request may succeed soon. What has no place before its deadline is its caller's to ask again."""
    return response.status_code in PASSING and slug_of(problem_of(response)) not in ("overloaded", "late")


async def pause_before(tries: int, failure: QuerymillError, ends: float, asked: float | None = None) -> None:
    """Wait before another try, for as long as the gateway ``asked``, or a little longer after each try.

    Raises:
        QuerymillError: The ``failure``: there is no time for another try.
    """
    longest = min(MAX_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(tries, 10))
    # Those whom one outage stopped must not all come back at once.
    pause = random.uniform(longest / 2, longest) if asked is None else asked + random.uniform(0, FIRST_PAUSE_S)  # noqa: S311
    if time.monotonic() + pause > ends:
        raise failure
    await asyncio.sleep(pause)
