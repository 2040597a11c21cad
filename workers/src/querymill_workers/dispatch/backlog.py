"""What the backlog of a queue means: how long a new step will wait, and which bells need no second ring.

Both follow from the steps that wait on the board, how fast workers claim them, and which threads are free. So both are
the same whatever carries the bells.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import structlog

from querymill_shared.board.calls import NO_BACKLOG
from querymill_shared.board.queue_work import QueueWork
from querymill_shared.queues import Queue
from querymill_shared.values import value
from querymill_workers.dispatch.ports import Ports

_log = structlog.get_logger(__name__)

#: Looks that an estimate needs. A queue on which steps waited at each of them is not emptied as fast as it fills.
MIN_LOOKS = 3
#: Looks that an estimate uses at most: workers may become faster or slower. There is about one look a second.
MAX_LOOKS = 10
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
    waits = {}
    for queue in Queue:
        full = _without_a_break(queue, looks)
        if len(full) < MIN_LOOKS or not _keeps_threads_busy([look.work[queue] for look in full]):
            continue
        first, last = full[0], full[-1]
        claimed = last.work[queue].claimed - first.work[queue].claimed
        if claimed > 0:
            waits[queue] = last.work[queue].waiting * (last.at - first.at) / claimed
    return {queue: wait_s for queue, wait_s in waits.items() if wait_s >= MIN_WAIT_S}


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
        self._waits: Mapping[str, float] = NO_BACKLOG
        self._reported: Mapping[str, float] = NO_BACKLOG

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
        self._reports = reports
        self._woken.set()

    def look(self) -> None:
        """Look at the queues, and report to the board, if this process is to, how long a new step would wait."""
        work, now = self._read(), self._ports.clock()
        if self._looks and now - self._looks[-1].at > MAX_GAP_S:
            self._looks.clear()  # another process was elected since
        self._looks.append(Look(now, {each.queue: each for each in work}))
        looks = list(self._looks)
        waits = {queue.value: wait_s for queue, wait_s in expected_waits(looks).items()}
        # Without a word from here for some seconds, the board refuses nothing.
        if self._reports and (waits or self._reported):
            self._ports.board.report_backlog(waits)
        self._reported = waits if self._reports else NO_BACKLOG
        self._waits = {queue.value: wait_s for queue, wait_s in bell_waits(looks).items()}

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            if self._stopped:
                return
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  # the board may be back at the next look
                _log.warning("could not look at the queues", error=type(error).__name__)
