"""The broker connection of both sides: kombu's Redis channel with one lasting client, and the transport options."""

from collections.abc import Mapping
from typing import Any, Final

from kombu.transport import redis

from querymill_shared.board.sockets import OPTIONS, options_of
from querymill_shared.rabbit_addresses import is_rabbit, split_tls
from querymill_shared.sentinel_addresses import for_kombu, is_sentinel
from querymill_shared.urls import is_redis

#: With the library's defaults, a half-open connection hangs.
_REDIS_TRANSPORT: Final[Mapping[str, float | bool]] = {
    # Bells are not acknowledged, so none is redelivered. Celery's other messages are, after this many seconds.
    "visibility_timeout": 300,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_timeout": OPTIONS["socket_timeout"],
    "socket_connect_timeout": OPTIONS["socket_connect_timeout"],
    "socket_keepalive": True,
    "health_check_interval": OPTIONS["health_check_interval"],
}
#: Without confirmation, RabbitMQ loses some messages when it is killed. Without time limits (s), one that hangs holds
#: each thread that speaks to it.
_CONFIRMED: Final[Mapping[str, float | bool]] = {"confirm_publish": True, "read_timeout": 10, "write_timeout": 10}
#: So many workers at most may be given a message that none takes. The board rings a lost bell again.
DELIVERY_LIMIT: Final = 20
#: The arguments of a queue of bells, where a broker other than Redis has it.
QUEUE_ARGUMENTS: Final[Mapping[str, str | int]] = {"x-queue-type": "quorum", "x-delivery-limit": DELIVERY_LIMIT}
#: Parameters of an address that are for a pool whose callers wait, which kombu's is not.
_OF_WAITING: Final = ("timeout", "max_connections")


def broker_options(broker_url: str, *, transport: str) -> Mapping[str, Any]:
    """Return Celery's options for a broker. ``transport`` names that of Redis, which must be `KeptClientTransport`."""
    if not is_redis(broker_url):
        bare, tls = split_tls(broker_url) if is_rabbit(broker_url) else (broker_url, None)
        verified = {} if tls is None else {"broker_use_ssl": tls}
        return _addressed(bare) | {"broker_transport_options": dict(_CONFIRMED)} | verified
    address = for_kombu(broker_url) if is_sentinel(broker_url) else ";".join(map(_verified, broker_url.split(";")))
    return _addressed(address) | {
        "broker_transport": transport,
        "broker_transport_options": dict(_REDIS_TRANSPORT),
    }


def _addressed(broker_url: str) -> dict[str, Any]:
    # The environment's CELERY_BROKER_URL would override `broker_url`, as it was before it was read.
    return {"broker_read_url": broker_url, "broker_write_url": broker_url}


def _verified(url: str) -> str:
    """Return an address that says whether the certificate of its server is verified.

    kombu reads every address but the first itself, and takes any certificate if the address does not say.
    """
    if not url.startswith("rediss://") or "ssl_cert_reqs=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"


class KeptClientChannel(redis.Channel):
    """kombu's channel, but with one lasting Redis client instead of a new one for each command.

    It opens what the address says, as the board does. kombu forgets the TLS of an address without parameters once a
    transport is named, and does not know all addresses and parameters.
    """

    _kept_client: Any = None

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002  # kombu's signature
        connected: Any = self.connection
        opened = options_of(connected.client.hostname)
        self.connection_class = opened.pop("connection_class")
        kombus: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[misc]  # not in its stubs
        asked = {name: value for name, value in opened.items() if name not in _OF_WAITING}
        # In a loop, kombu needs to know when a connection ends, so it has a class of its own made from that one.
        return {"db": 0} | asked | {name: kombus[name] for name in ("connection_class", "max_connections")}

    def _create_client(self, asynchronous: bool = False) -> Any:  # noqa: FBT001, FBT002  # kombu's signature
        if asynchronous:
            return super()._create_client(asynchronous=True)  # type: ignore[misc]  # not in its stubs
        # kombu replaces a pool whose connections broke; its client must be replaced too.
        if self._kept_client is None or self._kept_client.connection_pool is not self.pool:
            self._kept_client = super()._create_client()  # type: ignore[misc]  # not in its stubs
        return self._kept_client


class KeptClientTransport(redis.Transport):
    """kombu's Redis transport with `KeptClientChannel`, which reads the address itself."""

    Channel = KeptClientChannel
    can_parse_url = True
