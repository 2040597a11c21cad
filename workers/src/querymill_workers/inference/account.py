"""The fleet's account with one provider: a rate limit, a pause and a circuit breaker, shared through Redis.

Every process reserves a call here before it makes it, and reports the outcome afterwards. All times are by the clock of
the Redis server. Where no limit is set, the account adapts how many calls may be under way; see `places`.
"""

import hashlib
import random
import time
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any, assert_never

import redis

from querymill_shared.board.replies import is_written_over
from querymill_shared.board.scripts import with_prelude
from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import (
    ACCOUNTS,
    ADDRESSES,
    MAX_REFUSALS,
    CallOutcome,
    FleetCounters,
    Refusal,
    refusals_key,
)
from querymill_shared.urls import mask
from querymill_shared.values import value
from querymill_workers.inference.concurrency import LEASE_MS, CallQueue, CallSlots
from querymill_workers.inference.reservations import Reservations
from querymill_workers.inference.throttle import REQUESTS_AT_ONCE, TOKENS_AT_ONCE, bucket_for
from querymill_workers.jobs.faults import Refused, Unavailable

#: For each lane: the share of the burst it may use, and the share of the limit it gets even if others use it all.
LANES = {Lane.INTERACTIVE: (1.0, 0.0), Lane.NORMAL: (0.75, 0.2), Lane.BULK: (0.5, 0.05)}
#: Consecutive failures that open the circuit breaker, and how long it stays open at first (doubling up to 30 s).
FAILURES_TO_OPEN = 5
COOLDOWN_MS = 1_000
#: While a call waits for its grant, it checks this often whether the fleet has been paused since.
CHECK_EVERY_S = 1.0
#: A caller without a deadline waits out a pause of so many ms. During a longer one its thread serves others.
WAITED_OUT_MS = 10_000
#: A caller without a deadline that meets an open breaker may ask again after this long, in seconds. Its own waits grow,
#: and how long the breaker stays open is not known: a probe may be answered at once.
ASK_AGAIN_S = 1.0


class LimitReached(Refused):
    """The provider's rate limit, or what it does at a time, allows no call before the caller's deadline."""

    code = "limit"


class Withdrawn(Refused):
    """The call was not made, because nobody waits for it any more."""

    code = "deadline"


class CircuitOpen(Unavailable):
    """The provider failed several times in a row and is not called for a while."""


class Paused(Unavailable):
    """The provider's limit lets nobody call for a while."""

    code = "limit"


@value
class RateLimitHeaders:
    """The rate limit headers of a response, in seconds and counts. A header that is missing is None."""

    retry_after_s: float | None = None
    requests_left: int | None = None
    requests_reset_s: float | None = None
    tokens_left: int | None = None
    tokens_reset_s: float | None = None


@value
class Grant:
    """Permission to make one call with up to ``tokens`` tokens, from ``at`` (monotonic seconds) on.

    ``call`` names the place that it takes, or is empty if the account has no places.
    """

    lane: Lane
    tokens: int
    at: float
    epoch: str
    call: str = ""


def _nobody() -> bool:
    return False


