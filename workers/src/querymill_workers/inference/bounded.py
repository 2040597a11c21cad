"""An HTTP client whose responses end: each within its time limit in all, and within a size after decompression.

The HTTP library limits each read only. So a body that comes byte by byte would never end, and a small one may unpack to
gigabytes.
"""

import time
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final

import httpx2

from querymill_workers.inference.carrying import carry

#: Bytes that are unpacked at a time.
UNPACKED_AT_ONCE: Final = 65_536
_GZIP: Final = 31
_OF_THE_BODY: Final = ("content-encoding", "content-length", "transfer-encoding")
_LIMIT: Final = "querymill.time_limit"


class TooLong(httpx2.TransportError):
    """A response has more bytes than a client reads."""


class TimeLimit:
    """The seconds that a response may take, from now on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.renew()

    def renew(self) -> None:
        """Give the rest of the response as many seconds again."""
        self._until = time.monotonic() + self.seconds

    def check(self) -> None:
        """Check that time is left.

        Raises:
            httpx2.ReadTimeout: It is up.
        """
        if time.monotonic() > self._until:
            raise httpx2.ReadTimeout(f"no whole response in {self.seconds:g} s")


class BoundedClient(httpx2.Client):
    """A client that follows no redirects, because every request carries a key, and reads at most ``max_bytes``.

    The read timeout of a request limits its whole response. That of a streamed one, after the headers, limits the time
    between two calls of `renew`.
    """

    def __init__(
        self,
        *,
        transport: httpx2.BaseTransport,
        timeout_s: float,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(transport=transport, headers=headers, follow_redirects=False, timeout=timeout_s)
        # What is not asked for is not read: other encodings have no bound on what a few bytes unpack to.
        self.headers["accept-encoding"] = "gzip"
        self._timeout_s = timeout_s
        self._most_bytes = max_bytes

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """See `httpx2.Client.send`."""
        limit = TimeLimit(request.extensions.get("timeout", {}).get("read") or self._timeout_s)
        send = super().send

        def exchange() -> httpx2.Response:
            response = _bounded(send(request, stream=True, **options), limit, self._most_bytes)
            try:
                if not stream:
                    response.read()
            except BaseException:
                response.close()
                raise
            return response

        # The headers may come byte by byte too, so the exchange is left where nothing else ends it.
        exchanged = carry(exchange, name="exchange")
        try:
            return exchanged.result(timeout=limit.seconds)
        except TimeoutError:
            exchanged.add_done_callback(_close)
            raise httpx2.ReadTimeout(f"no whole response in {limit.seconds:g} s", request=request) from None


def renew(response: httpx2.Response) -> None:
    """Give the rest of a streamed response its time again, because a part of use has come."""
    response.extensions[_LIMIT].renew()


def _close(exchanged: "Future[httpx2.Response]") -> None:
    if exchanged.exception() is None:
        exchanged.result().close()


def _bounded(response: httpx2.Response, limit: TimeLimit, max_bytes: int) -> httpx2.Response:
    """Return a response whose body is unpacked and counted while it is read."""
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_BODY]
    return httpx2.Response(
        response.status_code,
        headers=headers,
        stream=_Body(response, limit, max_bytes),
        request=response.request,
        extensions=response.extensions | {_LIMIT: limit},
    )


class _Body(httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, limit: TimeLimit, max_bytes: int) -> None:
        self._response = response
        self._limit = limit
        self._most_bytes = max_bytes

    def __iter__(self) -> Iterator[bytes]:
        left = self._most_bytes
        for part in self._unpacked():
            self._limit.check()
            left -= len(part)
            if left < 0:
                raise TooLong(f"a response of more than {self._most_bytes} bytes")
            yield part

    def _unpacked(self) -> Iterator[bytes]:
        encoding = self._response.headers.get("content-encoding", "").strip().lower()
        if encoding in ("", "identity"):
            yield from self._response.iter_raw()
            return
        if encoding not in ("gzip", "x-gzip"):
            raise httpx2.DecodingError("a content encoding that was not asked for")
        unpack = zlib.decompressobj(_GZIP)
        try:
            for part in self._response.iter_raw():
                self._limit.check()
                packed = part
                while packed and not unpack.eof:
                    yield unpack.decompress(packed, UNPACKED_AT_ONCE)
                    packed = unpack.unconsumed_tail
        except zlib.error as error:
            raise httpx2.DecodingError("not gzip") from error
        if not unpack.eof:
            raise httpx2.DecodingError("the gzip is cut")

    def close(self) -> None:
        self._response.close()
