"""The workers in one thread of this process, with stores in memory and without a model. They serve tests.

`querymill.testing.MemoryMill` finds `MemoryWorkers` by its entry point.
"""

import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from querymill_shared.board import Board
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.queues import Queue
from querymill_workers import wiring
from querymill_workers.dispatch import run_step
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.bell import Bell

#: Seconds between two sweeps, and between two beats.
SWEEP_EVERY_S: Final = 0.025
BEAT_EVERY_S: Final = 1.0


class MemoryWorkers:
    """A thread that runs the steps of the bells of a board, and sweeps the board in between."""

    def __init__(self, board: Board) -> None:
        self.ports = wiring.ports_in_memory(board)
        self._bells: SimpleQueue[Bell] = SimpleQueue()
        self._stopping = threading.Event()
        self._swept_at = self._beaten_at = float("-inf")
        self._thread = threading.Thread(target=self._work, name="memory workers", daemon=True)
        self._thread.start()

    def ring(self, job_id: str, request: JobRequest) -> None:
        """Ring for every step of a job."""
        self._ring_all([Bell(job_id, step, request.queue_of(step)) for step in request.steps])

    def close(self) -> None:
        """Stop after the current step."""
        self._stopping.set()
        self._thread.join()

    def _ring_all(self, bells: Sequence[Bell]) -> None:
        for bell in bells:
            self._bells.put(bell)

    def _work(self) -> None:
        while not self._stopping.is_set():
            with suppress(Empty):
                self._ring_all(run_step.run_step(self._bells.get(timeout=SWEEP_EVERY_S), self.ports))
            now = self.ports.clock()
            if now - self._beaten_at >= BEAT_EVERY_S:
                self.ports.board.beat("memory#1", {"name": "memory", "queues": list(Queue), "slots": 1})
                self._beaten_at = now
            if now - self._swept_at >= SWEEP_EVERY_S:
                self._ring_all(sweep(self.ports))
                self._swept_at = now
