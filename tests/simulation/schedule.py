"""Run one schedule: the board, its workers and those who ask, until all has ended, and say which promise was broken."""

import importlib
import logging
import random
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import structlog

from querymill_shared.settings import Settings
from querymill_workers import wiring
from querymill_workers.dispatch import sweeper
from tests.simulation import dead_letters, endings, threads
from tests.simulation.asks import request_of
from tests.simulation.budgets import Budget
from tests.simulation.callers import Callers
from tests.simulation.faults import Troubles
from tests.simulation.fleet import Worker
from tests.simulation.installing import installed
from tests.simulation.plans import Plan, plan_of
from tests.simulation.poisons import Poisons
from tests.simulation.promises import Broken, Histories
from tests.simulation.rubbish import OtherProgram
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
            self.histories.go_back, OtherProgram(self.server, self.histories).write,
        )  # fmt: skip
        self.poisons = Poisons(self.scheduler, plan.asks, self.troubles.kill)
        self.callers = Callers(
            plan, settings, self.scheduler, self.server, self.troubles, self.poisons, self.histories
        )  # fmt: skip
        self.budget = Budget(plan, self.scheduler, self.server, self.troubles)

    def run(self) -> Outcome:
        """Run it."""
        if self.plan.is_budget:
            self.budget.begin()
        for number in range(0 if self.plan.is_budget else self.plan.workers):
            self._begin_worker(f"w{number}")
        self.callers.begin()
        broken = self.histories.broken
        try:
            self.scheduler.run(PATIENCE_S * SECOND, self._is_over)
        except OutOfSteps as error:
            broken.append(Broken("comes to an end", str(error)))
        except Exception as error:  # noqa: BLE001  # one schedule must not cost those after it
            broken.append(Broken("no thread ends of an error", "".join(traceback.format_exception(error))))
        if not broken:
            broken += self.budget.broken()
            broken += endings.broken_at_end(
                self.callers.asked, self.histories, self.troubles, self.poisons.deaths, self.stores.texts(),
                is_mixed=self.plan.unknown is not None,
            )  # fmt: skip
            broken += dead_letters.broken_at_end(
                self.callers, self.histories, self.troubles, self.poisons.deaths, self.server.ask
            )  # fmt: skip
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
        return not self.callers.is_waiting and not self.budget.open and not self.histories.open_jobs()

    def _begin_worker(self, name: str) -> None:
        unknown = self.plan.ask_of(-1 if self.plan.unknown is None else self.plan.unknown)
        is_older = unknown is not None and name == f"w{self.plan.workers - 1}"
        Worker(
            name, self.scheduler, self.server, self.stores, self.troubles, self.settings, self.plan.slots, self.poisons,
            request_of(unknown).kind if is_older and unknown else "",
        )  # fmt: skip

    def _begin_again(self, process: Process, in_s: float) -> None:
        if process.name.startswith("caller"):
            if self.plan.is_budget:
                self.budget.open -= 1
            else:
                self.callers.forget(process.name)
            return
        again = Process(process.name)
        self.scheduler.spawn(again, lambda: self._begin_worker(process.name), "again", after=int(in_s * SECOND))


@contextmanager
def simulating() -> Iterator[Settings]:
    """Have schedules run in this process: nothing waits, logs or asks the time but by their scheduler."""
    logging.disable(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    settings = Settings()
    # What draws chance bytes once in a process would draw those of the first schedule.
    importlib.import_module("numpy.random")
    wiring.settings()
    with installed():
        run(plan_of(0), settings)
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
