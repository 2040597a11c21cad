"""The clients that the adapters of a process share, unless they are given their own.

One client serves all threads of a process with at most four connections. Each event loop gets an asynchronous client.
One that was given to the adapter serves all loops.
"""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Final

from querymill.client.mill import AsyncQuerymill, Querymill

_lock: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client finds its jobs: a board, a gateway, or what the settings say. See `Querymill`."""

    redis_url: str | None = field(default=None, repr=False)
    url: str | None = None
    api_key: str | None = field(default=None, repr=False)


_clients: Final[dict[Place, Querymill]] = {}
_async_clients: Final[dict[tuple[asyncio.AbstractEventLoop, Place], AsyncQuerymill]] = {}


@dataclass(frozen=True, slots=True)
class Clients:
    """How an adapter reaches its jobs.

    ``client`` serves threads and ``async_client`` coroutines; who made them closes them. Without either, the clients
    of the process for the ``place`` are used: a board, a gateway, or what the settings say (``REDIS_URL``, ``.env``).
    """

    client: Querymill | None = None
    async_client: AsyncQuerymill | None = None
    place: Place = Place()

    def of_threads(self) -> Querymill:
        """Return the client for synchronous calls.

        Raises:
            ValueError: Only the other one was given, so that nothing says where the board is.
        """
        if self.client is not None:
            return self.client
        if self.async_client is not None:
            raise ValueError("a synchronous call needs a synchronous client: give a Querymill too, or await the call")
        with _lock:
            if self.place not in _clients:
                at = self.place
                _clients[at] = Querymill(redis_url=at.redis_url, url=at.url, api_key=at.api_key)
            return _clients[self.place]

    def of_loop(self) -> AsyncQuerymill | None:
        """Return the client for coroutines of this event loop, or None if they must use the other in a thread."""
        if self.async_client is not None or self.client is not None:
            return self.async_client
        here, at = (asyncio.get_running_loop(), self.place), self.place
        with _lock:
            for ended in [known for known in _async_clients if known[0].is_closed()]:
                del _async_clients[ended]
            if here not in _async_clients:
                _async_clients[here] = AsyncQuerymill(redis_url=at.redis_url, url=at.url, api_key=at.api_key)
            return _async_clients[here]
