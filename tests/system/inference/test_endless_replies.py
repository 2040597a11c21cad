"""Replies that are too large, too slow or too deep: each ends in time, and its place is given back at once."""

import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from querymill_shared.contracts.fields import Lane
from querymill_workers.inference.gateway import Gateway
from querymill_workers.inference.http_judge import HttpJudge, RerankEndpoint, open_endpoint
from querymill_workers.inference.prompts import ChatTurn
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import CallFailed, Refused
from tests.fakes.openai_server import Answer, OpenAIServer, chat_stream, embedded
from tests.fakes.vectors import vector_of
from tests.fixtures.inference import Provider
from tests.fixtures.short_forms import all_at_night, named_at_night
from tests.fixtures.tallies import until

MB = 1_000_000


def packed(size: int) -> bytes:
    squeeze, blank = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * MB
    return b"".join([squeeze.compress(blank) for _ in range(size // MB)] + [squeeze.flush()])


LARGE = Answer(b" " * 40 * MB, headers={"Connection": "close"})
BOMB = Answer(packed(300 * MB), headers={"Content-Encoding": "gzip", "Connection": "close"})
DRIP = Answer(b"", events=[b" "] * 200, apart_s=0.1, ends="cut")
BAD = {
    "large": (LARGE, "more than [0-9]+ bytes"),
    "a large error": (Answer(LARGE.body, status=500, headers=LARGE.headers), "unavailable"),
    "gzip bomb": (BOMB, "more than [0-9]+ bytes"),
    "blanks now and then": (DRIP, "no response in time"),
    "deep": (Answer(b"[" * 100_000 + b"]" * 100_000), "unreadable|shape|holds no list"),
    "a deep error": (Answer(b"[" * 100_000, status=500), "HTTP 500"),
}


def within(seconds: float) -> Caller:
    return Caller("c", Lane.INTERACTIVE, time.monotonic() + seconds)


def under_way(provider: Provider) -> int:
    return sum(int(provider.client.zcard(key)) for key in provider.client.scan_iter("qm:account:*:calls"))


def check_left(provider: Provider, started: float) -> None:
    assert time.monotonic() - started < 30
    assert under_way(provider) == 0


@pytest.mark.parametrize("bad", all_at_night(BAD, short=["gzip bomb", "deep"]))
def test_embeddings(provider: Provider, openai_server: OpenAIServer, bad: str) -> None:
    answer, reason = BAD[bad]
    openai_server.script.embeddings = lambda request: answer
    model, started = provider.embeddings(timeout_s=1), time.monotonic()
    with pytest.raises(Refused, match=reason):
        model.embed(["ships"], input_type="query", caller=within(60))
    check_left(provider, started)
    openai_server.script.embeddings = embedded
    vectors, _ = model.embed(["ships"], input_type="query", caller=within(20))
    np.testing.assert_allclose(vectors[0], vector_of("ships"), rtol=1e-6)


@pytest.mark.parametrize(("answer", "reason"), named_at_night(BAD, short=["large", "deep"]))
def test_chat(provider: Provider, openai_server: OpenAIServer, answer: Answer, reason: str) -> None:
    openai_server.script.chat = lambda request: answer
    started = time.monotonic()
    with pytest.raises(Refused, match=reason):
        provider.chat(timeout_s=1).ask([ChatTurn(role="user", content="q")], max_tokens=9, caller=within(60))
    check_left(provider, started)


@pytest.mark.parametrize("bad", all_at_night(BAD, short=["a large error", "a deep error"]))
def test_rerank(provider: Provider, openai_server: OpenAIServer, bad: str) -> None:
    answer, reason = BAD[bad]
    openai_server.script.rerank = lambda request: answer
    started = time.monotonic()
    with open_endpoint(provider.url, "k") as client:
        endpoint = RerankEndpoint(client, provider.url, model="m", shape="cohere")
        gateway = Gateway[dict[int, float]](provider.account(), "rerank endpoint", timeout_s=1, probe=endpoint.probe)
        judge = HttpJudge(endpoint, gateway, provider.ledger(), passage_tokens=900)
        with pytest.raises(Refused, match=reason):
            judge.judge("q", {"a": "b"}, caller=within(60))
    check_left(provider, started)


def test_a_stream_whose_parts_come_in_time_may_take_longer_than_one_call(
    provider: Provider, openai_server: OpenAIServer
) -> None:
    openai_server.script.chat = lambda request: chat_stream(*["ship "] * 8, apart_s=0.25)
    heard: list[str] = []

    def hear(part: str) -> bool:
        heard.append(part)
        return True

    turns = [ChatTurn(role="user", content="q")]
    provider.chat(timeout_s=1).stream(turns, max_tokens=90, caller=within(60), hear=hear)
    assert "".join(heard) == "ship " * 8


def test_a_stream_that_sends_no_more_words_ends(provider: Provider, openai_server: OpenAIServer) -> None:
    said = chat_stream("nine ").events[:1]
    alive = [*said, *[b": still here\n\n"] * 200]
    openai_server.script.chat = lambda request: Answer(
        b"", headers={"Content-Type": "text/event-stream"}, events=alive, apart_s=0.1, ends="cut"
    )
    started = time.monotonic()
    turns = [ChatTurn(role="user", content="q")]
    with pytest.raises(CallFailed, match="broke off: no response in time"):
        provider.chat(timeout_s=1).stream(turns, max_tokens=9, caller=within(60), hear=lambda _: True)
    check_left(provider, started)


@contextmanager
def raw_server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that says byte for byte what ``serve`` says, on every connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threads: list[threading.Thread] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threads.append(threading.Thread(target=answer, args=(connection,)))
                threads[-1].start()

        def answer(connection: socket.socket) -> None:
            with connection:
                connection.recv(65_536)
                serve(connection)

        accepting = threading.Thread(target=accept)
        accepting.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        listening.shutdown(socket.SHUT_RDWR)
        for thread in [accepting, *threads]:
            thread.join(20)


def drips_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
    try:
        for _ in range(60):
            connection.sendall(b"a")
            time.sleep(0.1)
    except OSError:
        return


def sends_a_limit_without_end(connection: socket.socket) -> None:
    digits = b"9" * 5_000
    connection.sendall(
        b"HTTP/1.1 429 No\r\nx-ratelimit-remaining-requests: %b\r\nx-ratelimit-reset-tokens: %b\r\n"
        b"Retry-After: %b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}" % (digits, digits, digits)
    )


@pytest.mark.parametrize("serve", [pytest.param(drips_headers, marks=pytest.mark.nightly), sends_a_limit_without_end])
def test_headers(provider: Provider, serve: Callable[[socket.socket], None]) -> None:
    with raw_server(serve) as url:
        other = Provider(provider.client, url, provider.fleet_counters, provider.opened)
        started = time.monotonic()
        with pytest.raises(Refused, match=r"no response in time|before the deadline"):
            other.embeddings(timeout_s=0.5).embed(["ships"], input_type="query", caller=within(4))
        assert time.monotonic() - started < 20
        until(lambda: not under_way(provider), within_s=20)
    paused = [
        provider.client.hget(key, "paused_until") for key in provider.client.scan_iter("qm:account:*", _type="hash")
    ]
    seconds, _ = provider.client.time()
    assert all(float(until or 0) / 1000 < seconds + 35 for until in paused), (
        "a limit beyond reason pauses nobody for long"
    )
