"""Recover what has stalled: ring lost bells again, reassign the steps of dead workers, settle jobs at their deadline.

Every worker process runs a sweeper. The board elects one of them for each of its shards, so only one sweeps a shard at
a time. The sweeper itself touches the board only: a store that does not respond must not keep the other jobs from their
deadlines.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import structlog

from querymill_shared.board import Due, Picture, Step, Verdict
from querymill_shared.board.calls import NO_BACKLOG
from querymill_shared.board.keys import SHARDS
from querymill_shared.contracts.errors import UnknownJob, UnreadableJob
from querymill_shared.queues import Queue
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.background_tasks import BackgroundTasks
from querymill_workers.dispatch.backlog import BacklogWatch
from querymill_workers.dispatch.calling_back import call_back
from querymill_workers.dispatch.election import TERM_S
from querymill_workers.dispatch.ports import Ports
from querymill_workers.dispatch.watchdog import WatchedThread
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.log_lines import log_failure
from querymill_workers.retrievers.conversations.ranks.daily import LOOK_S, rebuilds_due

_log = structlog.get_logger(__name__)

#: Seconds between two sweeps: until the next entry is due, within these bounds. A job that is accepted in between may
#: be due sooner, but its deadline is at least twice as far away as its entry.
LEAST_WAIT_S, MOST_WAIT_S = 0.005, 0.1
#: So many searches that nobody began are ended in one round trip.
ENDED_AT_ONCE = 100
#: How often the text indexes are looked after, in seconds.
TIDY_EVERY_S = 5.0
#: How often the sweeper checks whether samples of dropped documents are left, in seconds.
SAMPLES_EVERY_S = 60.0
#: How often the sweeper looks for worker processes that hold steps and are not on the list, in seconds.
LIVES_EVERY_S = 10.0
#: How often the sweeper looks whether a minute has begun that is not in the history of the fleet, in seconds.
HISTORY_EVERY_S = 1.0


def sweep(
    ports: Ports, waits: Mapping[str, float] = NO_BACKLOG, *, tasks: BackgroundTasks | None = None,
    shards: str = SHARDS, sweeper: str = "",
) -> Sequence[Bell]:  # fmt: skip
    """Act on every due entry once. Return the bells to ring: no second one for a step whose bell may still be queued.

    What needs a store is done aside, as tasks. Without them it is done here.
    """
    due_now = ports.board.due(waits=waits, shards=shards, sweeper=sweeper)
    return [bell for due in end_unbegun(due_now, ports) for bell in recover_safely(due, ports, tasks)]


def end_unbegun(due_now: Sequence[Due], ports: Ports) -> list[Due]:
    """End the searches past their deadline that nobody has begun, many at a time. Return the other due entries.

    After a burst they are thousands, and there is nothing to read for any of them.
    """
    late, ended = [due.job_id for due in due_now if due.past_deadline], set[str]()
    for first in range(0, len(late), ENDED_AT_ONCE):
        pictures = ports.board.pictures(late[first : first + ENDED_AT_ONCE])
        verdicts = {
            picture.record.job_id: run_step.verdict_unbegun(picture)
            for picture in pictures
            if picture is not None and not picture.record.is_over and run_step.is_unbegun_search(picture)
        }
        if verdicts:
            ports.board.settle_all(verdicts)
            ended |= verdicts.keys()
    return [due for due in due_now if due.job_id not in ended]


def recover_safely(due: Due, ports: Ports, tasks: BackgroundTasks | None) -> Sequence[Bell]:
    """Act on one due entry. If it raises, log the error and continue: this entry becomes due again."""
    try:
        return call_back(due, ports) if due.callback else recover(due, ports, tasks)
    except UnknownJob:
        return []
    except UnreadableJob as error:
        ports.board.settle(due.job_id, Verdict("failed", reason=error.reason, code="bug"))
        return []
    except Exception as error:  # noqa: BLE001  # the other jobs have deadlines too
        _log.warning("could not process a due entry", job_id=due.job_id, step=due.step, exc_info=error)
        return []


def recover(due: Due, ports: Ports, tasks: BackgroundTasks | None = None) -> Sequence[Bell]:
    """Settle or advance the job of a due entry, or ring for its step. Return the bells to ring."""
    picture = ports.board.picture(due.job_id)
    if picture.record.is_over:
        return []
    if picture.unreadable:
        return recover_unread(due, picture, ports)
    if picture.request is None:
        return []
    step = next((step for step in picture.steps if step.name == due.step), None)
    if step is not None and not (step.state == "running" and spent(step) >= ports.max_attempts):
        return [Bell(due.job_id, step.name, picture.request.queue_of(step.name))]
    reads = run_step.flow_of(picture.request).reads
    if tasks is None or reads is None:
        return go_on(due, picture, step, ports)
    tasks.ask(
        (due.job_id, due.step, due.past_deadline),
        lambda: go_on(due, picture, step, ports),
        give_up=lambda: settle_without(reads, due, ports),
    )
    return []


def go_on(due: Due, picture: Picture, step: Step | None, ports: Ports) -> Sequence[Bell]:
    """Settle a job at its deadline, continue after its last step has closed, or give up a step of dead workers."""
    if due.past_deadline:
        run_step.settle_at_deadline(picture, ports)
        return []
    return run_step.conclude(picture, ports) if step is None else give_up(picture, step, ports)


def settle_without(store: str, due: Due, ports: Ports) -> None:
    """End a job at its deadline although the store that its result is read from does not respond.

    Any other due entry waits: it becomes due again.
    """
    if due.past_deadline:
        late = f"{store} did not respond when the deadline passed"
        ports.board.settle(due.job_id, Verdict("failed", reason=late, code="store_down"))


def spent(step: Step) -> int:
    """Return the attempts of a stalled step that are used up. The worker that still held it is dead, too."""
    return step.counts.spent + (step.state == "running")


def recover_unread(due: Due, picture: Picture, ports: Ports) -> Sequence[Bell]:
    """Ring for a step of a job that this worker cannot read, or fail the job at its deadline.

    A worker that can read it may be waiting on the step's queue. Only such a worker can settle it once all is done.
    """
    if due.past_deadline:
        run_step.fail_unreadable(picture, ports)
    queue = picture.queues.get(due.step or "")
    return [Bell(due.job_id, due.step, Queue(queue))] if due.step and queue in set(Queue) else []


def give_up(picture: Picture, step: Step, ports: Ports) -> Sequence[Bell]:
    """Fail a step whose workers keep dying, and mark its job as dead.

    The sweeper claims the step first, so nothing happens to one that a worker has claimed since it became due.
    """
    if picture.request is None:
        return []
    bell = Bell(picture.record.job_id, step.name, picture.request.queue_of(step.name))
    for held in run_step.claim_steps(bell, ports, limit=1).held:
        if held.counts.spent >= ports.max_attempts:
            log_failure(held, "its workers died")
            return run_step.fail(
                held, run_step.NO_ATTEMPTS_LEFT.format(held.counts.spent), ports, dead=True, code="lost"
            )
        ports.board.postpone(held, delay_s=0.0, reason="", cause="pause")
    return []


def tidied(ports: Ports) -> Sequence[Bell]:
    """Do a bounded part of the upkeep of the text indexes. It rings no bell."""
    ports.words.tidy()
    return []


def resampled(ports: Ports) -> Sequence[Bell]:
    """Have samples taken again of what was dropped by workers that ended since. It rings no bell."""
    ports.samples.catch_up()
    return []


class Sweeper:
    """Sweeps in a background thread the shards for which this process is elected.

    Whoever sweeps the first shard also does what the fleet needs once, and calls ``keep_minute`` about once a second.
    """

    def __init__(
        self,
        ports: Ports,
        *,
        ring: Callable[[Bell], None],
        elect: Callable[[], str],
        name: str = "",
        backlog: BacklogWatch | None = None,
        keep_minute: Callable[[], object] | None = None,
    ) -> None:
        self._ports = ports
        self._name = name
        self._keep_minute = keep_minute
        self._backlog = backlog
        self._ring = ring
        self._elect = elect
        self._tasks = BackgroundTasks(ring, ports.clock)
        self._thread = WatchedThread("sweeper", self.turn)
        self._shards = ""
        self._elected_until = 0.0
        self._next_at: dict[str, float] = {}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop sweeping."""
        self._thread.stop()

    def turn(self) -> float:
        """Sweep once what this process is elected for. Return how many seconds to wait before the next turn."""
        if self._ports.clock() >= self._elected_until:
            self._stand()
        if not self._shards:
            return TERM_S / 4
        due_in_s = self._ports.board.due_in(self._shards)
        if due_in_s <= 0:
            waits = NO_BACKLOG if self._backlog is None else self._backlog.waits
            for bell in sweep(self._ports, waits, tasks=self._tasks, shards=self._shards, sweeper=self._name):
                self._ring(bell)
        self._tasks.tend()
        if self._does_what_is_needed_once:
            self._look_after_fleet()
            self._look_after_stores()
        return min(max(due_in_s, LEAST_WAIT_S), MOST_WAIT_S)

    @property
    def _does_what_is_needed_once(self) -> bool:
        return SHARDS[0] in self._shards

    def _stand(self) -> None:
        begun = self._ports.clock()
        self._shards = ""
        self._shards = self._elect()
        self._elected_until = begun + TERM_S / 2
        if self._backlog is not None and self._shards:
            self._backlog.wake(reports=self._does_what_is_needed_once)

    def _look_after_fleet(self) -> None:
        """Keep the minute, and list who is missing. If one of these raises, log it: jobs have deadlines."""
        now = self._ports.clock()
        for name, every_s, work in (
            ("keep what the fleet did in a minute", HISTORY_EVERY_S, self._keep_minute),
            ("list workers that are missing", LIVES_EVERY_S, self._list_missing_lives),
        ):
            if work is None or now < self._next_at.get(name, 0.0):
                continue
            self._next_at[name] = now + every_s
            try:
                work()
            except Exception as error:  # noqa: BLE001  # the next time does what this one would have
                _log.warning("could not do what the fleet needs once", work=name, exc_info=error)

    def _list_missing_lives(self) -> None:
        for life in self._ports.board.list_missing_lives():
            _log.warning("a worker process that holds steps was not on the list", life=life)

    def _look_after_stores(self) -> None:
        """Have done aside what the stores need now and then."""
        now = self._ports.clock()
        for name, every_s, work in (
            ("daily ranks", LOOK_S, lambda: rebuilds_due(self._ports, datetime.now(UTC))),
            ("text indexes", TIDY_EVERY_S, lambda: tidied(self._ports)),
            ("samples", SAMPLES_EVERY_S, lambda: resampled(self._ports)),
        ):
            if now >= self._next_at.get(name, 0.0):
                self._next_at[name] = now + every_s
                self._tasks.ask(name, work, give_up=lambda: None)
