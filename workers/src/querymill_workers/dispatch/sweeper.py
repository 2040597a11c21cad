"""Find what fell silent: ring lost bells again, take steps from dead workers, settle at the deadline.

Every worker process runs one; an election on the board lets one sweep at a time.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import structlog

from querymill_shared.board import Claim, Due, Picture, Step, Verdict
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.queues import queue_of
from querymill_workers.dispatch import journey
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.ranks.daily import LOOK_S, rebuilds_due

_log = structlog.get_logger(__name__)

#: How often what is due is looked at, in seconds; a deadline is met within this.
PERIOD_S = 0.025
#: How long a sweeper rules before it must be elected again, in seconds.
TERM_S = 2.0


def sweep(ports: Ports) -> Sequence[Bell]:
    """Look once at everything that is due; return the bells to ring."""
    return [bell for due in ports.board.due() for bell in look_past(due, ports)]


def look_past(due: Due, ports: Ports) -> Sequence[Bell]:
    """Do what one due entry asks for; one that breaks holds no other up, and is due again later."""
    try:
        return look_at(due, ports)
    except UnknownJob:
        return []
    except UnreadableJob as error:
        ports.board.settle(due.job_id, Verdict("failed", reason=error.reason))
        return []
    except Exception as error:  # noqa: BLE001  # whatever it was, the other jobs have deadlines too
        _log.warning("could not look at what is due", job_id=due.job_id, step=due.step, exc_info=error)
        return []


def look_at(due: Due, ports: Ports) -> Sequence[Bell]:
    """Do what one due entry asks for."""
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
    if spent(step, ports):
        return give_up(picture, step, ports)
    return [Bell(due.job_id, step.name, queue_of(picture.request, step.name))]


def spent(step: Step, ports: Ports) -> bool:
    """Whether a silent step has used up its attempts."""
    return step.state == "running" and step.attempt >= ports.max_attempts


def give_up(picture: Picture, step: Step, ports: Ports) -> Sequence[Bell]:
    """Close a step whose workers keep dying; it is not tried a further time."""
    if picture.request is None:
        return []
    record = picture.record
    held = Claim(record.job_id, step.name, step.attempt, picture.request, None, record.created)
    reason = f"no worker finished it in {step.attempt} attempts"
    return journey.fail(held, reason, ports, dead=True)


class Sweeper:
    """Sweeps in a thread of its own while it is the elected one."""

    def __init__(self, ports: Ports, *, ring: Callable[[Bell], None], elect: Callable[[], bool]) -> None:
        self._ports = ports
        self._ring = ring
        self._elect = elect
        self._stopping = threading.Event()
        self._looks_again = 0.0

    def start(self) -> None:
        """Begin sweeping beside the worker's own work."""
        threading.Thread(target=self._run, name="sweeper", daemon=True).start()

    def stop(self) -> None:
        """Sweep no more."""
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
            except Exception as error:  # noqa: BLE001  # whatever it was: the next round sees it again
                _log.warning("sweep failed", exc_info=error)
                self._stopping.wait(TERM_S / 4)

    def _daily(self, ports: Ports) -> Sequence[Bell]:
        if ports.clock() < self._looks_again:
            return []
        self._looks_again = ports.clock() + LOOK_S
        return rebuilds_due(ports, datetime.now(UTC))
