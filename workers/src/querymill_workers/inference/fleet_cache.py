"""A fleet-wide cache that computes each value once.

A value is read from Redis if it is there. Otherwise one worker, the leader, computes it and the others wait. The leader
marks the key, renews the mark while it works, and writes the value. When the mark expires because the leader died or
failed, another worker takes over. Failures are neither cached nor shared.

While the server is away, each worker computes what it needs: that costs money, and no job. Only a drop waits for it.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Final

import redis
import structlog
from redis.backoff import NoBackoff
from redis.retry import Retry

from querymill_shared.board.away import AWAY, BoardRefuses
from querymill_shared.board.connections import open_commands
from querymill_shared.board.replies import sound
from querymill_shared.board.scripts import with_prelude
from querymill_shared.contracts.fields import JOINED, Lane
from querymill_shared.counters import FleetCounters
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.faults import Refused, Unavailable

#: Computes the values of keys, and yields them as they arrive, some at a time.
Compute = Callable[[Sequence[str]], Iterator[Mapping[str, bytes]]]

#: If a leader does not renew its mark for this long, another worker leads.
LEASE_MS = 2_000
RENEW_EVERY_S = 0.5
#: How often a follower checks for the value, in seconds: at first, and at last.
POLL_S = (0.004, 0.050)

#: Connections to a server for caches alone, and how long it may take to answer, in seconds.
CONNECTIONS: Final = 32
PATIENCE_S: Final = 1.0
#: A server that was away is not asked again for this long, in seconds.
REST_S: Final = 5.0

#: The sorts of values that are cached.
LABELS: Final = ("vector", "chat")
#: Calls that are in flight when a document is forgotten have ended after this time, in ms.
REFUSED_MS = 120_000
#: Keys that the server looks at in one go.
LOOKED_AT = 500
_LEAD, _REFUSED = ":lead", ":refused"
_REMEDY: Final = "does the server of QUERYMILL_CACHE_URL (else REDIS_URL) run, and has it memory left?"

_RANK = {Lane.INTERACTIVE: b"0", Lane.NORMAL: b"1", Lane.BULK: b"2"}
#: Returns the value if there is one; 1 if the caller leads now; 0 if another worker leads. A higher lane takes the lead
#: from a lower one, whose call may have to wait longer.
#: Another program may have written over the value or the mark: with another type, or a value of another size.
_ASK = with_prelude("""
drop_unless('string', KEYS[1], KEYS[2])
local value = redis.call('GET', KEYS[1])
if value and (ARGV[3] == '' or #value == tonumber(ARGV[3])) then return value end
local held = redis.call('GET', KEYS[2])
-- After a step back of the server's clock, a mark would outlive its leader.
if held and redis.call('PTTL', KEYS[2]) > tonumber(ARGV[2]) then held = false end
if held and string.sub(held, 1, 1) <= string.sub(ARGV[1], 1, 1) then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1
""")
#: Writes a value, unless its collection has forgotten something since it was asked for.
_PUBLISH = "if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end"
_RELEASE = "if redis.pcall('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
_RENEW = """
for place, key in ipairs(KEYS) do
  if redis.pcall('GET', key) == ARGV[place] then redis.call('PEXPIRE', key, ARGV[#ARGV]) end
end
"""
#: So many marks are renewed by one script. A backfill leads hundreds at a time.
MARKS_AT_ONCE = 100


_log = structlog.get_logger(__name__)


def open_cache(url: str) -> redis.Redis:
    """Open a client of a server for caches alone. It waits a second for a reply, then the caller does without it."""
    return open_commands(
        url, max_connections=CONNECTIONS, decode_responses=False, wait_s=PATIENCE_S,
        connection_options={
            "socket_timeout": PATIENCE_S, "socket_connect_timeout": PATIENCE_S, "retry": Retry(NoBackoff(), 0),
        },
    )  # fmt: skip


class StillComing(Refused):
    """The caller's time is up, but values are still being computed: ``coming`` has the future of each by its key."""

    code = "deadline"

    def __init__(self, reason: str, coming: Mapping[str, "Future[bytes]"]) -> None:
        super().__init__(reason)
        self.coming = coming


class FleetCache:
    """A cache for values of one sort (``label``), each kept for ``ttl_s`` seconds."""

    def __init__(self, client: redis.Redis, *, label: str, ttl_s: float, fleet_counters: FleetCounters) -> None:
        self.ttl_s: Final = ttl_s
        self._client = client
        self._label = label
        self._ttl_ms = int(ttl_s * 1000)
        self._fleet_counters = fleet_counters
        self._held: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._renewer: threading.Thread | None = None
        self._is_one_server = True
        self._rests_until = 0.0

    def obtain(
        self, keys: Sequence[str], compute: Compute, *, lane: Lane, until: float | None, size: int | None = None
    ) -> dict[str, bytes]:  # fmt: skip
        """Return the value of each key. ``compute`` gets only the keys that are neither cached nor in flight elsewhere.

        Values that are `StillComing` when ``compute`` gives up are cached when they are there. Until then this process
        leads, and others wait. A value is of ``size`` bytes, or it is none; None leaves that open.

        Raises:
            Refused: Another worker was computing a value and did not finish before ``until`` (monotonic seconds).
            Exception: Any error of ``compute``.
        """
        values: dict[str, bytes] = {}
        missing, pause, followed = list(keys), POLL_S[0], False
        while missing:
            try:
                came, led = self._ask(missing, lane, size)
            except redis.RedisError as error:
                self._rest(error)
                self._count("miss", len(missing))
                for some in compute(missing):
                    values |= some
                return values
            values |= came
            self._count("shared" if followed else "hit", len(came))
            if led:
                self._count("takeover" if followed else "miss", len(led))
                values |= self._computed(led, compute)
            missing = [key for key in missing if key not in values]
            if missing and not led:
                self._wait(pause, until)
                pause = min(pause * 1.5, POLL_S[1])
            followed = True
        return values

    def known(self, keys: Sequence[str], *, size: int | None = None) -> dict[str, bytes]:
        """Return the values that are cached now, and of ``size`` bytes, unless that is None."""
        try:
            self._check_rest()
            with self._client.pipeline(transaction=False) as pipe:
                for key in keys:
                    pipe.get(key)
                values = sound(pipe.execute(raise_on_error=False))
        except redis.RedisError as error:
            self._rest(error)
            return {}
        found = {
            key: value
            for key, value in zip(keys, values, strict=True)
            if isinstance(value, bytes) and size in (None, len(value))
        }
        self._count("hit", len(found))
        return found

    def _ask(
        self, keys: Sequence[str], lane: Lane, size: int | None = None
    ) -> tuple[dict[str, bytes], dict[str, bytes]]:  # fmt: skip
        """Read the cached values, and mark the keys that are neither cached nor in flight elsewhere.

        Return the values, and the keys that this process leads with the token of each mark.
        """
        self._check_rest()
        token = _RANK[lane] + secrets.token_bytes(12)
        with self._client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.eval(_ASK, 2, key, _mark(key), token, LEASE_MS, "" if size is None else size)
            replies: list[bytes | int] = pipe.execute()
        came = {key: reply for key, reply in zip(keys, replies, strict=True) if isinstance(reply, bytes)}
        led = {key: token for key, reply in zip(keys, replies, strict=True) if reply == 1}
        with self._lock:
            self._held.update(led)
            if led and self._renewer is None:
                self._renewer = threading.Thread(target=self._renew_for_ever, name="leads", daemon=True)
                self._renewer.start()
        return came, led

    def _computed(self, led: Mapping[str, bytes], compute: Compute) -> dict[str, bytes]:
        values: dict[str, bytes] = {}
        kept: set[str] = set()
        try:
            for some in compute(list(led)):
                self._publish(some, led)
                values |= some
        except StillComing as late:
            for key, value in late.coming.items():
                kept.add(key)
                value.add_done_callback(partial(self._publish_late, key, led[key]))
            raise
        finally:
            self._publish({}, {key: token for key, token in led.items() if key not in values and key not in kept})
        return values

    def _publish_late(self, key: str, token: bytes, value: "Future[bytes]") -> None:
        """Write a value whose caller has left, or let another worker compute it if it failed."""
        came = {} if value.exception() else {key: value.result()}
        self._count("late", len(came))
        self._publish(came, {key: token})

    def _publish(self, values: Mapping[str, bytes], led: Mapping[str, bytes]) -> None:
        """Write values and remove their marks. Without values, remove all marks, because no value will come."""
        done = {key: led[key] for key in values} if values else led
        if not done:
            return
        with self._lock:
            for key in done:
                self._held.pop(key, None)
        try:
            self._check_rest()
            with self._client.pipeline(transaction=False) as pipe:
                for key, value in values.items():
                    pipe.eval(_PUBLISH, 2, key, _refusal(key), value, self._ttl_ms)
                for key, token in done.items():
                    pipe.eval(_RELEASE, 1, _mark(key), token)
                pipe.execute()
        except redis.RedisError as error:
            self._rest(error)

    def _check_rest(self) -> None:
        """Let a server that was away just now alone. Raises redis.ConnectionError."""
        if time.monotonic() < self._rests_until:
            raise redis.ConnectionError("it was away just now")

    def _rest(self, error: redis.RedisError) -> None:
        if time.monotonic() >= self._rests_until:
            self._rests_until = time.monotonic() + REST_S
            _log.warning(
                f"values of providers are not cached now; {_REMEDY}",
                cache=self._label, error=type(error).__name__, retry_after_s=REST_S,
            )  # fmt: skip

    def _wait(self, seconds: float, until: float | None) -> None:
        if until is not None and time.monotonic() + seconds >= until:
            raise Refused(
                f"{self._label}: another worker was fetching it and did not finish before the deadline", code="deadline"
            )
        time.sleep(seconds)

    def _renew_for_ever(self) -> None:
        wake = threading.Event()
        while True:
            wake.wait(RENEW_EVERY_S)
            with self._lock:
                held = dict(self._held)
            try:
                self._renew(list(held.items()))
            except redis.RedisError:
                continue  # the marks expire and another worker leads: more expensive, but not wrong

    def _renew(self, held: Sequence[tuple[str, bytes]]) -> None:
        size = MARKS_AT_ONCE if self._is_one_server else 1
        with self._client.pipeline(transaction=False) as pipe:
            for start in range(0, len(held), size):
                some = held[start : start + size]
                pipe.eval(_RENEW, len(some), *(_mark(key) for key, _ in some), *(token for _, token in some), LEASE_MS)
            try:
                pipe.execute()
            except redis.ResponseError:
                self._is_one_server = False  # a cluster, whose servers have some of the marks each

    def _count(self, what: str, amount: int) -> None:
        if amount:
            self._fleet_counters.count(f"{self._label}_{what}", amount)
            if what == "hit":
                job_counts.current().cached += amount
            elif what == "shared":
                job_counts.current().shared += amount


class FleetCaches:
    """All caches of the fleet, for those who forget."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def erase(self, collection: str) -> None:
        """Drop what is cached for a collection and for all. What is computed now is not cached when it is there.

        Values that all collections share are dropped too, because none of them says whose text it was made of.

        Raises:
            Unavailable: The server is away, full or takes no writes, so it may hold values still.
        """
        try:
            for label in LABELS:
                # What is cached for several collections is under the names of all.
                for scope in (f"*{collection}*", ""):
                    for key in self._client.scan_iter(match=f"qm:{label}:{scope}:{{*}}*", count=LOOKED_AT):
                        if not scope or collection in _scope_of(key.decode()).split(JOINED):
                            self._drop(key.decode())
        except AWAY as error:
            said = "takes no writes" if isinstance(error, BoardRefuses) else "does not answer"
            raise Unavailable(f"cache: its server {said}; {_REMEDY}", code="store_down") from error

    def _drop(self, key: str) -> None:
        if key.endswith(_LEAD):
            self._client.set(_refusal(key.removesuffix(_LEAD)), 1, px=REFUSED_MS)
        elif not key.endswith(_REFUSED):
            self._client.delete(key)


class NoFleetCaches:
    """Where nothing is cached for a fleet."""

    def erase(self, collection: str) -> None:
        """See `FleetCaches.erase`."""


def _scope_of(key: str) -> str:
    return key.split(":", 3)[2]


def cache_key(label: str, scope: str, identity: str) -> str:
    """Return the key of a value. ``scope`` is the collection that it is cached for, or empty if it is for all."""
    return f"qm:{label}:{scope}:{{{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()[:32]}}}"


def _mark(key: str) -> str:
    return key + _LEAD


def _refusal(key: str) -> str:
    return key + _REFUSED
