"""A board and a clock by hand, and pictures of jobs, for tests of the toolkit under every job."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import redis

from querymill_shared.board import Board, Claim, Outcome, Picture, Step, ValkeyBoard, Verdict
from querymill_shared.contracts.errors import UnknownJob
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import PLAIN, SubmitOptions
from querymill_shared.settings import Settings
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.jobs.heartbeat import NoHeartbeat
from tests.fixtures.boards import new_board, new_board_of


class Clock:
    """Stands still until a test moves it."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class KeepingBoard(ValkeyBoard):
    """Still shows what the steps of a job that is done found and noted."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self._kept: dict[str, Picture] = {}

    def submit(self, request: JobRequest, options: SubmitOptions = PLAIN) -> tuple[str, bool]:
        """Accept jobs more than a millisecond apart, as over a network: the order of acceptance is by milliseconds."""
        time.sleep(0.0011)
        return super().submit(request, options)

    def finish(self, held: Claim, outcome: Outcome, *, verdict: Verdict | None = None) -> Picture | None:
        picture = super().finish(held, outcome)
        if picture is None or verdict is None or picture.record.open_steps > 0:
            return picture
        self.settle(held.job_id, verdict)
        return None

    def settle(self, job_id: str, verdict: Verdict) -> bool:
        with suppress(UnknownJob):
            self._kept[job_id] = self.picture(job_id)
        return super().settle(job_id, verdict)

    def picture(self, job_id: str) -> Picture:
        picture = super().picture(job_id)
        kept = self._kept.get(job_id)
        return picture if kept is None else replace(picture, steps=kept.steps, hits=kept.hits, queries=kept.queries)


@dataclass
class CommonPorts:
    """No more than `Common`: a flow that needs more fails at once."""

    board: Board = field(default_factory=lambda: new_board_of(KeepingBoard))
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
    board = new_board()
    picture = board.picture(board.submit(request)[0])
    return Picture(picture.record, steps, {}, {}, request)
