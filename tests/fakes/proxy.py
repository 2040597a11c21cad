"""A network between a client and a server, to be cut or to fall silent."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Network:
    """Passes bytes on between clients of ``port`` and a server, until it is told otherwise.

    ``swallow`` makes every open connection half open: bytes are taken and confirmed, and go nowhere, in both
    directions. New connections work. ``cut`` closes all, and refuses new ones until ``mend``.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._silent: set[int] = set()
        self._open: list[socket.socket] = []
        self._is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._passing: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def swallow(self) -> None:
        self._silent.update(map(id, self._open))

    def cut(self) -> None:
        self._is_cut = True
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self.cut()
        for thread in self._passing:
            thread.join()
        for end in self._open:
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._is_cut:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(self._server)
                except OSError:
                    client.close()
                    continue
                self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    thread = threading.Thread(target=self._pass_on, args=(source, target), daemon=True)
                    self._passing.append(thread)
                    thread.start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if id(source) not in self._silent:
                    target.sendall(data)
        if id(source) in self._silent:
            return  # nobody on the other side hears that it was closed
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def network(host: str, port: int) -> Iterator[Network]:
    """Lay a network before a server, and take it away afterwards."""
    opened = Network(host, port)
    try:
        yield opened
    finally:
        opened.close()
