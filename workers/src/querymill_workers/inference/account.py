"""The fleet's account with one provider: a rate limit, a pause and a circuit breaker, shared through Redis.

Every process reserves a call here before it makes it, and reports the outcome afterwards. All times are by the clock of
the Redis server.
"""

import hashlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, assert_never

import redis

from querymill_shared.contracts.fields import Lane
from querymill_shared.meters import ACCOUNTS, Meters
from querymill_workers.inference.pacing import REQUESTS_AT_ONCE, TOKENS_AT_ONCE, pace
from querymill_workers.jobs.faults import Refused, Unavailable

Outcome = Literal["answered", "rejected", "limited", "failed", "cut", "unused"]

#: For each lane: the share of the burst it may use, and the share of the limit it gets even if others use it all.
LANES = {Lane.INTERACTIVE: (1.0, 0.0), Lane.NORMAL: (0.75, 0.2), Lane.BULK: (0.5, 0.05)}
#: Consecutive failures that open the circuit breaker, and how long it stays open at first (doubling up to 30 s).
FAILURES_TO_OPEN = 5
COOLDOWN_MS = 1_000
#: While a call waits for its grant, it checks this often whether the fleet has been paused since.
CHECK_EVERY_S = 1.0


class LimitReached(Refused):
    """The provider's rate limit allows no call before the caller's deadline."""


class CircuitOpen(Unavailable):
    """The provider failed several times in a row and is not called for a while."""


