"""Poison: jobs with a step that kills every worker process that begins it, until somebody has mended the cause."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from querymill_shared.board import Board, Claim
from querymill_workers.jobs.heartbeat import HeartbeatThread
from tests.simulation.plans import Ask
from tests.simulation.scheduler import SECOND, Process, Scheduler

_WORD: Final = re.compile(r"poison(\d+)")
#: How long a worker lives on that has begun such a step, and after how long it is started again, in seconds.
LIVES_ON_S: Final = 0.3
AGAIN_S: Final = (0.2, 2.0)


@dataclass(frozen=True)
class Death:
    """A worker process that began a step and died: when (µs), of which, and after how many seconds it began again."""

    at: int
    job_id: str
    step: str
    again_in_s: float


class Poisons:
    """The poisoned asks of a plan. ``kill`` is told of a process that dies, and when it begins again."""

    def __init__(self, scheduler: Scheduler, asks: Sequence[Ask], kill: Callable[[Process, float], None]) -> None:
        self._scheduler = scheduler
        self._kill = kill
        self._step_of = {ask.number: ask.poison for ask in asks if ask.poison}
        self.deaths: list[Death] = []

    def cure(self, number: int) -> None:
        """Mend the cause: the job of this ask kills nobody any more."""
        self._step_of.pop(number, None)

    def begin(self, process: Process, claim: Claim) -> None:
        """Have a worker process begin a step, and die of it if that is poisoned."""
        if not self._step_of or not self._is_poisoned(claim):
            return
        chances = self._scheduler.chances
        death = Death(self._scheduler.now, claim.job_id, claim.step, round(chances.uniform(*AGAIN_S), 3))
        self.deaths.append(death)
        self._scheduler.note(f"{claim.step} of {claim.job_id} kills".encode())
        self._scheduler.pass_time(int(LIVES_ON_S * chances.random() * SECOND))
        self._kill(process, death.again_in_s)

    def _is_poisoned(self, claim: Claim) -> bool:
        named = {self._step_of.get(int(number)) for number in _WORD.findall(claim.request.model_dump_json())}
        return bool(named & {"*", claim.step.partition("/")[0]})


class MortalHeartbeat(HeartbeatThread):
    """The heartbeat of a simulated process, which ``begin`` is told of each step that the process begins."""

    def __init__(self, board: Board, *, name: str, lease_s: float, begin: Callable[[Claim], None]) -> None:
        super().__init__(board, name=name, lease_s=lease_s)
        self._begin_step = begin

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[None]:
        """Renew a claim that takes long, until the block ends."""
        with super().keep(claim):
            self._begin_step(claim)
            yield
