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
        self._lock = threading.Lock()
        #: The client's end of each connection, and the server's, until both are over.
        self._open: list[tuple[socket.socket, socket.socket]] = []
        self._silent: set[socket.socket] = set()
        self._is_cut = False
        self._trap: Trap | None = None
        self._listener = socket.create_server((at, 0))
        self.port = int(self._listener.getsockname()[1])
        self._passing: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def swallow(self) -> None:
        with self._lock:
            self._silent.update(*self._open)

    def bury(self) -> None:
        """Let the server hear that its half-open connections are gone, as by its own keepalive. No client hears it."""
        with self._lock:
            for _, server in self._open:
                if server in self._silent:
                    _shut(server)

    def cut(self) -> None:
        self._is_cut = True
        with self._lock:
            for pair in self._open:
                for end in pair:
                    _shut(end)

    def mend(self) -> None:
        self._is_cut = False

    def lay(self, needle: bytes, *, times: int, act: Callable[[int], None] | None = None, spared: int = 0) -> Trap:
        self._trap = trap = Trap(needle, times, act, spared)
        return trap

    def lose_reply(self, port: int, *, after_s: float = 0.5) -> None:
        """Let a request arrive and its reply be lost: a moment later the connection closes. For a trap to call."""
        with self._lock:
            client, server = next(pair for pair in self._open if pair[1].getsockname()[1] == port)
            self._silent.add(server)
        threading.Timer(after_s, _shut, (client,)).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        self.cut()
        for thread in self._passing:
            thread.join()

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
                with self._lock:
                    self._open.append((client, server))
                thread = threading.Thread(target=self._pass_both, args=(client, server), daemon=True)
                self._passing = [thread, *(each for each in self._passing if each.is_alive())]
                thread.start()

    def _pass_both(self, client: socket.socket, server: socket.socket) -> None:
        """Pass bytes on in both directions, until each end has closed its own."""
        back = threading.Thread(target=self._pass_on, args=(server, client), daemon=True)
        back.start()
        self._pass_on(client, server, is_request=True)
        back.join()
        with self._lock:
            self._open.remove((client, server))
            self._silent -= {client, server}
            client.close()
            server.close()

    def _pass_on(self, source: socket.socket, target: socket.socket, *, is_request: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                trap = self._trap if is_request else None
                if trap is not None and trap.springs(data):
                    if trap.act is None:
                        _shut(source)
                        break
                    trap.act(target.getsockname()[1])
                if source not in self._silent:
                    target.sendall(data)
        if source not in self._silent:  # else nobody on the other side hears that it was closed
            _shut(target)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def network(host: str, port: int, *, at: str = "127.0.0.1") -> Iterator[Network]:
    """Lay a network before a server, with clients at an address, and take it away afterwards."""
    opened = Network(host, port, at=at)
    try:
        yield opened
    finally:
        opened.close()
