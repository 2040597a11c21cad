"""Submit a rebuild of the ranks of every collection once a day."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.ports import RankPorts

#: Ranks older than this are rebuilt.
EVERY: Final = timedelta(days=1)
#: How often a sweeper checks the age of ranks, in seconds.
LOOK_S: Final = 60.0


def rebuilds_due(ports: RankPorts, now: datetime) -> Sequence[Bell]:
    """Submit the rebuilds that are due, each once a day, and return the bells to ring.

    A rebuild keeps the mode of the previous one. The idempotency key ensures that only one sweeper submits it.
    """
    bells: list[Bell] = []
    for collection, mode in ports.ranks.rebuilt_before(now - EVERY):
        request = RecomputeRanks(collection=collection, mode=mode)
        job_id, is_new = ports.board.submit(
            request, SubmitOptions(idempotency_key=f"daily ranks {now.date().isoformat()}")
        )
        if is_new:
            bells.extend(Bell(job_id, step, request.queue_of(step)) for step in request.steps)
    return bells
