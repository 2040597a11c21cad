"""Readiness probes: one real request to each server."""

import http.client
import socket
import struct
from typing import BinaryIO, assert_never

from querymill_embedded.parts import DATABASE, LOOPBACK, Part

_TIMEOUT_S = 1.0
_POSTGRES_PROTOCOL = 3 << 16


def answers(part: Part, port: int) -> bool:
    """Whether the part is ready for work. Waits up to a second, and never raises."""
    try:
        return _ask(part, port)
    except (OSError, http.client.HTTPException, struct.error):
        return False


def _ask(part: Part, port: int) -> bool:
    match part:
        case Part.VALKEY:
            return _valkey_answers(port)
        case Part.POSTGRES:
            return _postgres_answers(port)
        case Part.MONGO:
            with _connect(port):
                return True
        case Part.EMBEDDINGS | Part.CHAT:
            return _health_answers(port)
        case _:
            assert_never(part)


def _connect(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_S)


def _valkey_answers(port: int) -> bool:
    # While Valkey still loads its data from the disk, it replies -LOADING.
    with _connect(port) as connection:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")


def _postgres_answers(port: int) -> bool:
    """Log in and wait for ReadyForQuery: the server accepts connections, and role and database exist."""
    words = b"".join(word.encode() + b"\0" for word in ("user", DATABASE, "database", DATABASE, ""))
    with _connect(port) as connection, connection.makefile("rb") as answer:
        connection.sendall(struct.pack("!ii", 8 + len(words), _POSTGRES_PROTOCOL) + words)
        while (kind := _next_message(answer)) not in (b"Z", b"E"):
            pass
        connection.sendall(b"X" + struct.pack("!i", 4))
    return kind == b"Z"


def _next_message(answer: BinaryIO) -> bytes:
    """Return the kind of the next protocol message, and skip its content.

    Raises:
        struct.error: the connection ended.
    """
    kind, length = struct.unpack("!ci", answer.read(5))
    answer.read(length - 4)
    return bytes(kind)


def _health_answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()
