"""A SOCKS5 proxy that leads every connection to one server, whatever host the client names."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.fakes.sockets import serving


@contextmanager
def socks_proxy(server: tuple[str, int]) -> Iterator[tuple[int, list[str]]]:
    """Run the proxy; yields its port and the hosts that clients named."""
    named: list[str] = []

    def serve(client: socket.socket) -> None:
        client.recv(256)
        client.sendall(b"\x05\x00")
        request = client.recv(512)
        named.append(request[5 : 5 + request[4]].decode() if request[3] == 3 else "an address")
        client.sendall(b"\x05\x00\x00\x01" + bytes(6))
        with socket.create_connection(server) as upstream:
            back = threading.Thread(target=_pass_on, args=(upstream, client), daemon=True)
            back.start()
            _pass_on(client, upstream)
            back.join(10)

    with serving(serve) as port:
        yield port, named


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65_536):
            target.sendall(content)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
