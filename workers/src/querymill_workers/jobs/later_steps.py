"""Steps that a job gets when others have closed."""

from collections.abc import Sequence

from querymill_shared.board import Picture
from querymill_shared.contracts.jobs import JobRequest
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.ports import Common


def add_steps(picture: Picture, names: Sequence[str], request: JobRequest, ports: Common) -> list[Bell]:
    """Add steps to a job, and return their bells. A step that another worker has added is not rung again."""
    job_id = picture.record.job_id
    added = ports.board.add_steps(job_id, names, queue_of=request.queue_of)
    return [Bell(job_id, name, request.queue_of(name)) for name in added]
