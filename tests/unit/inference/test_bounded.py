"""How much of a response is read, with a transport that gives what a test says."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import httpx2
import pytest

from querymill_workers.inference.bounded import BoundedClient, TooLong
from tests.fixtures.short_forms import all_at_night

MB = 1_000_000


def packed(size: int) -> bytes:
    squeeze, blank = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * MB
    return b"".join([squeeze.compress(blank) for _ in range(size // MB)] + [squeeze.flush()])


def client(answer: Callable[[httpx2.Request], httpx2.Response], *, max_bytes: int = MB) -> BoundedClient:
    return BoundedClient(timeout_s=10, max_bytes=max_bytes, transport=httpx2.MockTransport(answer))


def giving(body: bytes, **headers: str) -> Callable[[httpx2.Request], httpx2.Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx2.Response(200, headers=named, stream=httpx2.ByteStream(body))


def test_only_gzip_is_asked_for_and_it_is_unpacked() -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["accept-encoding"])
        return giving(gzip.compress(b'{"a": 1}'), content_encoding="gzip", content_length="9")(request)

    with client(answer) as opened:
        response = opened.post("http://provider/v1", json={})
    assert (response.json(), asked) == ({"a": 1}, ["gzip"])


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "identity, gzip"])
def test_an_encoding_that_was_not_asked_for_is_not_unpacked(encoding: str) -> None:
    with client(giving(packed(MB), content_encoding=encoding)) as opened, pytest.raises(httpx2.DecodingError):
        opened.get("http://provider/v1")


@pytest.mark.parametrize("body", [b"no gzip", gzip.compress(b"x" * 1_000)[:-9]], ids=["no gzip", "cut off"])
def test_what_is_no_whole_gzip_is_an_error_of_decoding(body: bytes) -> None:
    with client(giving(body, content_encoding="gzip")) as opened, pytest.raises(httpx2.DecodingError):
        opened.get("http://provider/v1")


@pytest.mark.parametrize("status", all_at_night([200, 400, 500], short=[200]))
def test_bytes_are_counted_after_they_are_unpacked_and_hardly_more_than_allowed_are(status: int) -> None:
    body = packed(200 * MB)

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-encoding": "gzip"}, stream=httpx2.ByteStream(body))

    tracemalloc.start()
    with client(answer, max_bytes=4 * MB) as opened, pytest.raises(TooLong, match="more than 4000000 bytes"):
        opened.get("http://provider/v1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * MB


def test_a_plain_body_without_end_is_left_at_the_limit() -> None:
    given = 0

    class Endless(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            nonlocal given
            while True:
                given += 1
                yield b" " * 100_000

    with (
        client(lambda _: httpx2.Response(200, stream=Endless())) as opened,
        opened.stream("GET", "http://provider/v1") as response,
        pytest.raises(TooLong),
    ):
        response.read()
    assert given == 11


def test_no_redirect_is_followed() -> None:
    with client(
        lambda _: httpx2.Response(302, headers={"location": "http://elsewhere"}, stream=httpx2.ByteStream(b""))
    ) as opened:
        assert opened.get("http://provider/v1").status_code == 302
