"""The threads of a worker process: which of them are free, and how one bell sets several of them to work."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import structlog

from querymill_shared.board import Claim
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell

_log = structlog.get_logger(__name__)

Ring = Callable[[Sequence[Bell]], None]
#: For so many threads there is one more, for collections that hold hardly any.
THREADS_PER_SPARE = 8


class StepPool:
    """Runs the step that a bell names in the thread that heard it, and further steps of its queue in free ones."""

    def __init__(self) -> None:
        self._slots = 1
        self._busy = 0
        self._held: Counter[str] = Counter()
        self._threads = 0
        self._changed = threading.Condition(threading.Lock())
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def widen(self, slots: int) -> None:
        """Run up to so many steps at once, where it was one."""
        self._slots = max(1, slots)

    @property
    def busy(self) -> int:
        """How many steps this process runs now."""
        return self._busy

    @property
    def free(self) -> int:
        """How many further steps this process may run now."""
        return max(0, self._slots - self._busy)

    @property
    def spare(self) -> int:
        """How many threads there are beyond the others, for collections that hold fewer than that."""
        return self._slots // THREADS_PER_SPARE

    def spare_slots_of(self, collection: str) -> int:
        """How many steps of a collection may be run beyond the others now, while these keep every thread busy."""
        with self._changed:
            spare_left = self._slots + self.spare - max(self._busy, self._slots)
            return max(0, min(spare_left, self.spare - self._held[collection]))

    def wait_until_free(self, max_s: float) -> int:
        """Return how many threads are free, after waiting up to ``max_s`` seconds for one. It reserves none."""
        if self.free:
            return self.free
        with self._changed:
            self._changed.wait_for(lambda: self.free > 0, timeout=max_s)
            return self.free

    def start(self, work: Callable[[], None]) -> None:
        """Have a thread do something, beyond the others if none is free."""
        with self._changed:
            self._start(work)

    def start_if_free(self, work: Callable[[], None], *, within_s: float = 0) -> bool:
        """Have a thread do something if one is free within so many seconds. Return whether one was.

        Several listeners share the threads: what one of them saw free, another may have taken since.
        """
        with self._changed:
            is_free = self._changed.wait_for(lambda: self.free > 0, timeout=within_s)
            if is_free:
                self._start(work)
            return is_free

    def _start(self, work: Callable[[], None]) -> None:
        self._busy += 1
        if self._busy > self._threads:
            self._threads += 1
            # A step that does not end must not keep a process from ending: another worker takes it over.
            threading.Thread(target=self._work, name=f"step-{self._threads}", daemon=True).start()
        self._waiting.put(work)

    def answer(self, bell: Bell, ports: Ports, ring: Ring) -> None:
        """Claim what a bell names and what waits beside it, and run it. Ring on for the steps that find no thread."""
        claims = run_step.claim_steps(bell, ports, limit=1 + self.free)
        if claims.left is not None:
            ring([Bell(bell.job_id, claims.left, bell.queue)])
        for claim in claims.held[1:]:
            self.start(lambda claim=claim: self._run(claim, ports, ring))  # type: ignore[misc]
        for claim in claims.held[:1]:
            self._run(claim, ports, ring)

    def answer_here(self, bell: Bell, ports: Ports, ring: Ring) -> None:
        """Answer a bell in the calling thread, which counts as one of the pool until it returns."""
        with self._changed:
            self._busy += 1
        try:
            self.answer(bell, ports, ring)
        finally:
            self._give_back()

    def _run(self, claim: Claim, ports: Ports, ring: Ring) -> None:
        collection = claim.request.collection
        with self._changed:
            self._held[collection] += 1
        try:
            ring(run_step.run_claim(claim, ports))
        finally:
            with self._changed:
                self._held[collection] -= 1
                if not self._held[collection]:
                    del self._held[collection]

    def dismiss(self, *, within_s: float) -> bool:
        """Begin nothing more, and wait for the steps that run. Return whether all have ended in time.

        A listener that hears another bell finds no thread free and gives it back: a step that was claimed after this
        process has put back what it held would wait for the end of its lease.
        """
        until = time.monotonic() + within_s
        with self._changed:
            self._slots = 0
            return self._changed.wait_for(lambda: not self._busy, timeout=max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                work()
            except Exception as error:  # noqa: BLE001  # the board rings the step again
                _log.exception("a step could not be run", error=type(error).__name__)
            finally:
                self._give_back()

    def _give_back(self) -> None:
        with self._changed:
            self._busy -= 1
            # Listeners wait only while no thread is free, and a process that ends for all.
            if self._busy in (0, self._slots - 1):
                self._changed.notify_all()
