"""A board and a clock by hand, and pictures of jobs, for tests of the toolkit under every job."""

from collections.abc import Callable
from dataclasses import dataclass, field

from querymill_shared.board import Board, Claim, MemoryBoard, Picture, Step
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


@dataclass
class CommonPorts:
    """No more than `Common`: a flow that needs more fails at once."""

    board: Board = field(default_factory=lambda: MemoryBoard(Settings()))
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
