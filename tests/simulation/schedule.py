"""Run one schedule: the board, its workers and those who ask, until all has ended, and say which promise was broken."""

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import redis
import structlog

from querymill.client.events.watch import Watch
from querymill_shared.board import ValkeyBoard, ValkeyWatchedBoard, Verdict
from querymill_shared.contracts.errors import IdempotencyConflict, Overloaded, QuerymillError
from querymill_shared.settings import Settings
from querymill_workers.dispatch import sweeper
from tests.simulation import endings, threads
from tests.simulation.asks import Asked, options_of, request_of
from tests.simulation.budgets import Budget
from tests.simulation.faults import Troubles
from tests.simulation.fleet import Worker
from tests.simulation.installing import installed
from tests.simulation.plans import Ask, Plan
from tests.simulation.promises import Broken, Histories
from tests.simulation.scheduler import SECOND, OutOfSteps, Process, Scheduler
from tests.simulation.server import KeyServer
from tests.simulation.stores import Stores

#: By when every job has ended, whatever happened, in seconds.
PATIENCE_S: Final = 600


@dataclass
class Outcome:
    """What became of a schedule."""

    plan: Plan
    broken: list[Broken]
    digest: int
    calls: int
    steps: int
    seconds: float
    trace: list[str] = field(default_factory=list)


class Schedule:
    """One run of a plan."""

    def __init__(self, plan: Plan, settings: Settings, *, keeps_trace: bool = False) -> None:
        self.plan = plan
        self.settings = settings
        self.scheduler = Scheduler(plan.seed, keeps_trace=keeps_trace)
        self.outside = Process("outside")
        self.server = KeyServer(self.scheduler, self._told)
        self.histories = Histories(self.server.ask, lease_s=settings.querymill_lease_s)
        self.server.load_all()
        self.stores = Stores(self.scheduler)
        self.troubles = Troubles(
            self.scheduler, self.server, plan.faults, self._begin_again, self.outside,
            self.histories.go_back,
        )  # fmt: skip
        self.asked: list[Asked] = []
        self.budget = Budget(plan, self.scheduler, self.server, self.troubles)
        self._open_asks = 0

    def run(self) -> Outcome:
        """Run it."""
        if self.plan.is_budget:
            self.budget.begin()
        for number in range(0 if self.plan.is_budget else self.plan.workers):
            self._begin_worker(f"w{number}")
        for ask in self.plan.asks:
            self._open_asks += 1
            caller = Process(f"caller{ask.number}")
            self.scheduler.spawn(caller, partial(self._ask, ask, caller), "main", after=ask.at_ms * 1000)
        broken = self.histories.broken
        try:
            self.scheduler.run(PATIENCE_S * SECOND, self._is_over)
        except OutOfSteps as error:
            broken.append(Broken("comes to an end", str(error)))
        if not broken:
            broken += self.budget.broken()
            broken += endings.broken_at_end(self.asked, self.histories, self.troubles, self.stores.texts())
        self.scheduler.close()
        return Outcome(
            self.plan, broken, self.scheduler.digest, self.troubles.calls, self.scheduler.steps,
            self.scheduler.now / SECOND, self.scheduler.trace,
        )  # fmt: skip

    def _told(self, what: tuple[bytes, ...]) -> None:
        self.histories.now = self.scheduler.now
        self.histories.told(what)

    def _is_over(self) -> bool:
        if self.histories.broken:
            return True
        return not self._open_asks and not self.budget.open and not self.histories.open_jobs()

    def _begin_worker(self, name: str) -> None:
        Worker(name, self.scheduler, self.server, self.stores, self.troubles, self.settings, self.plan.slots)

    def _begin_again(self, process: Process, in_s: float) -> None:
        if process.name.startswith("caller"):
            self._open_asks -= not self.plan.is_budget
            self.budget.open -= self.plan.is_budget
            return
        again = Process(process.name)
        self.scheduler.spawn(again, lambda: self._begin_worker(process.name), "again", after=int(in_s * SECOND))

    # What callers do.

    def _ask(self, ask: Ask, caller: Process) -> None:
        client = self.server.open(caller, self.troubles.at_board)
        board = ValkeyBoard(client, self.settings, on_end=_quiet)
        if ask.kind == "cancel":
            self._cancel(ask, board)
        else:
            asked = self._submit(ask, board)
            if asked is not None and asked.job_id and ask.follows:
                self._follow(asked, Watch(lambda: ValkeyWatchedBoard(client)))
        self._open_asks -= 1

    def _follow(self, asked: Asked, watch: Watch) -> None:
        with suppress(redis.RedisError, QuerymillError):
            asked.heard = [told.type for told in watch.events(asked.job_id, until=None)]
        watch.close()

    def _submit(self, ask: Ask, board: ValkeyBoard) -> Asked | None:
        first = self.plan.ask_of(ask.subject) if ask.kind == "again" else ask
        if first is None:
            return None
        request = request_of(first)
        options = options_of(first)
        asked = Asked(first, self.scheduler.now)
        self.asked.append(asked)
        for _ in range(5 if first.key else 1):
            try:
                asked.job_id = board.submit_and_ring(request, options).job_id
            except (IdempotencyConflict, Overloaded) as error:
                asked.refused = type(error).__name__
            except redis.RedisError as error:
                asked.refused = type(error).__name__
                self.scheduler.pass_time(SECOND // 2)
                continue
            else:
                asked.accepted_at = self.scheduler.now
                self.scheduler.note(f"{ask.kind} is job {asked.job_id}".encode())
            break
        return asked

    def _cancel(self, ask: Ask, board: ValkeyBoard) -> None:
        target = next((each for each in self.asked if each.ask.number == ask.subject), None)
        if target is not None and target.job_id:
            with suppress(redis.RedisError):
                board.settle(target.job_id, Verdict("cancelled", reason="its caller cancelled it"))


def _quiet(_: object) -> None:
    """Log no end of a job."""


@contextmanager
def simulating() -> Iterator[Settings]:
    """Have schedules run in this process: nothing waits, logs or asks the time but by their scheduler."""
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    settings = Settings()
    with installed():
        yield settings


def run(plan: Plan, settings: Settings, *, keeps_trace: bool = False) -> Outcome:
    """Run a plan within `simulating`."""
    random.seed(plan.seed)
    waits, sweeper.MOST_WAIT_S = sweeper.MOST_WAIT_S, plan.look_s
    try:
        schedule = Schedule(plan, settings, keeps_trace=keeps_trace)
        with threads.under(schedule.scheduler):
            return schedule.run()
    finally:
        sweeper.MOST_WAIT_S = waits
