"""Servers of a few bytes, for tests of what happens at the other end of a connection."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def serving(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Give each connection to ``serve``, then close it; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def replying(reply: bytes) -> Callable[[socket.socket], None]:
    """Read something, then send the reply."""

    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(reply)

    return serve
