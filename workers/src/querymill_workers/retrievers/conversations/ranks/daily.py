"""Ask once a day for the ranks of every collection of conversations to be rebuilt."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.conversations.ports import RankPorts

#: How old ranks grow before they are rebuilt.
EVERY: Final = timedelta(days=1)
#: How often it is looked whether they are that old, in seconds.
LOOK_S: Final = 60.0


def rebuilds_due(ports: RankPorts, now: datetime) -> Sequence[Bell]:
    """Ask for the rebuilds that are due, each once a day; return the bells to ring.

    A rebuild goes on in the mode of the one before. That it is asked for once, whoever sweeps, is the key's doing.
    """
    bells: list[Bell] = []
    for collection, mode in ports.ranks.rebuilt_before(now - EVERY):
        request = RecomputeRanks(collection=collection, mode=mode)
        job_id, is_new = ports.board.submit(request, idempotency_key=f"daily ranks {now.date().isoformat()}")
        if is_new:
            bells.extend(Bell(job_id, step, request.queue_of(step)) for step in request.steps)
    return bells
