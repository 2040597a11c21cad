"""Serving: on loopback without keys, elsewhere only with keys; slow clients are let go; stopping loses nothing."""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from querymill.gateway.app import create_app
from querymill.gateway.http.log_lines import log_as_json
from querymill.gateway.http.middleware import LAST_PART, MAX_HEADERS, MAX_TARGET
from querymill.keys import Keyring, are_required
from querymill_shared import tracing
from querymill_shared.contracts.errors import QuerymillError
from querymill_shared.settings import Settings

_log = logging.getLogger(__name__)

#: The head of a request must be whole after this long, in seconds. Idle connections are closed after the other.
HEAD_S, IDLE_S = 10.0, 5
#: What was sent and is not acknowledged for this long ends a connection, in ms.
UNACKNOWLEDGED_MS: Final = 20_000
#: What is read of a connection at a time: a body of tiny chunks takes long to take apart, and others wait meanwhile.
READ_BYTES: Final = 16_384
#: How long requests under way may take to end when the process stops, in seconds.
DRAIN_S: Final = 25


class UnguardedHost(QuerymillError):
    """Raised when a gateway without keys is to be served beyond loopback."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"host {host}: without API keys the gateway serves loopback only; make one with `querymill keys add`"
        )


class Connection(H11Protocol):
    """A connection that must say what it wants in time."""

    _impatience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        transport.max_size = READ_BYTES
        connected = transport.get_extra_info("socket")
        if connected is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait. What came with the end of the connection, the server would forget."""
        self._has_head()
        if self.cycle is not None and not self.cycle.response_complete and self.cycle.body:
            scope: dict[str, Any] = cast("Any", self.cycle.scope)
            scope[LAST_PART] = {
                "type": "http.request",
                "body": bytes(self.cycle.body),
                "more_body": self.cycle.more_body,
            }
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. The first part of a further one begins to wait for the rest of its head."""
        is_between = self.cycle is None or self.cycle.response_complete
        if is_between and self._impatience is None:
            self._expect_head()
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._has_head()

    def _expect_head(self) -> None:
        self._impatience = self.loop.call_later(HEAD_S, self._give_up)

    def _has_head(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def _give_up(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            head = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            self.transport.write(head)
            self.transport.close()


class Server(uvicorn.Server):
    """A server that tells its streams before it waits for them to end, and ``tell`` where it listens."""

    tell: Callable[[str, int], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell where. Port 0 has become a free one by then."""
        await super().startup(sockets)
        listening = [socket_ for server in self.servers for socket_ in server.sockets]
        if listening:
            port = listening[0].getsockname()[1]
            _log.info("gateway ready", extra={"fields": {"host": self.config.host, "port": port}})
            if self.tell is not None:
                self.tell(self.config.host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, end the streams, wait for the requests under way, export the last spans."""
        app: Any = self.config.app
        app.state.context.stopping.set()
        await super().shutdown(sockets)
        # When the server has ended, the signal that ended it ends the process.
        await asyncio.to_thread(tracing.end)


def serve(settings: Settings, *, host: str, port: int, tell: Callable[[str, int], None] | None = None) -> None:
    """Serve until stopped. ``tell`` is called with the host and the port when it listens.

    Raises:
        UnguardedHost: There is no key, no setting that requires one, and the host is not loopback's.
        TracingNotInstalled: The environment asks for traces, and the packages that make them are missing.
        Unavailable: The board is not reachable, so nobody knows whether there is a key.
    """
    tracing.start("querymill-gateway")
    is_open = is_loopback(host)
    if not is_open and not are_required(settings):
        with closing(Keyring.connect(settings)) as keyring:
            if keyring.is_empty():
                raise UnguardedHost(host)
    log_as_json(settings.querymill_log_level)
    server = server_for(create_app(settings, keys_required=not is_open), host=host, port=port)
    server.tell = tell
    server.run()


def server_for(app: FastAPI, *, host: str, port: int) -> Server:
    """Make the server of an application."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=DRAIN_S,
        h11_max_incomplete_event_size=2 * (MAX_HEADERS + MAX_TARGET),
    )
    return Server(config)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
