"""A receiver of callbacks, on a free port of loopback, that keeps what it is told and answers as a test says."""

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.fixtures.certificates import Issued

#: A busy machine needs its time, in seconds.
PATIENCE_S = 60


@dataclass(frozen=True)
class Told:
    """A request as it came, with the headers' names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float = field(default_factory=time.monotonic, compare=False)

    @property
    def id(self) -> str:
        """The id of the message."""
        return self.headers["webhook-id"]


class Handler(BaseHTTPRequestHandler):
    """One connection. ``answer`` is called with it for each request."""

    receiver: "CallbackReceiver"

    def do_POST(self) -> None:  # the name of the standard library
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.receiver.changed:
            self.receiver.told.append(Told(self.path, headers, body))
            self.receiver.changed.notify_all()
        with suppress(OSError):
            self.receiver.answer(self)

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002  # as above
        """Say nothing."""


Answer = Callable[[Handler], None]


def status(code: int, **headers: str) -> Answer:
    """Answer with a status at once."""

    def answer(handler: Handler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def hang(handler: Handler) -> None:
    """Answer nothing until the caller has gone, or the receiver is closed."""
    handler.receiver.closing.wait(PATIENCE_S)


def drip(handler: Handler) -> None:
    """Answer a byte of a header at a time, without an end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.receiver.closing.wait(0.05):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def ten_megabytes(handler: Handler) -> None:
    """Accept the message with a long body."""
    handler.send_response(200)
    handler.send_header("Content-Length", "10000000")
    handler.end_headers()
    for _ in range(1_000):
        handler.wfile.write(b"x" * 10_000)


def break_off(handler: Handler) -> None:
    """Close the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)


class CallbackReceiver:
    """The receiver. With an issued certificate it speaks TLS."""

    def __init__(self, answer: Answer | None = None, *, issued: Issued | None = None) -> None:
        self.told: list[Told] = []
        self.answer: Answer = answer or status(204)
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"receiver": self}))
        self._server.daemon_threads = True
        self.port = self._server.server_port
        if issued is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(issued.certificate, issued.key)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def origin(self) -> str:
        """What a list of origins names it by."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Its address."""
        return f"{self.origin}/hooks/jobs"

    def wait_for(self, count: int) -> list[Told]:
        """Return what it was told once that is so many messages."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told) >= count, PATIENCE_S), f"told {len(self.told)}"
            return list(self.told)
