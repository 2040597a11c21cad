"""The clients that the adapters of a process share, unless they are given their own.

One client serves all threads of a process with at most four connections. Each event loop gets an asynchronous client.
One that was given to the adapter serves all loops.
"""

import asyncio
import threading
from dataclasses import dataclass
from typing import Final

from querymill.client.mill import AsyncQuerymill, Querymill

_lock: Final = threading.Lock()
_clients: Final[dict[str | None, Querymill]] = {}
_async_clients: Final[dict[tuple[asyncio.AbstractEventLoop, str | None], AsyncQuerymill]] = {}


@dataclass(frozen=True, slots=True)
class Clients:
    """How an adapter reaches the board.

    ``client`` serves threads and ``async_client`` coroutines; who made them closes them. Without either, the clients
    of the process for ``redis_url`` are used, or those that the settings say (``REDIS_URL``, ``.env``).
    """

    client: Querymill | None = None
    async_client: AsyncQuerymill | None = None
    redis_url: str | None = None

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
            if self.redis_url not in _clients:
                _clients[self.redis_url] = Querymill(redis_url=self.redis_url)
            return _clients[self.redis_url]

    def of_loop(self) -> AsyncQuerymill | None:
        """Return the client for coroutines of this event loop, or None if they must use the other in a thread."""
        if self.async_client is not None or self.client is not None:
            return self.async_client
        place = (asyncio.get_running_loop(), self.redis_url)
        with _lock:
            for ended in [known for known in _async_clients if known[0].is_closed()]:
                del _async_clients[ended]
            if place not in _async_clients:
                _async_clients[place] = AsyncQuerymill(redis_url=self.redis_url)
            return _async_clients[place]
