"""A network between a client and a server, to be cut or to fall silent."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Trap:
    """What happens to a connection on which a client sends some bytes, ``left`` times, the first ``spared`` times not.

    ``act`` gets the port from which the server sees the connection. Without it the connection is closed, and the bytes
    do not arrive.
    """

    needle: bytes
    left: int
    act: Callable[[int], None] | None = None
    spared: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def springs(self, data: bytes) -> bool:
        with self._lock:
            if self.left == 0 or self.needle not in data:
                return False
            if self.spared:
                self.spared -= 1
                return False
            self.left -= 1
            return True


class Network:
    """Passes bytes on between clients of ``port`` and a server, until it is told otherwise.

    ``swallow`` makes every open connection half open: bytes are taken and confirmed, and go nowhere, in both
    directions. New connections work. ``cut`` closes all, and refuses new ones until ``mend``. ``lay`` lays a trap for
    one.
    """

    def __init__(self, host: str, port: int, *, at: str = "127.0.0.1") -> None:
        self._server = (host, port)
        self._silent: set[int] = set()
        self._open: list[socket.socket] = []
        self._is_cut = False
        self._trap: Trap | None = None
        self._listener = socket.create_server((at, 0))
        self.port = int(self._listener.getsockname()[1])
        self._passing: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def swallow(self) -> None:
        self._silent.update(map(id, self._open))

    def bury(self) -> None:
        """Let the server hear that its half-open connections are gone, as by its own keepalive. No client hears it."""
        for server in self._open[1::2]:
            if id(server) in self._silent:
                with suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self._is_cut = True
        for end in self._open:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def lay(self, needle: bytes, *, times: int, act: Callable[[int], None] | None = None, spared: int = 0) -> Trap:
        self._trap = trap = Trap(needle, times, act, spared)
        return trap

    def lose_reply(self, port: int, *, after_s: float = 0.5) -> None:
        """Let a request arrive and its reply be lost: a moment later the connection closes. For a trap to call."""
        place = next(at for at, end in enumerate(self._open) if end.fileno() >= 0 and end.getsockname()[1] == port)
        client, server = self._open[place - 1], self._open[place]
        self._silent.add(id(server))

        def close() -> None:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        threading.Timer(after_s, close).start()

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
                for source, target, pass_on in (
                    (client, server, self._pass_on_request),
                    (server, client, self._pass_on),
                ):
                    thread = threading.Thread(target=pass_on, args=(source, target), daemon=True)
                    self._passing.append(thread)
                    thread.start()

    def _pass_on_request(self, client: socket.socket, server: socket.socket) -> None:
        self._pass_on(client, server, is_request=True)

    def _pass_on(self, source: socket.socket, target: socket.socket, *, is_request: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                trap = self._trap if is_request else None
                if trap is not None and trap.springs(data):
                    if trap.act is None:
                        source.shutdown(socket.SHUT_RDWR)
                        break
                    trap.act(target.getsockname()[1])
                if id(source) not in self._silent:
                    target.sendall(data)
        if id(source) in self._silent:
            return  # nobody on the other side hears that it was closed
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def network(host: str, port: int, *, at: str = "127.0.0.1") -> Iterator[Network]:
    """Lay a network before a server, with clients at an address, and take it away afterwards."""
    opened = Network(host, port, at=at)
    try:
        yield opened
    finally:
        opened.close()
