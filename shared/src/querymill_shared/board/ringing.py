"""Submitting a job and ringing for it in one round trip, where the broker is the board's own server."""

import logging

from querymill_shared import bells
from querymill_shared.board import keys
from querymill_shared.board.calls import Call
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.queues import Queue

_log = logging.getLogger(__name__)


def steps_to_ring(request: JobRequest) -> list[tuple[Queue, str]]:
    """Return the first step of each queue of a new job. The worker that hears its bell claims the others too."""
    firsts: dict[Queue, str] = {}
    for step in request.steps:
        firsts.setdefault(request.queue_of(step), step)
    return list(firsts.items())


def ring(job_id: str, request: JobRequest) -> Call[int]:
    """Ring for a job that was just submitted.

    Return how many bells could not be pushed. The sweeper rings them later.
    """
    rung = steps_to_ring(request)

    def parse(failed: int) -> int:
        if failed:
            _log.warning("job %s is on the board, %d of its bells are not rung yet", job_id, failed)
        return failed

    names = [*keys.of_job(job_id, "job"), *(queue.value for queue, _ in rung)]
    return Call("ring", names, [bells.message(queue, job_id, step).decode() for queue, step in rung], parse)
