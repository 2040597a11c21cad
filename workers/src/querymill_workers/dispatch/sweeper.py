"""Recover what has stalled: ring lost bells again, reassign the steps of dead workers, settle jobs at their deadline.

Every worker process runs a sweeper. The board elects one of them, so only one sweeps at a time.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from querymill_shared.board import Claim, Due, Picture, Step, Verdict
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_workers.dispatch import journey
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.ranks.daily import LOOK_S, rebuilds_due

_log = structlog.get_logger(__name__)

#: Seconds between two sweeps. A job is settled within this time after it is due.
PERIOD_S = 0.025
#: How long an election lasts, in seconds.
TERM_S = 2.0


def sweep(ports: Ports) -> Sequence[Bell]:
    """Act on every due entry once. Return the bells to ring."""
    return [bell for due in ports.board.due() for bell in recover_safely(due, ports)]


def recover_safely(due: Due, ports: Ports) -> Sequence[Bell]:
    """Act on one due entry. If that raises, log it: the other entries go on, and this one becomes due again."""
    try:
        return recover(due, ports)
    except UnknownJob:
        return []
    except UnreadableJob as error:
        ports.board.settle(due.job_id, Verdict("failed", reason=error.reason))
        return []
    except Exception as error:  # noqa: BLE001  # the other jobs have deadlines too
        _log.warning("could not process a due entry", job_id=due.job_id, step=due.step, exc_info=error)
        return []


def recover(due: Due, ports: Ports) -> Sequence[Bell]:
    """Settle or advance the job of a due entry, or ring for its step. Return the bells to ring."""
    picture = ports.board.picture(due.job_id)
    if picture.record.is_over:
        return []
    if picture.unreadable:
        journey.fail_unreadable(picture, ports, past_deadline=due.past_deadline)
        return []
    if due.past_deadline:
        journey.settle_at_deadline(picture, ports)
        return []
    if due.step is None:
        return journey.conclude(picture, ports)
    (step,) = (step for step in picture.steps if step.name == due.step)
    if picture.request is None:
        return []
    if has_no_attempts_left(step, ports):
        return give_up(picture, step, ports)
    return [Bell(due.job_id, step.name, picture.request.queue_of(step.name))]


def has_no_attempts_left(step: Step, ports: Ports) -> bool:
    """Whether a stalled step has used up its attempts."""
    return step.state == "running" and step.attempt >= ports.max_attempts


def give_up(picture: Picture, step: Step, ports: Ports) -> Sequence[Bell]:
    """Fail a step whose workers keep dying, and mark its job as dead."""
    if picture.request is None:
        return []
    record = picture.record
    held = Claim(record.job_id, step.name, step.attempt, picture.request, None, record.created)
    reason = f"no worker finished it in {step.attempt} attempts"
    return journey.fail(held, reason, ports, dead=True)


class Sweeper:
    """Sweeps in a background thread while this process is elected."""

    def __init__(self, ports: Ports, *, ring: Callable[[Bell], None], elect: Callable[[], bool]) -> None:
        self._ports = ports
        self._ring = ring
        self._elect = elect
        self._stopping = threading.Event()
        self._next_daily = 0.0

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="sweeper", daemon=True).start()

    def stop(self) -> None:
        """Stop sweeping."""
        self._stopping.set()

    def _run(self) -> None:
        elected_until = 0.0
        while not self._stopping.wait(PERIOD_S):
            try:
                if self._ports.clock() >= elected_until:
                    if not self._elect():
                        self._stopping.wait(TERM_S / 4)
                        continue
                    elected_until = self._ports.clock() + TERM_S / 2
                for bells in (sweep, self._daily):
                    for bell in bells(self._ports):
                        self._ring(bell)
            except Exception as error:  # noqa: BLE001  # the next sweep sees the same entries again
                _log.warning("sweep failed", exc_info=error)
                self._stopping.wait(TERM_S / 4)

    def _daily(self, ports: Ports) -> Sequence[Bell]:
        if ports.clock() < self._next_daily:
            return []
        self._next_daily = ports.clock() + LOOK_S
        return rebuilds_due(ports, datetime.now(UTC))
