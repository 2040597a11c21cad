"""Readiness probes: one real request to each server."""

import http.client
import socket
import struct
from typing import BinaryIO, assert_never

from querymill_embedded.parts import DATABASE, LOOPBACK, StackPart

_TIMEOUT_S = 1.0
_POSTGRES_PROTOCOL = 3 << 16
#: AuthenticationSASL, with its code.
_ASKS_FOR_PASSWORD = b"R" + struct.pack("!i", 10)


def answers(part: StackPart, port: int, password: str | None = None) -> bool:
    """Whether the part is ready for work. Waits up to a second, and never raises."""
    try:
        return _ask(part, port, password)
    except (OSError, http.client.HTTPException, struct.error):
        return False


def _ask(part: StackPart, port: int, password: str | None) -> bool:
    match part:
        case StackPart.VALKEY:
            return _valkey_answers(port, password)
        case StackPart.POSTGRES:
            return _postgres_answers(port)
        case StackPart.EMBEDDINGS | StackPart.CHAT:
            return _health_answers(port)
        case _:
            assert_never(part)


def _connect(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=_TIMEOUT_S)


def _valkey_answers(port: int, password: str | None) -> bool:
    # While Valkey still loads its data from the disk, it takes the password and replies -LOADING to the rest.
    asked = [b"PING"] if password is None else [b"AUTH " + password.encode(), b"PING"]
    with _connect(port) as connection, connection.makefile("rb") as answer:
        connection.sendall(b"".join(command + b"\r\n" for command in asked))
        return [answer.readline() for _ in asked][-1].startswith(b"+PONG")


def _postgres_answers(port: int) -> bool:
    """Ask to log in, and wait to be asked for the password. A server that still starts reports an error instead.

    A server that asks for none reports that it is ready for a query.
    """
    words = b"".join(word.encode() + b"\0" for word in ("user", DATABASE, "database", DATABASE, ""))
    with _connect(port) as connection, connection.makefile("rb") as answer:
        connection.sendall(struct.pack("!ii", 8 + len(words), _POSTGRES_PROTOCOL) + words)
        while (message := _next_message(answer)) not in (_ASKS_FOR_PASSWORD, b"Z", b"E"):
            pass
        connection.sendall(b"X" + struct.pack("!i", 4))
    return message != b"E"


def _next_message(answer: BinaryIO) -> bytes:
    """Return the kind of the next protocol message, with its code if it is about logging in.

    Raises:
        struct.error: the connection ended.
    """
    kind, length = struct.unpack("!ci", answer.read(5))
    content = answer.read(length - 4)
    return bytes(kind) + (content[:4] if kind == b"R" else b"")


def _health_answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    finally:
        connection.close()