class Account:
    """The account for one provider, key and model. A limit per minute of None means no limit.

    ``sized`` tells that the tokens of a call say how long it should take, as for embeddings. A chat model takes as long
    as its reply is, so there only failures and HTTP 429 tell that too many calls are under way.
    """

    def __init__(
        self, client: redis.Redis, *, provider: str, key: str, model: str,
        requests_per_minute: int | None, tokens_per_minute: int | None, fleet_counters: FleetCounters,
        clock: Callable[[], float] = time.monotonic, sized: bool = False,
    ) -> None:  # fmt: skip
        digest = hashlib.sha256(f"{provider}\n{key}\n{model}".encode()).hexdigest()[:16]
        self.key = f"qm:account:{{{digest}}}"
        self.model = model
        self._address = mask(provider)
        self.fleet_counters = fleet_counters
        self._client = client
        self._requests = bucket_for(requests_per_minute, at_once=REQUESTS_AT_ONCE)
        self._tokens = bucket_for(tokens_per_minute, at_once=TOKENS_AT_ONCE)
        self._clock = clock
        self._sized = sized
        self._adapts = requests_per_minute is None and tokens_per_minute is None
        self._keys = [self.key, f"{self.key}:calls", f"{self.key}:turns"]
        self._slots = CallSlots(client, self._keys[1])
        self._line = CallQueue()
        self._reservations = Reservations(clock)
        self._reserve = client.register_script(_script("places", "reserve"))
        self._report = client.register_script(_script("places", "report"))
        self._listed = False

    def max_tokens(self, lane: Lane) -> int | None:
        """Return how many tokens one request may use and still leave higher lanes their share. None means no limit."""
        return int(self._tokens.burst * LANES[lane][0]) if self._tokens.interval_ms else None

    def reserve(
        self, *, lane: Lane, tokens: int, until: float | None, requests: int = 1, collection: str = "",
        has_left: Callable[[], bool] = _nobody, beside: bool = False,
    ) -> Grant:  # fmt: skip
        """Reserve the earliest possible call. The caller then waits for the grant with `still_holds`.

        Under a rate limit the highest lane books ahead, but only a few calls of a collection: further ones wait here. A
        lower lane may sleep and try again. Where no limit is set, it waits for a place, in turn with the other
        collections, and the call starts at once. Nobody waits here for a provider that is not called at all.

        Args:
            lane: Priority of the call.
            tokens: Estimated tokens of the call.
            until: Monotonic seconds by which the call must start. None waits as long as necessary.
            requests: 0 adds tokens to a request that was already granted.
            collection: On whose behalf the call is made. Collections take turns.
            has_left: Whether nobody wants the call any more; looked at while it waits.
            beside: The call is made in the place of one that has just failed, to learn whether the provider is well.
                So it takes no turn and no place, and the circuit breaker does not keep it back.

        Raises:
            LimitReached: The call cannot start before ``until``.
            Withdrawn: Nobody wants the call any more.
            CircuitOpen: The circuit breaker is open.
            Paused: The provider has paused the fleet for longer than `WAITED_OUT_MS`, and the caller has no deadline.
        """
        if not self._listed:
            self._list(ACCOUNTS, self.model)
            self._list(ADDRESSES, self._address)
            self._listed = True

        def go_on() -> None:
            if has_left():
                raise Withdrawn(f"{self.model}: the job ended before the call could be made")
            if until is not None and self._clock() >= until:
                self.fleet_counters.count("budget_refused/" + lane)
                raise LimitReached(f"{self.model} is busy: no call can start before the deadline")

        # Only the highest lane books ahead, and a call on nobody's behalf has nobody to take turns with.
        if requests == 0 or beside or (not self._adapts and (LANES[lane][1] or not collection)):
            return self._ask(lane, requests, tokens, until, go_on, beside=beside)
        if not self._adapts:
            with self._line.first(lane, collection, go_on=go_on):
                self._reservations.wait_for_room(lane, collection, go_on=go_on)
                grant = self._ask(lane, requests, tokens, until, go_on)
                self._reservations.add(lane, collection, grant.at)
                return grant
        call = CallSlots.new_call(lane, collection)
        with self._line.first(lane, collection, go_on=go_on):
            return self._ask(lane, requests, tokens, until, go_on, call)

    def _list(self, place: str, said: str) -> None:
        try:
            self._client.hset(place, self.key, said)
        except redis.ResponseError as error:
            if not is_written_over(error):
                raise
            self._client.delete(place)
            self._client.hset(place, self.key, said)

    def _ask(
        self, lane: Lane, requests: int, tokens: int, until: float | None, go_on: Callable[[], None], call: str = "",
        *, beside: bool = False,
    ) -> Grant:  # fmt: skip
        """Ask until the call is granted or refused; see `reserve`."""
        share, floor = LANES[lane]
        while True:
            now = self._clock()
            max_wait_ms = -1 if until is None else max(int((until - now) * 1000), 0)
            asked = [
                lane.value,
                share,
                floor,
                requests,
                tokens,
                max_wait_ms,
                *self._buckets(),
                call,
                LEASE_MS,
                int(beside),
                WAITED_OUT_MS,
            ]
            reply = self._reserve(keys=self._keys, args=asked)
            verdict, ms = reply[0].decode(), int(reply[1])
            match verdict:
                case "granted":
                    self.fleet_counters.count("budget_granted/" + lane)
                    self.fleet_counters.count("budget_waited_ms/" + lane, ms)
                    if call:
                        self._slots.hold(call)
                    # From the reply on: a question that was long on the way must not begin before its turn.
                    return Grant(lane, tokens, self._clock() + ms / 1000, _epoch(reply[2]), call)
                case "later":
                    self.fleet_counters.count("budget_waited_ms/" + lane, ms)
                    _sleep_about(min(ms, 1000))
                    go_on()
                case "full":
                    self.fleet_counters.count("budget_waited_ms/" + lane, ms)
                    self._slots.wait(ms / 1000)
                    go_on()
                case "refused":
                    self.fleet_counters.count("budget_refused/" + lane)
                    raise LimitReached(
                        f"rate limit of {self.model}: no call can start before the deadline (next in {ms / 1000:.1f} s)"
                    )
                case "paused":
                    raise Paused(f"{self.model} paused all calls; next call in {ms / 1000:.1f} s", again_in_s=ms / 1000)
                case _:
                    raise self._circuit_open(ms / 1000, until)

    def still_holds(self, grant: Grant) -> bool:
        """Wait until the grant's time. Return False if the fleet was paused by then, which voids the grant."""
        while True:
            wait = grant.at - self._clock()
            if wait <= 0:
                break
            time.sleep(min(wait, CHECK_EVERY_S))
            try:
                epoch: Any = self._client.hget(self.key, "epoch")
            except redis.ResponseError as error:
                if not is_written_over(error):
                    raise
                return False  # the next who asks begins the account again
            if _epoch(epoch or b"0") != grant.epoch:
                return False
        return True

    def report(
        self, grant: Grant, outcome: CallOutcome, *, tokens: int | None = None, limits: RateLimitHeaders | None = None,
        refusal: Refusal | None = None,
    ) -> None:  # fmt: skip
        """Report the outcome of a call, the ``tokens`` it used (None: as estimated), and the response's headers.

        A ``refusal`` is kept with the last of the account.

        A call that its caller's deadline ``cut`` is charged, but does not count for or against the circuit breaker. One
        ``beside`` a call that failed is not reported if it fails too: the provider has one failure then.
        """
        self._slots.leave(grant.call)
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
        took_ms = max(int((self._clock() - grant.at) * 1000), 0)
        paused, breaker = self._report(
            keys=self._keys if refusal is None else [*self._keys, refusals_key(self.key)],
            args=[
                outcome, returned, beyond, *self._buckets(),
                _ms(limits.retry_after_s), _left(limits.requests_left), _ms(limits.requests_reset_s),
                _left(limits.tokens_left), _ms(limits.tokens_reset_s), FAILURES_TO_OPEN, COOLDOWN_MS,
                grant.call, took_ms, grant.tokens if self._sized else 0,
                "" if refusal is None else refusal.encoded(), MAX_REFUSALS,
            ],
        )  # fmt: skip
        self._slots.wake()
        if outcome in ("answered", "cut"):
            self.fleet_counters.count("provider_tokens/" + grant.lane, grant.tokens + beyond)
        self._count(outcome, beyond, int(paused), breaker.decode())

    def _count(self, outcome: CallOutcome, beyond: int, paused_ms: int, breaker: str) -> None:
        self.fleet_counters.count(f"provider_calls/{outcome}")
        if beyond < 0:
            self.fleet_counters.count("tokens_refunded", -beyond)
        elif beyond > 0:
            self.fleet_counters.count("tokens_charged_after", beyond)
        if paused_ms:
            self.fleet_counters.count("budget_pauses")
        if breaker == "open":
            self.fleet_counters.count("breaker_opened")

    def _circuit_open(self, next_call_s: float, until: float | None) -> CircuitOpen:
        return CircuitOpen(
            f"circuit open: {self.model} failed {FAILURES_TO_OPEN} times in a row; next call in {next_call_s:.1f} s",
            again_in_s=min(next_call_s, ASK_AGAIN_S) if until is None else next_call_s,
        )

    def _buckets(self) -> tuple[float, float, float, float]:
        return self._requests.interval_ms, self._requests.burst, self._tokens.interval_ms, self._tokens.burst


def _epoch(written: bytes) -> str:
    # Another program may have written it.
    return written.decode(errors="replace")


def _ms(seconds: float | None) -> int:
    return -1 if seconds is None else int(seconds * 1000)


def _left(count: int | None) -> int:
    return -1 if count is None else max(count, 0)


def _sleep_about(ms: float) -> None:
    # A little longer than necessary, so that the callers do not all wake at once.
    time.sleep(ms / 1000 * random.uniform(1.0, 1.1) + 0.001)  # noqa: S311  # jitter is no secret


@cache
def _script(*names: str) -> str:
    folder = resources.files("querymill_workers.inference") / "lua"
    return with_prelude("\n".join((folder / f"{name}.lua").read_text(encoding="utf-8") for name in names))
