"""What the backlog of a queue means: how long a new step will wait, and which bells need no second ring.

Both follow from the steps that wait on the board, how fast workers claim them, and which threads are free. So both are
the same whatever carries the bells. The board counts itself what waits, and is told how fast it is claimed: a burst
must be refused before it has been accepted.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import structlog

from querymill_shared.board.calls import NO_BACKLOG
from querymill_shared.board.pace import QueuePace
from querymill_shared.board.queue_work import QueueWork
from querymill_shared.queues import Queue
from querymill_shared.values import value
from querymill_workers.dispatch.ports import Ports

_log = structlog.get_logger(__name__)

#: Looks that an estimate needs. A queue on which steps waited at each of them is not emptied as fast as it fills.
MIN_LOOKS = 3
#: Looks that an estimate uses at most: workers may become faster or slower.
MAX_LOOKS = 40
#: There is about one look a second. While steps wait that keep workers busy, the next one comes after this long (s).
LOOK_AGAIN_S = 0.25
#: Looks at least so far apart, in seconds, tell whether bells were lost: in less time long steps claim nothing either.
APART_S = 0.9
#: For so long (s) a queue is taken to be emptied as fast as when it was last full.
REMEMBER_S = 60.0
#: Looks further apart than this, in seconds, do not belong together.
MAX_GAP_S = 5.0
#: Shorter waits are not reported, in seconds.
MIN_WAIT_S = 1.0
#: Workers do not keep up if at most this share of their threads is free. Otherwise steps wait because their bells
#: were lost, or for a worker of another release, and a new step need not wait.
MAX_FREE_SHARE = 0.5


@value
class Look:
    """The work of all queues at a moment, in monotonic seconds."""

    at: float
    work: Mapping[Queue, QueueWork]


def expected_waits(looks: Sequence[Look]) -> dict[Queue, float]:
    """Return how many seconds a new step will wait, for each queue that workers do not keep up with.

    A queue on which nothing waited at one of the last looks is left out. So is one from which nothing was claimed: a
    worker may start at any moment, and nothing is known of its speed.
    """
    waits = {queue: looks[-1].work[queue].waiting / per_s for queue, per_s in claims_per_s(looks).items()}
    return {queue: wait_s for queue, wait_s in waits.items() if wait_s >= MIN_WAIT_S}


def claims_per_s(looks: Sequence[Look]) -> dict[Queue, float]:
    """Return how many steps a second workers claim, for each queue that they do not keep up with."""
    found = {}
    for queue in Queue:
        full = _without_a_break(queue, looks)
        if len(full) < MIN_LOOKS or not _keeps_threads_busy([look.work[queue] for look in full]):
            continue
        first, last = full[0], full[-1]
        claimed = last.work[queue].claimed - first.work[queue].claimed
        if claimed > 0:
            found[queue] = claimed / (last.at - first.at)
    return found


def paces(looks: Sequence[Look], per_thread: Mapping[Queue, float]) -> dict[Queue, QueuePace]:
    """Return how fast each queue is emptied if it is full, where that is known.

    ``per_thread`` is how many steps a second a thread claims, as of when the queue was last full. A queue on which
    steps wait beside free threads is left out: a new step need not wait behind them.
    """
    found = {}
    for queue, work in looks[-1].work.items():
        full = _without_a_break(queue, looks)
        is_stuck = len(full) >= MIN_LOOKS and not _keeps_threads_busy([look.work[queue] for look in full])
        if queue in per_thread and work.slots and not is_stuck:
            found[queue] = QueuePace(work.waiting, per_thread[queue] * work.slots, work.spare / work.slots)
    return found


def apart(looks: Sequence[Look]) -> list[Look]:
    """Return the last look, and those before it that are at least `APART_S` before the one that follows."""
    found: list[Look] = []
    for look in reversed(looks):
        if not found or found[-1].at - look.at >= APART_S:
            found.append(look)
    return found[::-1]


def bell_waits(looks: Sequence[Look]) -> dict[Queue, float]:
    """Return for how many seconds the bell of a waiting step may be in its queue, for each queue with a backlog.

    A bell that was rung a shorter time ago needs no second ring, which would only make the queue longer. Nobody can
    take a bell while no thread is free, so that is for ever as long as nothing moves. If nothing moves although threads
    are free, the bells were lost.
    """
    waits = dict(expected_waits(looks))
    for queue in Queue:
        lately = [look.work[queue] for look in looks[-MIN_LOOKS:] if queue in look.work]
        if len(lately) < MIN_LOOKS:
            continue
        if lately[-1].claimed == lately[0].claimed:
            waits.pop(queue, None)
            if not any(work.free for work in lately):
                waits[queue] = float("inf")
    return waits


def _without_a_break(queue: Queue, looks: Sequence[Look]) -> list[Look]:
    """Return the latest looks at which steps of the queue waited, without a look between them at which none did."""
    full: list[Look] = []
    for look in reversed(looks):
        if queue not in look.work or not look.work[queue].waiting:
            break
        full.append(look)
    return full[::-1]


def _keeps_threads_busy(seen: Sequence[QueueWork]) -> bool:
    return sum(work.free for work in seen) <= MAX_FREE_SHARE * sum(work.slots for work in seen)


class BacklogWatch:
    """Looks at the work of the queues in a background thread, each time that it is woken."""

    def __init__(self, ports: Ports, read: Callable[[], Sequence[QueueWork]]) -> None:
        self._ports = ports
        self._read = read
        self._looks: deque[Look] = deque(maxlen=MAX_LOOKS)
        self._woken = threading.Event()
        self._stopped = False
        self._reports = True
        self._woken_at = 0.0
        self._waits: Mapping[str, float] = NO_BACKLOG
        self._is_reported = False
        #: How many steps a second a thread claims of each queue, and when that was seen.
        self._per_thread: dict[Queue, tuple[float, float]] = {}

    @property
    def waits(self) -> Mapping[str, float]:
        """For how long a bell may be in each queue with a backlog, in seconds, as of the last look: `bell_waits`."""
        is_fresh = self._looks and self._ports.clock() - self._looks[-1].at <= MAX_GAP_S
        return self._waits if is_fresh else NO_BACKLOG

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="backlog", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped = True
        self._woken.set()

    def wake(self, *, reports: bool) -> None:
        """Look once, in the background. Elected sweepers call this about once a second.

        One of them ``reports`` to the board what it sees.
        """
        self._reports, self._woken_at = reports, self._ports.clock()
        self._woken.set()

    def look(self) -> None:
        """Look at the queues, and report to the board, if this process is to, how long a new step would wait."""
        work, now = self._read(), self._ports.clock()
        if self._looks and now - self._looks[-1].at > MAX_GAP_S:
            self._looks.clear()  # another process was elected since
        self._looks.append(Look(now, {each.queue: each for each in work}))
        looks = list(self._looks)
        self._remember(looks)
        waits = {queue.value: wait_s for queue, wait_s in expected_waits(looks).items()}
        per_thread = {queue: per_s for queue, (per_s, _) in self._per_thread.items()}
        told = {queue.value: pace for queue, pace in paces(looks, per_thread).items()}
        # Without a word from here for some seconds, the board refuses nothing.
        if self._reports and (waits or told or self._is_reported):
            self._ports.board.report_backlog(waits, told)
        self._is_reported = self._reports and bool(waits or told)
        self._waits = {queue.value: wait_s for queue, wait_s in bell_waits(apart(looks)).items()}

    def _remember(self, looks: Sequence[Look]) -> None:
        work, now = looks[-1].work, looks[-1].at
        self._per_thread = {queue: seen for queue, seen in self._per_thread.items() if now - seen[1] < REMEMBER_S}
        for queue, per_s in claims_per_s(looks).items():
            if work[queue].slots:
                self._per_thread[queue] = per_s / work[queue].slots, now

    def _looks_again(self) -> bool:
        """Whether steps wait that keep workers busy, and this process was woken lately."""
        if not self._looks or self._ports.clock() - self._woken_at > MAX_GAP_S:
            return False
        return any(work.waiting and _keeps_threads_busy([work]) for work in self._looks[-1].work.values())

    def _run(self) -> None:
        while True:
            if not self._woken.wait(LOOK_AGAIN_S if self._looks_again() else None) and not self._looks_again():
                continue
            self._woken.clear()
            if self._stopped:
                return
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  # the board may be back at the next look
                _log.warning("could not look at the queues", error=type(error).__name__)
