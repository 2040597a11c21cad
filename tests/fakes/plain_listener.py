"""A listener that speaks no TLS and keeps what it is sent, as one does that waits for passwords."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class PlainListener:
    """Answers whatever comes as a server without TLS would, so that a client goes on to say more."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self.port: int = listening.getsockname()[1]
        self.heard: list[bytes] = []

    def serve(self) -> None:
        """Serve until the socket is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._listen, args=(connection,), daemon=True).start()

    def _listen(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while received := connection.recv(65_536):
                self.heard.append(received)
                connection.sendall(b"+OK\r\n" * max(1, received.count(b"*")))


@contextmanager
def plain_listener() -> Iterator[PlainListener]:
    """Listen on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0), backlog=32) as listening:
        listener = PlainListener(listening)
        thread = threading.Thread(target=listener.serve, daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
