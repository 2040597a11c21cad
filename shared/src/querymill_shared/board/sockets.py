"""Connections to the board's server. The address chooses whether TLS, a local socket or plain TCP is opened."""

import socket
import struct
import sys
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import redis
import redis.asyncio
from redis.connection import parse_url

from querymill_shared.board.away import raise_explained
from querymill_shared.board.sentinels import Primary
from querymill_shared.sentinel_addresses import SentinelAddress, is_sentinel, read_sentinel

#: What was sent and is not acknowledged for this long ends a connection, in ms. Only Linux knows this option.
UNACKNOWLEDGED_MS: Final = 10_000
#: With the library's defaults, a half-open connection hangs a producer or a worker for ever.
OPTIONS: Final[dict[str, Any]] = {
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "socket_keepalive_options": (
        {socket.TCP_USER_TIMEOUT: UNACKNOWLEDGED_MS} if hasattr(socket, "TCP_USER_TIMEOUT") else {}
    ),
    "health_check_interval": 5,
    # Another program may write bytes that are no text. With an error, whatever stands beside them could not be read.
    "encoding_errors": "replace",
}
#: Those that a local socket does not take.
_OF_TCP: Final = ("socket_keepalive", "socket_keepalive_options")
#: A connection that was used this lately, in seconds, is taken for sound.
LATELY_S: Final = 0.1


class Sound(redis.connection.AbstractConnection):
    """A connection that knows when it last worked, and raises `Unavailable` while the board is away."""

    #: When its last command had replied, in monotonic seconds, if it was not lent since.
    sound_at = float("-inf")

    @property
    def is_sound(self) -> bool:
        """Whether nobody need look if the server has closed the connection, or if a reply is still on its way."""
        return self._sock is not None and time.monotonic() - self.sound_at < LATELY_S

    def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        """Send commands. Raises Unavailable."""
        try:
            super().send_packed_command(*args, **kwargs)  # type: ignore[no-untyped-call]
        except redis.RedisError as error:
            raise_explained(error)

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """Read a reply. Raises Unavailable, or what the reply says."""
        try:
            return super().read_response(*args, **kwargs)
        except redis.RedisError as error:
            raise_explained(error)


class Quick(redis.connection.AbstractConnection):
    """A connection whose time limits are kept by the kernel.

    With limits that Python keeps, every command gives up the interpreter's lock five times instead of twice, and the
    threads of a busy worker spend much of the processor on passing it around.
    """

    def _connect(self) -> Any:
        connected = super()._connect()  # type: ignore[no-untyped-call, safe-super]  # of the kind of socket
        limit = self.socket_timeout
        if limit is not None and sys.platform == "linux":
            seconds, rest = divmod(limit, 1)
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                connected.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), int(rest * 1e6)))
            connected.settimeout(None)
        return connected

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """Read a reply.

        Raises:
            redis.TimeoutError: None came in time.
        """
        try:
            return super().read_response(*args, **kwargs)
        except redis.ConnectionError as error:
            if isinstance(error.__context__, BlockingIOError):
                raise redis.TimeoutError("Timeout reading from socket") from error
            raise


class QuickConnection(Sound, Quick, redis.Connection):
    """A plain connection over TCP."""


class QuickSocket(Sound, Quick, redis.UnixDomainSocketConnection):
    """A connection over a local socket."""


class TLSConnection(Sound, redis.SSLConnection):
    """A connection over TLS. Python keeps its time limits: the TLS library tries a read again that the kernel ended."""


class OfSentinels(redis.connection.AbstractConnection):
    """A connection to the server that Sentinels name as the primary when it is opened.

    Opening it raises `redis.ConnectionError` while they name none.
    """

    def __init__(self, *args: Any, primary: Primary, **kwargs: Any) -> None:
        self._primary = primary
        super().__init__(*args, **kwargs)

    def _connect(self) -> Any:
        self.host, self.port = self._primary.find()
        return super()._connect()  # type: ignore[no-untyped-call, safe-super]  # of the kind of socket


class SentinelConnection(OfSentinels, QuickConnection):
    """A plain connection over TCP to the primary."""


class SentinelTLSConnection(OfSentinels, TLSConnection):
    """A connection over TLS to the primary."""


