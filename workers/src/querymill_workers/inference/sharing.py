"""Computed once by the fleet: what is asked for is kept in Redis, or somebody is getting it, or we get it.

Whoever gets a value first marks its key, renews the mark while it works, and writes the value. The others wait
for the value; when the mark runs out (its holder died, or failed) one of them takes over. Failures are neither
kept nor shared.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import redis

from querymill_shared.contracts.fields import Lane
from querymill_shared.meters import Meters
from querymill_workers.jobs.faults import Refused

#: Gives the values of the keys it is handed as they come, some at a time.
Compute = Callable[[Sequence[str]], Iterator[Mapping[str, bytes]]]

#: A leader that is silent this long is dead, and somebody else leads.
LEASE_MS = 2_000
RENEW_EVERY_S = 0.5
#: How often a follower looks, in seconds: at first, and at last.
LOOK_S = (0.004, 0.050)

_RANK = {Lane.INTERACTIVE: b"0", Lane.NORMAL: b"1", Lane.BULK: b"2"}
#: The value; or 1: we lead now; or 0: somebody does, and is not of a lower lane (who may stand in a longer line).
_ASK = """
local value = redis.call('GET', KEYS[1])
if value then return value end
local held = redis.call('GET', KEYS[2])
if held and string.sub(held, 1, 1) <= string.sub(ARGV[1], 1, 1) then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"
_RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end"


class Shared:
    """Values of one sort (``label``), kept for ``ttl_s`` seconds."""

    def __init__(self, client: redis.Redis, *, label: str, ttl_s: float, meters: Meters) -> None:
        self._client = client
        self._label = label
        self._ttl_ms = int(ttl_s * 1000)
        self._meters = meters
        self._held: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._renewer: threading.Thread | None = None

    def obtain(
        self, keys: Sequence[str], compute: Compute, *, lane: Lane, until: float | None
    ) -> dict[str, bytes]:  # fmt: skip
        """Return the value of each key, asking ``compute`` only for what nobody has and nobody else is getting.

        Raises:
            Refused: Somebody else is getting a value and did not within ``until`` (monotonic seconds).
            Exception: Whatever ``compute`` raises.
        """
        values: dict[str, bytes] = {}
        missing, look, followed = list(keys), LOOK_S[0], False
        while missing:
            came, led = self._ask(missing, lane)
            values |= came
            self._count("shared" if followed else "hit", len(came))
            if led:
                self._count("takeover" if followed else "miss", len(led))
                values |= self._got(led, compute)
            missing = [key for key in missing if key not in values]
            if missing and not led:
                self._wait(look, until)
                look = min(look * 1.5, LOOK_S[1])
            followed = True
        return values

    def _ask(self, keys: Sequence[str], lane: Lane) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """Look for values, and mark as ours what nobody has and nobody else is getting."""
        token = _RANK[lane] + secrets.token_bytes(12)
        with self._client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.eval(_ASK, 2, key, _mark(key), token, LEASE_MS)
            answers: list[bytes | int] = pipe.execute()
        came = {key: answer for key, answer in zip(keys, answers, strict=True) if isinstance(answer, bytes)}
        led = {key: token for key, answer in zip(keys, answers, strict=True) if answer == 1}
        with self._lock:
            self._held.update(led)
            if led and self._renewer is None:
                self._renewer = threading.Thread(target=self._renew_for_ever, name="leads", daemon=True)
                self._renewer.start()
        return came, led

    def _got(self, led: Mapping[str, bytes], compute: Compute) -> dict[str, bytes]:
        values: dict[str, bytes] = {}
        try:
            for some in compute(list(led)):
                self._hand_over(some, led)
                values |= some
        finally:
            self._hand_over({}, {key: token for key, token in led.items() if key not in values})
        return values

    def _hand_over(self, values: Mapping[str, bytes], led: Mapping[str, bytes]) -> None:
        """Write what came, and unmark it; without values, unmark what will not come."""
        done = {key: led[key] for key in values} if values else led
        if not done:
            return
        with self._lock:
            for key in done:
                self._held.pop(key, None)
        with self._client.pipeline(transaction=False) as pipe:
            for key, value in values.items():
                pipe.set(key, value, px=self._ttl_ms)
            for key, token in done.items():
                pipe.eval(_RELEASE, 1, _mark(key), token)
            pipe.execute()

    def _wait(self, seconds: float, until: float | None) -> None:
        if until is not None and time.monotonic() + seconds >= until:
            raise Refused(f"{self._label}: somebody else asked for the same, and no answer came in time")
        time.sleep(seconds)

    def _renew_for_ever(self) -> None:
        wake = threading.Event()
        while True:
            wake.wait(RENEW_EVERY_S)
            with self._lock:
                held = dict(self._held)
            try:
                with self._client.pipeline(transaction=False) as pipe:
                    for key, token in held.items():
                        pipe.eval(_RENEW, 1, _mark(key), token, LEASE_MS)
                    pipe.execute()
            except redis.RedisError:
                continue  # the marks run out and somebody else leads: dearer, not wrong

    def _count(self, what: str, amount: int) -> None:
        if amount:
            self._meters.count(f"{self._label}_{what}", amount)


def _mark(key: str) -> str:
    return f"{key}:lead"
