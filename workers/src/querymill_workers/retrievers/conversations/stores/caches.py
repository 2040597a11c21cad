"""The caches of `conversations` in this process."""

import threading
from typing import Final, Generic, TypeVar

from cachetools import TTLCache

from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches

Value = TypeVar("Value")

#: How many sessions and searches are cached, and for how long, in seconds.
MAX_SESSIONS, SESSIONS_TTL_S = 1_000, 24 * 3600.0
MAX_SEARCHES, SEARCHES_TTL_S = 100, 3600.0


class MemoryCache(Generic[Value]):
    """`Cache` in the memory of this process."""

    def __init__(self, max_size: int, ttl_s: float) -> None:
        self._values: Final[TTLCache[tuple[object, ...], Value]] = TTLCache(max_size, ttl_s)
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...]) -> Value | None:
        """Return the value under a key, or None if it is absent or has expired."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: tuple[object, ...], value: Value) -> None:
        """Store a value under a key."""
        with self._lock:
            self._values[key] = value


def conversation_caches() -> ConversationCaches:
    """Build the caches of one worker."""
    return ConversationCaches(
        sessions=MemoryCache(MAX_SESSIONS, SESSIONS_TTL_S),
        questions=MemoryCache(MAX_SEARCHES, SEARCHES_TTL_S),
        searches=MemoryCache(MAX_SEARCHES, SEARCHES_TTL_S),
    )
