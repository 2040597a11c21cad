"""What a process knows of a model at an address, shared with the fleet over the board."""

import threading
import time
from collections.abc import Callable, Collection
from typing import Final

import redis
import structlog

from querymill_shared.capabilities import KEPT_S, findings_of, keep_findings

_log = structlog.get_logger(__name__)

#: What is known is read from the board again after so many seconds.
READ_EVERY_S: Final = 30.0


class Capabilities:
    """What is known of one model at one address. Without a ``client`` it is known to this process only.

    A board that is away costs nothing but what other processes have learned.
    """

    def __init__(
        self, client: redis.Redis | None = None, *, address: str = "", model: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._client = client
        self._address = address
        self._model = model
        self._clock = clock
        self._own: dict[str, float] = {}
        self._shared: frozenset[str] = frozenset()
        self._read_at: float | None = None
        self._lock = threading.Lock()

    def known(self) -> frozenset[str]:
        """Return what is known of the model."""
        with self._lock:
            now = self._clock()
            if self._client is not None and (self._read_at is None or now - self._read_at >= READ_EVERY_S):
                self._read_at = now
                self._shared = self._read(self._client)
            return self._shared.union(what for what, at in self._own.items() if now - at < KEPT_S)

    def learn(self, whats: Collection[str]) -> None:
        """Remember what is new of the model, for the whole fleet."""
        new = set(whats) - self.known()
        with self._lock:
            self._own |= dict.fromkeys(new, self._clock())
        if new and self._client is not None:
            try:
                keep_findings(self._client, self._address, self._model, new)
            except redis.RedisError as error:
                _log.warning("a finding was not shared", model=self._model, error=type(error).__name__)

    def _read(self, client: redis.Redis) -> frozenset[str]:
        try:
            return frozenset(each.what for each in findings_of(client, self._address, self._model))
        except redis.RedisError as error:
            _log.warning("the fleet's findings were not read", model=self._model, error=type(error).__name__)
            return self._shared
