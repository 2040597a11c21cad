"""What follows a write: an update of the ranks of the sessions that changed."""

from collections.abc import Sequence

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.follow_up import submit_once
from querymill_workers.retrievers.conversations.ports import RankPorts


def update_what_waits(collection: str, ports: RankPorts) -> Sequence[Bell]:
    """Submit an update if a session waits for one; return the bells to ring."""
    return update_soon(collection, ports) if ports.ranks.waiting(collection) else []


def update_soon(collection: str, ports: RankPorts) -> Sequence[Bell]:
    """Submit an update of the changed sessions, unless one is waiting; return the bells to ring."""
    request = RecomputeRanks(collection=collection, scope="changed", background=True)
    _, bells = submit_once(request, f"ranks {ports.ranks.updates(collection)}", ports)
    return bells
