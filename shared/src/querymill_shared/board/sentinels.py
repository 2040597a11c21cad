"""The primary that Sentinels name. Each new connection asks them, so it leads to the new one after a failover."""

from collections.abc import Mapping
from typing import Any, Final

import redis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import MasterNotFoundError as AsyncMasterNotFoundError
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from querymill_shared.sentinel_addresses import SentinelAddress

#: A Sentinel that does not answer within this time is passed over, in seconds.
ASKED_S: Final = 1.0


class Primary:
    """Finds the host and port of a primary, by its name, from the first of its Sentinels that answers.

    The one that answered last is asked first.
    """

    def __init__(self, address: SentinelAddress, *, tls: Mapping[str, Any]) -> None:
        self._name = address.name
        self._hosts = list(address.hosts)
        self._options: dict[str, Any] = {
            "socket_timeout": ASKED_S,
            "socket_connect_timeout": ASKED_S,
            "username": address.user or None,
            "password": address.password or None,
            **({"ssl": True, **tls} if address.has_tls else {}),
        }

    def find(self) -> tuple[str, int]:
        """Return its host and port.

        Raises:
            redis.ConnectionError: No Sentinel answers, or none knows a primary that is up.
        """
        sentinels = Sentinel(self._hosts, sentinel_kwargs=self._options | {"retry": Retry(NoBackoff(), 0)})  # type: ignore[no-untyped-call]
        try:
            return self._found(sentinels, sentinels.discover_master(self._name))  # type: ignore[no-untyped-call]
        except MasterNotFoundError:
            raise self._not_found() from None
        finally:
            for sentinel in sentinels.sentinels:
                sentinel.close()

    async def find_async(self) -> tuple[str, int]:
        """Return its host and port. Raises as `find`."""
        retry = AsyncRetry(NoBackoff(), 0)
        sentinels = AsyncSentinel(self._hosts, sentinel_kwargs=self._options | {"retry": retry})  # type: ignore[no-untyped-call]
        try:
            return self._found(sentinels, await sentinels.discover_master(self._name))
        except AsyncMasterNotFoundError:
            raise self._not_found() from None
        finally:
            for sentinel in sentinels.sentinels:
                await sentinel.aclose()

    def _found(self, sentinels: Any, place: tuple[str, int]) -> tuple[str, int]:
        asked = sentinels.sentinels[0].connection_pool.connection_kwargs
        first = asked["host"], asked["port"]
        self._hosts = [first, *(host for host in self._hosts if host != first)]
        return place

    def _not_found(self) -> redis.ConnectionError:
        # The library's own message shows the options of each client.
        asked = ", ".join(f"{host}:{port}" for host, port in self._hosts)
        return redis.ConnectionError(f"no Sentinel of {asked} knows a primary {self._name!r} that is up")
