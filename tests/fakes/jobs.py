"""A board and a clock by hand, and pictures of jobs, for tests of the toolkit under every job."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from querymill_shared.board import Board, Claim, MemoryBoard, Picture, Step, Verdict
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.settings import Settings
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.jobs.heartbeat import NoHeartbeat


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Ticking(Clock):
    """Goes on by a millisecond whenever it is read, however slow the machine is."""

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


class KeepingBoard(MemoryBoard):
    """Still shows what the steps of a job that is done found and noted."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__(Settings(), clock=clock)
        self.clock = clock

    def submit(self, request: JobRequest, *, idempotency_key: str | None = None) -> tuple[str, bool]:
        """Accept jobs more than a millisecond apart, as over a network: the order of acceptance is by milliseconds."""
        time.sleep(0.0011)
        return super().submit(request, idempotency_key=idempotency_key)

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        job = self._jobs.get(job_id)
        kept = None if job is None else (job.steps, job.hits, job.queries)
        ended = super().settle(job_id, verdict)
        if job is not None and kept is not None:
            job.steps, job.hits, job.queries = kept
        return ended


@dataclass
class CommonPorts:
    """No more than `Common`: a flow that needs more fails at once."""

    board: Board = field(default_factory=KeepingBoard)
    heartbeat: Heartbeat = field(default_factory=NoHeartbeat)
    clock: Callable[[], float] = field(default_factory=Clock)
    max_attempts: int = 3


def claimed(request: JobRequest, ports: CommonPorts) -> Claim:
    """Submit a job and claim its first step."""
    job_id, _ = ports.board.submit(request)
    claim = ports.board.claim(job_id, request.steps[0])
    assert claim is not None
    return claim


def picture_of(request: JobRequest, *steps: Step) -> Picture:
    """Show a new job with other steps than it has."""
    board = MemoryBoard(Settings())
    picture = board.picture(board.submit(request)[0])
    return Picture(picture.record, steps, {}, {}, request)
