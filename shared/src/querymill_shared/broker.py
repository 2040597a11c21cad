"""The broker connection of both sides: kombu's Redis channel with one lasting client, and the transport options."""

from collections.abc import Mapping
from typing import Any, Final

from kombu.transport import redis

#: With the library's defaults, a half-open connection hangs.
_REDIS_TRANSPORT: Final[Mapping[str, float | bool]] = {
    # Bells are not acknowledged, so none is redelivered. Celery's other messages are, after this many seconds.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}


def transport_options(broker_url: str) -> Mapping[str, float | bool]:
    """Return the transport's options for a broker. RabbitMQ must confirm messages, or it loses some when killed."""
    return _REDIS_TRANSPORT if broker_url.startswith("redis") else {"confirm_publish": True}


class KeptClientChannel(redis.Channel):
    """kombu's channel, but with one lasting Redis client instead of a new one for each command."""

    _kept_client: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu's signature
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc]  # not in its stubs
        # kombu replaces a pool whose connections broke; its client must be replaced too.
        if self._kept_client is None or self._kept_client.connection_pool is not self.pool:
            self._kept_client = super()._create_client()  # type: ignore[misc]  # not in its stubs
        return self._kept_client


class KeptClientTransport(redis.Transport):
    """kombu's Redis transport with `KeptClientChannel`."""

    Channel = KeptClientChannel
