import socket
import struct
import threading
import time

import pytest

from querymill_embedded import probes
from querymill_embedded.parts import StackPart
from querymill_embedded.probes import answers
from tests.fakes.sockets import replying, serving


def message(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack("!i", 4 + len(content)) + content


READY = [
    (StackPart.VALKEY, b"+PONG\r\n"),
    (StackPart.POSTGRES, message(b"R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0")),
    # One that asks for no password.
    (StackPart.POSTGRES, message(b"R", struct.pack("!i", 0)) + message(b"S", b"TimeZone\0UTC\0") + message(b"Z", b"I")),
    (StackPart.EMBEDDINGS, b"HTTP/1.0 200 OK\r\n\r\n"),
    (StackPart.CHAT, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
]
NOT_READY = [
    (StackPart.VALKEY, b"-LOADING Valkey is loading the dataset in memory\r\n"),
    (StackPart.VALKEY, b""),
    (StackPart.POSTGRES, message(b"E", b"SFATAL\0Mthe database system is starting up\0\0")),
    (StackPart.POSTGRES, message(b"R", struct.pack("!i", 0))),
    (StackPart.POSTGRES, b"R\0"),
    (StackPart.POSTGRES, b""),
    (StackPart.EMBEDDINGS, b"HTTP/1.1 404 Not Found\r\n\r\n"),
    (StackPart.CHAT, b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"error": "Loading model"}'),
    (StackPart.CHAT, b"garbage\r\n\r\n"),
    (StackPart.CHAT, b""),
]


@pytest.mark.parametrize(("part", "reply"), READY)
def test_a_part_that_replies_as_itself_is_ready(part: StackPart, reply: bytes) -> None:
    with serving(replying(reply)) as port:
        assert answers(part, port)


@pytest.mark.parametrize(("part", "reply"), NOT_READY)
def test_a_part_that_still_loads_or_replies_nonsense_is_not_ready(part: StackPart, reply: bytes) -> None:
    with serving(replying(reply)) as port:
        assert not answers(part, port)


@pytest.mark.parametrize(
    ("reply", "ready"),
    [
        (b"+OK\r\n+PONG\r\n", True),
        (b"+OK\r\n-LOADING Valkey is loading the dataset in memory\r\n", False),
        (b"-WRONGPASS\r\n-NOAUTH Authentication required.\r\n", False),
        (b"+OK\r\n", False),
    ],
)
def test_valkey_is_asked_with_its_password(reply: bytes, ready: bool) -> None:
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heard.append(connection.recv(4096))
        connection.sendall(reply)

    with serving(serve) as port:
        assert answers(StackPart.VALKEY, port, "a1") is ready
    assert heard == [b"AUTH a1\r\nPING\r\n"]


@pytest.mark.parametrize("part", list(StackPart))
def test_nothing_listens(part: StackPart) -> None:
    with serving(replying(b"")) as port:
        pass
    assert not answers(part, port)


@pytest.mark.parametrize("part", list(StackPart))
def test_a_part_that_says_nothing_is_not_waited_for(part: StackPart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_TIMEOUT_S", 0.05)
    released = threading.Event()

    def say_nothing(_: socket.socket) -> None:
        released.wait(60)

    with serving(say_nothing) as port:
        started = time.monotonic()
        assert not answers(part, port)
        assert time.monotonic() - started < 20
        released.set()


def test_postgres_is_asked_for_the_role_and_database_of_the_application() -> None:
    heard: list[bytes] = []
    with serving(lambda connection: heard.append(connection.recv(4096))) as port:
        answers(StackPart.POSTGRES, port)
    (startup,) = heard
    assert struct.unpack("!ii", startup[:8]) == (len(startup), 196_608)
    assert startup[8:] == b"user\0querymill\0database\0querymill\0\0"
