"""Schedules of an account with a provider: several processes make calls under one limit, and troubles happen.

What a provider counts is when a call reaches it. A call that its process held back, as one that was frozen does, is not
the account's doing and is not counted.
"""

import random
from dataclasses import dataclass
from typing import Final

import redis

from querymill_shared.contracts.fields import Lane
from querymill_shared.counters import CallOutcome, FleetCounters
from querymill_workers.inference.account import Account, Grant, RateLimitHeaders
from querymill_workers.inference.throttle import REQUESTS_AT_ONCE, TOKENS_AT_ONCE, bucket_for
from querymill_workers.jobs.faults import Refused, Unavailable
from tests.simulation import threads
from tests.simulation.faults import Troubles
from tests.simulation.plans import Plan
from tests.simulation.promises import Broken
from tests.simulation.scheduler import SECOND, Process, Scheduler
from tests.simulation.server import KeyServer

RPM: Final = 60
TPM: Final = 60_000
#: Tokens of a call: a share of what may be used at once.
TOKENS: Final = 100
CALLS_EACH: Final = 12
#: How late a call may be that counts, and by how much the windows of the account are longer: see `throttle`.
ARRIVAL_S: Final = 0.25


@dataclass(frozen=True)
class Start:
    """A call as the provider sees it: when it came, and what it was charged."""

    at: float
    requests: int
    tokens: int


class Budget:
    """Callers of one account, each in a process of its own."""

    def __init__(self, plan: Plan, scheduler: Scheduler, server: KeyServer, troubles: Troubles) -> None:
        self._plan = plan
        self._scheduler = scheduler
        self._server = server
        self._troubles = troubles
        self._starts: list[Start] = []
        #: When something was given back: it may be used later than it was meant for.
        self._returned: list[float] = []
        self.open = 0

    def begin(self) -> None:
        """Begin the callers."""
        for number in range(self._plan.workers + 1):
            self.open += 1
            process = Process(f"caller{number}", monotonic_ahead=random.randrange(10**9))
            self._scheduler.spawn(process, lambda process=process: self._call_often(process), "main")  # type: ignore[misc]

    def broken(self) -> list[Broken]:
        """Return the limits that were exceeded, unless the board lost the account or its clock went ahead."""
        excused = ("board_clock", "empty", "lose_tail")
        if any(fault.trouble in excused for fault in self._troubles.happened):
            return []
        return [*self._exceeded("requests", RPM, REQUESTS_AT_ONCE), *self._exceeded("tokens", TPM, TOKENS_AT_ONCE)]

    def _exceeded(self, unit: str, limit: int, at_once: float) -> list[Broken]:
        bucket = bucket_for(limit, at_once=at_once)
        starts = sorted(self._starts, key=lambda start: start.at)
        for first, begins in enumerate(starts):
            used = 0
            for ends in starts[first:]:
                used += getattr(ends, unit)
                passed_ms = (ends.at - begins.at + ARRIVAL_S) * 1000
                returned = sum(at <= ends.at for at in self._returned) * (1 if unit == "requests" else TOKENS)
                if used > bucket.burst + passed_ms / bucket.interval_ms + getattr(begins, unit) + returned + 0.01:
                    what = f"{used} {unit} within {ends.at - begins.at:.3f} s, of {limit} a minute"
                    return [Broken("a budget is not exceeded", f"{what} (at {ends.at:.3f} s)")]
        return []

    def _call_often(self, process: Process) -> None:
        client = self._server.open(process, self._troubles.at_board, decode=False)
        account = Account(
            client, provider="http://model", key="k", model="m", requests_per_minute=RPM, tokens_per_minute=TPM,
            fleet_counters=FleetCounters(None), clock=threads.monotonic,
        )  # fmt: skip
        lane = random.choice(list(Lane))
        for _ in range(CALLS_EACH):
            try:
                self._call(account, lane, process)
            except (Refused, Unavailable, redis.RedisError):
                self._scheduler.pass_time(SECOND // 2)
        self.open -= 1

    def _call(self, account: Account, lane: Lane, process: Process) -> None:
        until = threads.monotonic() + 30 if lane == Lane.INTERACTIVE else None
        grant = account.reserve(lane=lane, tokens=TOKENS, until=until, collection="c")
        outcome: CallOutcome = random.choice(
            ("answered", "answered", "answered", "failed", "rejected", "unused", "limited")
        )
        if not account.still_holds(grant):
            self._report(account, grant, "unused")
            return
        late = threads.monotonic() - grant.at
        if outcome != "unused":
            charged = 0 if outcome == "rejected" else TOKENS
            if late <= ARRIVAL_S:
                self._starts.append(Start(self._scheduler.now / SECOND, 1, charged))
            self._troubles.at_provider(process, f"call as {lane}")
        self._report(account, grant, outcome)

    def _report(self, account: Account, grant: Grant, outcome: CallOutcome) -> None:
        if outcome in ("unused", "rejected"):
            self._returned.append(self._scheduler.now / SECOND)
        limits = RateLimitHeaders(retry_after_s=random.choice((1.0, 3.0))) if outcome == "limited" else None
        account.report(grant, outcome, tokens=TOKENS if outcome == "answered" else None, limits=limits)
