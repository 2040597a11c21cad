"""Jobs that other jobs submit: at most one waits under a key, however often it is submitted."""

from collections.abc import Sequence

from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_workers.jobs import job_counts
from querymill_workers.jobs.bell import Bell, one_per_queue
from querymill_workers.jobs.ports import Common

#: Once ``MAX_FAILED`` jobs under one key have ended and the work is still asked for, a further job starts at most once
#: in ``THEN_RETRY_EVERY_S`` seconds by each machine's clock: what made them fail may last, or may be over.
MAX_FAILED, THEN_RETRY_EVERY_S = 3, 60


def submit_once(request: JobRequest, key: str, ports: Common) -> tuple[str | None, Sequence[Bell]]:
    """Submit a job under a key, unless a job under that key is still open, be its request another.

    Returns the job's id, or None if too many of them failed, and the bells of a new job.
    """
    for failed in range(MAX_FAILED + 1):
        if failed == MAX_FAILED:
            key = f"{key} at {int(ports.clock() // THEN_RETRY_EVERY_S)}"
        try:
            # Who pays for a step pays for what follows from it.
            options = SubmitOptions(idempotency_key=key).owned_by(job_counts.current().owner)
            job_id, is_new = ports.board.submit(request, options)
        except IdempotencyConflict as conflict:
            job_id, is_new = conflict.job_id, False
        if is_new:
            return job_id, one_per_queue(Bell(job_id, step, request.queue_of(step)) for step in request.steps)
        if not ports.board.has_ended(job_id):
            return job_id, []
        key = f"{key} after {job_id}"
    return None, []