class Watchful(redis.asyncio.connection.AbstractConnection):
    """A connection that a pool does not lend once the server has closed it. The library looks for replies only.

    It raises `Unavailable` while the board is away.
    """

    async def send_packed_command(self, *args: Any, **kwargs: Any) -> None:
        """Send commands. Raises Unavailable."""
        try:
            await super().send_packed_command(*args, **kwargs)
        except redis.RedisError as error:
            raise_explained(error)

    async def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """Read a reply. Raises Unavailable, or what the reply says."""
        try:
            return await super().read_response(*args, **kwargs)
        except redis.RedisError as error:
            raise_explained(error)

    async def can_read(self) -> bool:
        """Whether a reply of an earlier command is still on its way.

        Raises:
            redis.ConnectionError: The server has closed the connection. The pool opens it again.
        """
        if self._reader is not None and self._reader.at_eof():
            raise redis.ConnectionError("the server has closed the connection")
        return await super().can_read()


class WatchfulConnection(Watchful, redis.asyncio.Connection):
    """A plain connection over TCP, for coroutines."""


class WatchfulSocket(Watchful, redis.asyncio.UnixDomainSocketConnection):
    """A connection over a local socket, for coroutines."""


class WatchfulTLSConnection(Watchful, redis.asyncio.SSLConnection):
    """A connection over TLS, for coroutines."""


class WatchfulOfSentinels(redis.asyncio.connection.AbstractConnection):
    """A connection to the server that Sentinels name as the primary when it is opened, for coroutines.

    Opening it raises `redis.ConnectionError` while they name none.
    """

    def __init__(self, *args: Any, primary: Primary, **kwargs: Any) -> None:
        self._primary = primary
        super().__init__(*args, **kwargs)

    async def _connect(self) -> None:
        self.host, self.port = await self._primary.find_async()
        await super()._connect()  # type: ignore[no-untyped-call, safe-super]  # of the kind of socket


class WatchfulSentinelConnection(WatchfulOfSentinels, WatchfulConnection):
    """A plain connection over TCP to the primary, for coroutines."""


class WatchfulSentinelTLSConnection(WatchfulOfSentinels, WatchfulTLSConnection):
    """A connection over TLS to the primary, for coroutines."""


_CLASSES: Final[Mapping[Any, Any]] = {
    redis.Connection: QuickConnection,
    redis.UnixDomainSocketConnection: QuickSocket,
    redis.SSLConnection: TLSConnection,
}
_ASYNC_CLASSES: Final[Mapping[Any, Any]] = {
    redis.Connection: WatchfulConnection,
    redis.UnixDomainSocketConnection: WatchfulSocket,
    redis.SSLConnection: WatchfulTLSConnection,
}
_SENTINEL_CLASSES: Final[Mapping[Any, Any]] = {
    redis.Connection: SentinelConnection,
    redis.SSLConnection: SentinelTLSConnection,
}
_SENTINEL_ASYNC_CLASSES: Final[Mapping[Any, Any]] = {
    redis.Connection: WatchfulSentinelConnection,
    redis.SSLConnection: WatchfulSentinelTLSConnection,
}


def options_of(
    url: str, *, asynchronous: bool = False, changed: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the options of a pool that opens what an address says.

    ``changed`` overrides `OPTIONS`, and parameters of the address override both.

    Raises:
        ValueError: The address is none of Redis or Valkey.
    """
    if is_sentinel(url):
        return {**OPTIONS, **changed, **_options_of_primary(read_sentinel(url), asynchronous=asynchronous)}
    asked: dict[str, Any] = {**parse_url(url)}  # type: ignore[no-untyped-call]
    opened = asked.pop("connection_class", redis.Connection)
    taken = {
        name: value
        for name, value in {**OPTIONS, **changed}.items()
        if opened is not redis.UnixDomainSocketConnection or name not in _OF_TCP
    }
    classes = _ASYNC_CLASSES if asynchronous else _CLASSES
    return taken | asked | {"connection_class": classes[opened]}


def _options_of_primary(address: SentinelAddress, *, asynchronous: bool) -> dict[str, Any]:
    asked: dict[str, Any] = {**parse_url(address.server)}  # type: ignore[no-untyped-call]
    opened = asked.pop("connection_class", redis.Connection)
    classes = _SENTINEL_ASYNC_CLASSES if asynchronous else _SENTINEL_CLASSES
    primary = Primary(address, tls={name: said for name, said in asked.items() if name.startswith("ssl_")})
    return asked | {"connection_class": classes[opened], "primary": primary}
