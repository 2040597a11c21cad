"""Counters of the whole fleet. Each process adds its counts about once a second.

The counters are one hash on the board's server, so a status command, a gateway or a scraper reads the whole fleet in
one place. A process that is killed loses at most its last second of counts.
"""

import json
import threading
from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from typing import Literal

import redis

from querymill_shared.board.clock import read_clock
from querymill_shared.values import value

KEY = "qm:meters"
#: A hash of the accounts with providers: the account's key, and the model it is for.
ACCOUNTS = "qm:accounts"
FLUSH_EVERY_S = 1.0
#: A hash of the same accounts: the account's key, and the address of the provider, without its secrets. Its name stands
#: among the accounts', which workers may write and gateways may read.
ADDRESSES = "qm:account:addresses"
#: So many of the last refusals are kept for each account, and so much of what a provider said.
MAX_REFUSALS, MAX_REFUSAL_CHARS = 200, 400


class FleetCounters:
    """Counts in memory and adds the counts to the fleet's in a background thread."""

    def __init__(self, client: redis.Redis | None) -> None:
        self._client = client
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._flusher: threading.Thread | None = None
        self._stopped = threading.Event()

    def count(self, name: str, amount: float = 1) -> None:
        """Add to a counter. A name is ``what`` or ``what/label``."""
        with self._lock:
            self._counts[name] += amount  # type: ignore[assignment]  # a Counter counts in floats as well
            if self._flusher is None and self._client is not None:
                self._flusher = threading.Thread(target=self._flush_for_ever, name="meters", daemon=True)
                self._flusher.start()

    def flush(self) -> None:
        """Add the counts since the last flush. If the server is unreachable, keep them for the next one."""
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
        """Flush, and end the thread."""
        self._stopped.set()
        self.flush()

    def _flush_for_ever(self) -> None:
        while not self._stopped.wait(FLUSH_EVERY_S):
            self.flush()


#: How a call of a provider ended, as the account with that provider is told.
CallOutcome = Literal["answered", "rejected", "limited", "failed", "cut", "unused"]


@value
class AccountState:
    """The state of one provider account: its circuit breaker, and for how many seconds it is still paused.

    ``address`` is that of the provider, "" if no worker of this release has asked it. ``failed_ago_s`` is how long ago
    the last of its ``failures`` in a row was. An account that ``is_idle`` was asked nothing in the last hour.
    """

    model: str
    breaker: Literal["closed", "open", "half-open"]
    failures: int
    paused_s: float
    address: str = ""
    failed_ago_s: float | None = None
    is_idle: bool = False


def accounts(client: redis.Redis) -> list[AccountState]:
    """Return the state of every provider account that the fleet has used."""
    now = read_clock(client) * 1000
    models = {_text(key): _text(model) for key, model in client.hgetall(ACCOUNTS).items()}
    addresses = _addresses(client)
    return [
        _state(model, addresses.get(key, ""), client.hgetall(key), now)
        for key, model in sorted(models.items(), key=itemgetter(1, 0))
    ]


def _addresses(client: redis.Redis) -> dict[str, str]:
    return {_text(key): _text(address) for key, address in client.hgetall(ADDRESSES).items()}


@value
class Refusal:
    """A call that a provider did not answer as asked: what it said instead, such as "HTTP 429", and for which step.

    Calls for several jobs at once name none. ``at`` is in seconds since the epoch by the board's clock. ``address`` is
    that of the provider, as far as it is known.
    """

    what: str
    step: str = ""
    job_id: str = ""
    at: float = 0.0
    address: str = ""

    def encoded(self) -> str:
        """Return the refusal as it is kept, without its time, which the board's server writes before it."""
        return json.dumps([self.what[:MAX_REFUSAL_CHARS], self.step, self.job_id])


def refusals_key(account: str) -> str:
    """Return the key of the last refusals of an account."""
    return f"{account}:refusals"


def refusals(client: redis.Redis) -> dict[str, list[Refusal]]:
    """Return the last refusals by model, the latest first. What cannot be read is left out."""
    models = {_text(key): _text(model) for key, model in client.hgetall(ACCOUNTS).items()}
    addresses = _addresses(client)
    pipeline = client.pipeline(transaction=False)
    for account in models:
        pipeline.lrange(refusals_key(account), 0, MAX_REFUSALS - 1)
    found: dict[str, list[Refusal]] = {}
    for (account, model), kept in zip(models.items(), pipeline.execute(raise_on_error=False), strict=True):
        at = addresses.get(account, "")
        read = [_refusal(_text(entry), at) for entry in kept] if isinstance(kept, list) else []
        found.setdefault(model, []).extend(refusal for refusal in read if refusal is not None)
    return {model: sorted(listed, key=lambda refusal: -refusal.at) for model, listed in sorted(found.items())}


def _refusal(kept: str, address: str) -> Refusal | None:
    ms, _, rest = kept.partition(" ")
    try:
        what, step, job_id = json.loads(rest)
        return Refusal(str(what), str(step), str(job_id), int(ms) / 1000, address)
    except (ValueError, TypeError):
        return None


def _state(model: str, address: str, fields: Mapping[bytes | str, bytes | str], now: float) -> AccountState:
    account = {_text(name): float(value) for name, value in fields.items()}
    opened = account.get("open_until", 0.0)
    breaker: Literal["closed", "open", "half-open"] = "closed"
    if opened:
        breaker = "open" if opened > now else "half-open"
    paused_s = round(max(account.get("paused_until", 0.0) - now, 0.0) / 1000, 1)
    failed_at = account.get("failed_at")
    ago_s = None if failed_at is None else round(max(now - failed_at, 0.0) / 1000, 1)
    return AccountState(model, breaker, int(account.get("failures", 0)), paused_s, address, ago_s, not account)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def read(client: redis.Redis) -> Mapping[str, float]:
    """Return every counter of the fleet."""
    return {_text(name): float(count) for name, count in client.hgetall(KEY).items()}
