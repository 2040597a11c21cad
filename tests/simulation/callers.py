"""What callers do: they ask for a job and follow it, or cancel it. Operators replay and drop the jobs that are dead."""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

import redis

from querymill.client.events.watch import Watch
from querymill_shared.board import ValkeyBoard, ValkeyWatchedBoard, Verdict
from querymill_shared.contracts.errors import IdempotencyConflict, Overloaded, QuerymillError
from querymill_shared.settings import Settings
from tests.simulation.asks import Asked, options_of, request_of
from tests.simulation.faults import Troubles
from tests.simulation.plans import Ask, Plan
from tests.simulation.poisons import Poisons
from tests.simulation.promises import FINAL, Histories
from tests.simulation.scheduler import SECOND, Process, Scheduler
from tests.simulation.server import KeyServer

#: How long an operator waits for a job to be dead, and how often it looks, in seconds.
WATCHES_S: Final = 120.0
LOOKS_EVERY_S: Final = 0.5


@dataclass(frozen=True)
class Handled:
    """What an operator did with a dead job, and when (µs).

    ``was_missed`` is whether the list of dead jobs lacked it, ``was_refused`` whether the board did nothing, although
    the job was dead all the time.
    """

    kind: str
    job_id: str
    at: int
    was_missed: bool
    was_refused: bool
    was_done: bool


class Callers:
    """The callers of a schedule, each in a process of its own."""

    def __init__(
        self, plan: Plan, settings: Settings, scheduler: Scheduler, server: KeyServer, troubles: Troubles,
        poisons: Poisons, histories: Histories,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._settings = settings
        self._scheduler = scheduler
        self._server = server
        self._troubles = troubles
        self._poisons = poisons
        self._histories = histories
        self.asked: list[Asked] = []
        self.handled: list[Handled] = []
        #: The asks that have not got what they want yet, each with the job that its caller follows, if it follows one.
        self._open: dict[int, str] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether one of them still wants something, and something is promised of it."""
        return any(job_id not in self._histories.spoiled for job_id in self._open.values())

    def forget(self, name: str) -> None:
        """Have the caller of this name, whose process has died, want nothing any more."""
        self._open.pop(int(name.removeprefix("caller")), None)

    def begin(self) -> None:
        """Have each ask at its time."""
        for ask in self._plan.asks:
            self._open[ask.number] = ""
            caller = Process(f"caller{ask.number}")
            self._scheduler.spawn(caller, partial(self._ask, ask, caller), "main", after=ask.at_ms * 1000)

    def _ask(self, ask: Ask, caller: Process) -> None:
        client = self._server.open(caller, self._troubles.at_board)
        board = ValkeyBoard(client, self._settings, on_end=_quiet)
        if ask.kind == "cancel":
            self._cancel(ask, board)
        elif ask.kind in ("replay", "discard"):
            self._look_after(ask, board)
        else:
            asked = self._submit(ask, board)
            if asked is not None and asked.job_id and ask.follows:
                self._open[ask.number] = asked.job_id
                self._follow(asked, Watch(lambda: ValkeyWatchedBoard(client)))
        del self._open[ask.number]

    def _follow(self, asked: Asked, watch: Watch) -> None:
        with suppress(redis.RedisError, QuerymillError):
            asked.heard = [told.type for told in watch.events(asked.job_id, until=None)]
        watch.close()

    def _submit(self, ask: Ask, board: ValkeyBoard) -> Asked | None:
        first = self._plan.ask_of(ask.subject) if ask.kind == "again" else ask
        if first is None:
            return None
        request = request_of(first)
        options = options_of(first)
        asked = Asked(first, self._scheduler.now)
        self.asked.append(asked)
        for _ in range(5 if first.key else 1):
            try:
                asked.job_id = board.submit_and_ring(request, options).job_id
            except (IdempotencyConflict, Overloaded) as error:
                asked.refused = type(error).__name__
            except redis.RedisError as error:
                asked.refused = type(error).__name__
                self._scheduler.pass_time(SECOND // 2)
                continue
            else:
                asked.accepted_at = self._scheduler.now
                self._scheduler.note(f"{ask.kind} is job {asked.job_id}".encode())
            break
        return asked

    def _asked_of(self, number: int) -> Asked | None:
        return next((each for each in self.asked if each.ask.number == number and each.job_id), None)

    def _cancel(self, ask: Ask, board: ValkeyBoard) -> None:
        target = self._asked_of(ask.subject)
        if target is not None:
            with suppress(redis.RedisError):
                board.settle(target.job_id, Verdict("cancelled", reason="its caller cancelled it"))

    # What an operator does.

    def _look_after(self, ask: Ask, board: ValkeyBoard) -> None:
        """Wait until a job is dead, and replay or drop it. The content of an ask tells whether the cause is mended."""
        job_id = self._wait_until_dead(ask.subject)
        if job_id is None:
            return
        self._scheduler.pass_time(self._scheduler.chances.randrange(2 * SECOND))
        if ask.content:
            self._poisons.cure(ask.subject)
        with suppress(redis.RedisError):
            before = self._rounds_of(job_id)
            is_listed = job_id in board.dead()
            was_missed = not is_listed and before is not None and self._rounds_of(job_id) == before
            at, before = self._scheduler.now, self._rounds_of(job_id)
            was_done = board.replay(job_id) if ask.kind == "replay" else board.drop(job_id)
            was_refused = not was_done and before is not None and self._rounds_of(job_id) == before
            self.handled.append(Handled(ask.kind, job_id, at, was_missed, was_refused, was_done))

    def _wait_until_dead(self, number: int) -> str | None:
        for _ in range(int(WATCHES_S / LOOKS_EVERY_S)):
            target = self._asked_of(number)
            job = None if target is None else self._histories.jobs.get(target.job_id)
            if target is not None and job is not None and job.state == "dead" and not job.is_gone:
                return target.job_id
            is_spoiled = target is not None and target.job_id in self._histories.spoiled
            if is_spoiled or (job is not None and (job.state in FINAL or job.is_gone)):
                return None
            self._scheduler.pass_time(int(LOOKS_EVERY_S * SECOND))
        return None

    def _rounds_of(self, job_id: str) -> int | None:
        """Return how often a job was opened again, None unless it is dead."""
        job = self._histories.jobs[job_id]
        return len(job.reopened) if job.state == "dead" and not job.is_gone else None


def _quiet(_: object) -> None:
    """Log no end of a job."""
