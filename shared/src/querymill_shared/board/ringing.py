"""The bells of a job that was just submitted."""

from querymill_shared import bells
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.queues import Queue


def steps_to_ring(request: JobRequest) -> list[tuple[Queue, str]]:
    """Return the first step of each queue of a new job. The worker that hears its bell claims the others too."""
    firsts: dict[Queue, str] = {}
    for step in request.steps:
        firsts.setdefault(request.queue_of(step), step)
    return list(firsts.items())


def bells_of(job_id: str, request: JobRequest) -> list[tuple[Queue, str]]:
    """Return the bell of each queue of a new job, as a broker that is the board's own server keeps it."""
    return [(queue, bells.message(queue, job_id, step).decode()) for queue, step in steps_to_ring(request)]
