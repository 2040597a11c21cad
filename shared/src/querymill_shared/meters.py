"""Counters of the whole fleet: each process adds what it counted about once a second.

One hash on the board's server, so that a status command, a gateway or a scraper reads the fleet from one place.
A process that is killed takes at most its last second of counts with it.
"""

import threading
from collections import Counter
from collections.abc import Mapping

import redis

KEY = "qm:meters"
#: Names of the accounts with providers, as fields of a hash: account to what it is for.
ACCOUNTS = "qm:accounts"
FLUSH_EVERY_S = 1.0


class Meters:
    """Counts in memory, and adds the counts to the fleet's from a thread of its own."""

    def __init__(self, client: redis.Redis | None) -> None:
        self._client = client
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._flusher: threading.Thread | None = None
        self._stopped = threading.Event()

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a counter; names are ``what`` or ``what/label``."""
        with self._lock:
            self._counts[name] += amount  # type: ignore[assignment]  # a Counter counts in floats as well
            if self._flusher is None and self._client is not None:
                self._flusher = threading.Thread(target=self._flush_for_ever, name="meters", daemon=True)
                self._flusher.start()

    def flush(self) -> None:
        """Add what was counted since the last time; what cannot be added now waits for the next time."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts or self._client is None:
            return
        try:
            with self._client.pipeline(transaction=False) as pipe:
                for name, amount in counts.items():
                    pipe.hincrbyfloat(KEY, name, amount)
                pipe.execute()
        except redis.RedisError:
            with self._lock:
                self._counts.update(counts)

    def stop(self) -> None:
        """Add what is left, and end the thread."""
        self._stopped.set()
        self.flush()

    def _flush_for_ever(self) -> None:
        while not self._stopped.wait(FLUSH_EVERY_S):
            self.flush()


def read(client: redis.Redis) -> Mapping[str, float]:
    """Read every counter of the fleet."""
    counts: Mapping[bytes | str, bytes | str] = client.hgetall(KEY)
    return {name.decode() if isinstance(name, bytes) else name: float(count) for name, count in counts.items()}
