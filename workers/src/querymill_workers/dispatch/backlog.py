"""What the queues' backlog means: which bells need no second ring, and how long a new bell will wait."""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence

import structlog

from querymill_shared.backlog import Backlog, QueueState
from querymill_shared.board.calls import NO_BACKLOG
from querymill_shared.queues import Queue
from querymill_shared.values import value
from querymill_workers.dispatch.ports import Ports

_log = structlog.get_logger(__name__)

#: Looks that an estimate needs. A queue that held a bell at each of them is not emptied as fast as it fills.
MIN_LOOKS = 3
#: Looks that an estimate uses at most: workers may become faster or slower. There is about one look a second.
MAX_LOOKS = 10
#: Looks further apart than this, in seconds, do not belong together.
MAX_GAP_S = 5.0
#: Shorter waits are not reported, in seconds.
MIN_WAIT_S = 1.0
#: A bell that is younger than this, in seconds, tells nothing of a backlog.
MIN_AGE_S = 1.0


@value
class QueueSnapshot:
    """The queues at a moment, in monotonic seconds."""

    at: float
    states: Mapping[Queue, QueueState]


def expected_waits(looks: Sequence[QueueSnapshot]) -> dict[Queue, float]:
    """Return how many seconds a new bell will wait, for each queue that workers do not keep up with.

    A queue that workers emptied at one of the last looks is left out. So is one from which nothing was taken: a worker
    may start at any moment, and nothing is known of its speed.
    """
    waits = {}
    for queue in Queue:
        full = _without_a_break(queue, looks)
        if len(full) < MIN_LOOKS:
            continue
        first, last = full[0], full[-1]
        taken = last.states[queue].taken - first.states[queue].taken
        if taken > 0:
            waits[queue] = last.states[queue].length * (last.at - first.at) / taken
    return {queue: wait_s for queue, wait_s in waits.items() if wait_s >= MIN_WAIT_S}


def _without_a_break(queue: Queue, looks: Sequence[QueueSnapshot]) -> list[QueueSnapshot]:
    """Return the latest looks at which the queue held a bell, without a look between them at which it was empty."""
    full: list[QueueSnapshot] = []
    for look in reversed(looks):
        state = look.states.get(queue)
        if state is None or not state.length:
            break
        full.append(look)
    return full[::-1]


def still_queued(states: Sequence[QueueState], *, unknown_since: float) -> dict[str, float]:
    """Return, for each queue with a backlog, when its oldest bell was rung (s since the epoch, the board's clock).

    Workers take bells in the order in which they were rung. So a bell that was rung later is still in the queue, and
    ringing it again would only make the queue longer. If the board does not know the oldest bell, it is as old as
    ``unknown_since``.
    """
    known = {state.queue: state for state in states if state.length}
    return {
        queue.value: unknown_since if state.rung_at is None else state.rung_at
        for queue, state in known.items()
        if state.oldest_s is None or state.oldest_s >= MIN_AGE_S
    }


class BacklogWatch:
    """Looks at the queues in a background thread, each time that it is woken."""

    def __init__(self, ports: Ports, backlog: Backlog, *, result_ttl_s: float) -> None:
        self._ports = ports
        self._backlog = backlog
        self._result_ttl_s = result_ttl_s
        self._looks: deque[QueueSnapshot] = deque(maxlen=MAX_LOOKS)
        self._woken = threading.Event()
        self._stopped = False
        self._reports = True
        self._queued_since: Mapping[str, float] = {}
        self._reported: Mapping[str, float] = {}

    @property
    def queued_since(self) -> Mapping[str, float]:
        """When the oldest bell of each queue with a backlog was rung, as of the last look; see `still_queued`."""
        is_fresh = self._looks and self._ports.clock() - self._looks[-1].at <= MAX_GAP_S
        return self._queued_since if is_fresh else NO_BACKLOG

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="backlog", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._stopped = True
        self._woken.set()

    def wake(self, *, reports: bool) -> None:
        """Look once, in the background: the broker may be slow. Elected sweepers call this about once a second.

        One of them ``reports`` to the board what it sees.
        """
        self._reports = reports
        self._woken.set()

    def look(self) -> None:
        """Look at the queues, and report to the board, if this process is to, how long a new bell would wait."""
        states, now = self._backlog.look(), self._ports.clock()
        if self._looks and now - self._looks[-1].at > MAX_GAP_S:
            self._looks.clear()  # another process was elected since
        self._looks.append(QueueSnapshot(now, {state.queue: state for state in states}))
        waits = {queue.value: wait_s for queue, wait_s in expected_waits(list(self._looks)).items()}
        # Without a word from here for some seconds, the board refuses nothing.
        if self._reports and (waits or self._reported):
            self._ports.board.report_backlog(waits)
        self._reported = waits if self._reports else {}
        self._queued_since = still_queued(states, unknown_since=time.time() - self._result_ttl_s)

    def _run(self) -> None:
        while True:
            self._woken.wait()
            self._woken.clear()
            if self._stopped:
                return
            try:
                self.look()
            except Exception as error:  # noqa: BLE001  # the broker may be back at the next look
                _log.warning("could not look at the queues", error=type(error).__name__)
