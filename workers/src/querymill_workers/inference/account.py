"""The fleet's account with one provider: one budget, one pause, one circuit breaker, shared through Redis.

Every process asks here before it calls and says afterwards how the call went. Redis' clock counts.
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

#: What part of a burst a lane may use, and what part of the limit it gets even when others fill it.
LANES = {Lane.INTERACTIVE: (1.0, 0.0), Lane.NORMAL: (0.75, 0.2), Lane.BULK: (0.5, 0.05)}
#: Failures in a row that open the breaker, and how long it stays open at first (doubling up to 30 s).
FAILURES_TO_OPEN = 5
COOLDOWN_MS = 1_000
#: Who waits for a grant looks this often whether the fleet was paused meanwhile.
LOOK_EVERY_S = 1.0


class LimitReached(Refused):
    """The provider's limit leaves no call before the caller's time is up."""


class CircuitOpen(Unavailable):
    """The provider failed so often in a row that it is left alone for a while."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer's headers said: seconds and counts, None where they said nothing."""

    retry_after_s: float | None = None
    requests_left: int | None = None
    requests_reset_s: float | None = None
    tokens_left: int | None = None
    tokens_reset_s: float | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to make one call with so many tokens, from ``at`` (monotonic seconds) on."""

    lane: Lane
    tokens: int
    at: float
    epoch: str


class Account:
    """One (provider, key, model), with what it allows per minute; None allows everything."""

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

    def most_tokens(self, lane: Lane) -> int | None:
        """The most tokens one request of a lane should ask for, so that it leaves the lanes above it their part."""
        return int(self._tokens.burst * LANES[lane][0]) if self._tokens.interval_ms else None

    def reserve(self, *, lane: Lane, tokens: int, until: float | None, requests: int = 1) -> Grant:
        """Take the earliest place in line; returns at once, the caller then awaits the grant.

        Args:
            lane: Who asks; lanes that may have to ask again do so in here.
            tokens: How many the call is estimated to use.
            until: Monotonic seconds by which the call must begin; None waits as long as it takes.
            requests: 0 adds tokens to a request that was granted already.

        Raises:
            LimitReached: There is no place before ``until``.
            CircuitOpen: The provider is being left alone for longer than the caller can wait.
        """
        share, floor = LANES[lane]
        if not self._listed:
            self._client.hset(ACCOUNTS, self.key, self.model)
            self._listed = True
        while True:
            now = self._clock()
            most = -1 if until is None else max(int((until - now) * 1000), 0)
            answer = self._reserve(
                keys=[self.key], args=[lane.value, share, floor, requests, tokens, most, *self._paces()]
            )
            verdict, ms = answer[0].decode(), int(answer[1])
            match verdict:
                case "granted":
                    self.meters.count("budget_granted/" + lane)
                    self.meters.count("budget_waited_ms/" + lane, ms)
                    return Grant(lane, tokens, now + ms / 1000, answer[2].decode())
                case "later":
                    self.meters.count("budget_waited_ms/" + lane, ms)
                    _sleep_about(min(ms, 1000))
                case "refused":
                    self.meters.count("budget_refused/" + lane)
                    raise LimitReached(
                        f"the limit of {self.model} leaves no call in time (the next in {ms / 1000:.1f} s)"
                    )
                case _:
                    self._wait_for_probe(ms, until)

    def still_holds(self, grant: Grant) -> bool:
        """Wait until the grant's time; False when the fleet was paused meanwhile and the grant is void."""
        while True:
            wait = grant.at - self._clock()
            if wait <= 0:
                break
            time.sleep(min(wait, LOOK_EVERY_S))
            if (self._client.hget(self.key, "epoch") or b"0").decode() != grant.epoch:  # type: ignore[union-attr]  # not awaited
                return False
        return True

    def report(self, grant: Grant, outcome: Outcome, *, tokens: int | None = None, told: Told | None = None) -> None:
        """Say how the call went: ``tokens`` it used (None: as estimated), and what the headers told.

        A call that was ``cut`` by its caller's time is paid for, and says nothing about the provider's health.
        """
        told = told or Told()
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
                _ms(told.retry_after_s), _left(told.requests_left), _ms(told.requests_reset_s),
                _left(told.tokens_left), _ms(told.tokens_reset_s), FAILURES_TO_OPEN, COOLDOWN_MS,
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
                f"circuit open: {self.model} failed {FAILURES_TO_OPEN} times in a row, next try in {ms / 1000:.1f} s",
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
    # A little later than told, and not all at once.
    time.sleep(ms / 1000 * random.uniform(1.0, 1.1) + 0.001)  # noqa: S311  # jitter is no secret


@cache
def _script(name: str) -> str:
    return (resources.files("querymill_workers.inference") / "lua" / f"{name}.lua").read_text(encoding="utf-8")
