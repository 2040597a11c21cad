"""How both sides hold on to the broker: kombu's Redis channel with a client that is kept, and its options."""

from collections.abc import Mapping
from typing import Any, Final

from kombu.transport import redis

#: The library's defaults hang on a half-open connection.
_REDIS_TRANSPORT: Final[Mapping[str, float | bool]] = {
    # Bells are not acknowledged, so none comes back; what else Celery sends does, after this.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 5,
}


def transport_options(broker_url: str) -> Mapping[str, float | bool]:
    """Give the broker transport's options; RabbitMQ confirms what it took, or a killed one loses it."""
    return _REDIS_TRANSPORT if broker_url.startswith("redis") else {"confirm_publish": True}


class KeptClientChannel(redis.Channel):
    """kombu's channel, which makes a new Redis client for each command, keeping one for as long as it serves."""

    _kept_client: Any = None

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu's signature
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc]  # not in its stubs
        # A pool is replaced when its connections broke, and its client with it.
        if self._kept_client is None or self._kept_client.connection_pool is not self.pool:
            self._kept_client = super()._create_client()  # type: ignore[misc]  # not in its stubs
        return self._kept_client


class KeptClientTransport(redis.Transport):
    """The transport of `KeptClientChannel`."""

    Channel = KeptClientChannel
