"""Have callers told that their jobs have ended: each end that was noted on the board becomes a job that tells of it.

The job is submitted under the id of its message, so that a sweeper that dies in between submits it once.
"""

from collections.abc import Sequence

import structlog
from pydantic import ValidationError

from querymill_shared.board import Due
from querymill_shared.contracts.callbacks import OPEN_CALLBACK
from querymill_shared.contracts.errors import IdempotencyConflict
from querymill_shared.contracts.fields import from_board
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs.bell import Bell

_log = structlog.get_logger(__name__)


def call_back(due: Due, ports: Ports) -> Sequence[Bell]:
    """Submit the job that tells a caller. Return its bells, none if it was there already."""
    try:
        ended = from_board(OPEN_CALLBACK, due.callback)
        asked = ended.to_tell()
    except ValidationError as error:  # another program wrote it, or a release that lets callers ask for more
        _log.warning("a callback cannot be read", error=type(error).__name__)
        ports.board.called_back(due, job_id="", delivery="")
        return []
    options = SubmitOptions(idempotency_key=asked.message.id).owned_by(ended.owner)
    try:
        delivery, is_new = ports.board.submit(asked, options)
    except IdempotencyConflict as error:  # another release words the same message differently
        delivery, is_new = error.job_id, False
    ports.board.called_back(due, job_id=ended.job_id, delivery=delivery)
    return [Bell(delivery, step, asked.queue_of(step)) for step in asked.steps] if is_new else []