@dataclass(frozen=True, slots=True)
class RateLimitHeaders:
    """The rate limit headers of a response, in seconds and counts. A header that is missing is None."""

    retry_after_s: float | None = None
    requests_left: int | None = None
    requests_reset_s: float | None = None
    tokens_left: int | None = None
    tokens_reset_s: float | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to make one call with up to ``tokens`` tokens, from ``at`` (monotonic seconds) on."""

    lane: Lane
    tokens: int
    at: float
    epoch: str


class Account:
    """The account for one provider, key and model. A limit per minute of None means no limit."""

    def __init__(
        self, client: redis.Redis, *, provider: str, key: str, model: str,
        requests_per_minute: int | None, tokens_per_minute: int | None, meters: Meters,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        digest = hashlib.sha256(f"{provider}\n{key}\n{model}".encode()).hexdigest()[:16]
        self.key = f"qm:account:{digest}"
        self.model = model
        self.meters = meters
        self._client = client
        self._requests = pace(requests_per_minute, at_once=REQUESTS_AT_ONCE)
        self._tokens = pace(tokens_per_minute, at_once=TOKENS_AT_ONCE)
        self._clock = clock
        self._reserve = client.register_script(_script("reserve"))
        self._report = client.register_script(_script("report"))
        self._listed = False

    def max_tokens(self, lane: Lane) -> int | None:
        """Return how many tokens one request may use and still leave higher lanes their share. None means no limit."""
        return int(self._tokens.burst * LANES[lane][0]) if self._tokens.interval_ms else None

    def reserve(self, *, lane: Lane, tokens: int, until: float | None, requests: int = 1) -> Grant:
        """Reserve the earliest possible call. The caller then waits for the grant with `still_holds`.

        This returns at once for the highest lane. For a lower lane it may sleep and try again.

        Args:
            lane: Priority of the call.
            tokens: Estimated tokens of the call.
            until: Monotonic seconds by which the call must start. None waits as long as necessary.
            requests: 0 adds tokens to a request that was already granted.

        Raises:
            LimitReached: The rate limit allows no call before ``until``.
            CircuitOpen: The circuit breaker is open, and the caller has a deadline.
        """
        share, floor = LANES[lane]
        if not self._listed:
            self._client.hset(ACCOUNTS, self.key, self.model)
            self._listed = True
        while True:
            now = self._clock()
            max_wait_ms = -1 if until is None else max(int((until - now) * 1000), 0)
            reply = self._reserve(
                keys=[self.key], args=[lane.value, share, floor, requests, tokens, max_wait_ms, *self._paces()]
            )
            verdict, ms = reply[0].decode(), int(reply[1])
            match verdict:
                case "granted":
                    self.meters.count("budget_granted/" + lane)
                    self.meters.count("budget_waited_ms/" + lane, ms)
                    return Grant(lane, tokens, now + ms / 1000, reply[2].decode())
                case "later":
                    self.meters.count("budget_waited_ms/" + lane, ms)
                    _sleep_about(min(ms, 1000))
                case "refused":
                    self.meters.count("budget_refused/" + lane)
                    raise LimitReached(
                        f"rate limit of {self.model}: no call can start before the deadline (next in {ms / 1000:.1f} s)"
                    )
                case _:
                    self._wait_for_probe(ms, until)

    def still_holds(self, grant: Grant) -> bool:
        """Wait until the grant's time. Return False if the fleet was paused by then, which voids the grant."""
        while True:
            wait = grant.at - self._clock()
            if wait <= 0:
                break
            time.sleep(min(wait, CHECK_EVERY_S))
            if (self._client.hget(self.key, "epoch") or b"0").decode() != grant.epoch:  # type: ignore[union-attr]  # not awaited
                return False
        return True

    def report(
        self, grant: Grant, outcome: Outcome, *, tokens: int | None = None, limits: RateLimitHeaders | None = None
    ) -> None:
        """Report the outcome of a call, the ``tokens`` it used (None: as estimated), and the response's headers.

        A call that its caller's deadline ``cut`` is charged, but does not count for or against the circuit breaker.
        """
        limits = limits or RateLimitHeaders()
        beyond = 0 if tokens is None else tokens - grant.tokens
        match outcome:
            case "answered" | "limited" | "failed" | "cut":
                returned = 0
            case "rejected":
                returned, beyond = 0, -grant.tokens
            case "unused":
                returned, beyond = 1, -grant.tokens
            case _:
                assert_never(outcome)
        paused, breaker = self._report(
            keys=[self.key],
            args=[
                outcome, returned, beyond, *self._paces(),
                _ms(limits.retry_after_s), _left(limits.requests_left), _ms(limits.requests_reset_s),
                _left(limits.tokens_left), _ms(limits.tokens_reset_s), FAILURES_TO_OPEN, COOLDOWN_MS,
            ],
        )  # fmt: skip
        self._count(outcome, beyond, int(paused), breaker.decode())

    def _count(self, outcome: Outcome, beyond: int, paused_ms: int, breaker: str) -> None:
        self.meters.count(f"provider_calls/{outcome}")
        if beyond < 0:
            self.meters.count("tokens_refunded", -beyond)
        elif beyond > 0:
            self.meters.count("tokens_charged_after", beyond)
        if paused_ms:
            self.meters.count("budget_pauses")
        if breaker == "open":
            self.meters.count("breaker_opened")

    def _wait_for_probe(self, ms: int, until: float | None) -> None:
        if until is not None:
            raise CircuitOpen(
                f"circuit open: {self.model} failed {FAILURES_TO_OPEN} times in a row; next call in {ms / 1000:.1f} s",
                again_in_s=ms / 1000,
            )
        _sleep_about(min(ms, 1000))

    def _paces(self) -> tuple[float, float, float, float]:
        return self._requests.interval_ms, self._requests.burst, self._tokens.interval_ms, self._tokens.burst


def _ms(seconds: float | None) -> int:
    return -1 if seconds is None else int(seconds * 1000)


def _left(count: int | None) -> int:
    return -1 if count is None else max(count, 0)


def _sleep_about(ms: float) -> None:
    # A little longer than necessary, so that the callers do not all wake at once.
    time.sleep(ms / 1000 * random.uniform(1.0, 1.1) + 0.001)  # noqa: S311  # jitter is no secret


@cache
def _script(name: str) -> str:
    return (resources.files("querymill_workers.inference") / "lua" / f"{name}.lua").read_text(encoding="utf-8")
