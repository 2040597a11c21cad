"""Jobs that update, rebuild and list the ranks of conversations."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Growing, Lane, Moment, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class RecomputeRanks(Request, Asks["RanksResult"]):
    """Compute how sessions refer to each other, and their ranks.

    ``scope="changed"`` updates the sessions that changed. ``scope="all"`` rebuilds everything in ``parts``, which
    workers share, and activates the result at once. ``mode`` is for a rebuild: it computes the reference part from
    the count of references or from PageRank, and later updates keep to it. With ``background``, an update waits a
    moment for further changes.
    """

    queue: ClassVar[Queue] = Queue.RANKS
    kind: Literal["recompute_ranks"] = "recompute_ranks"
    lane: Lane = Lane.BULK
    scope: Literal["changed", "all"] = "all"
    mode: Literal["count", "pagerank"] = "count"
    parts: Annotated[int, Field(ge=1, le=64)] = 2
    background: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A rebuild has one step for each part; an update is one step."""
        if self.scope == "changed":
            return ("update",)
        return tuple(f"part-{number}" for number in range(self.parts))


class RanksResult(JobResult):
    """The result of an update or a rebuild.

    For an update, ``total`` and ``references`` count what changed. For a rebuild, they count all sessions and
    references, and ``version`` is the version that it activated.
    """

    kind: Literal["recompute_ranks"] = "recompute_ranks"
    collection: str
    scope: Annotated[Literal["changed", "all"], Growing]
    references: int
    version: int | None = None


class RankList(Request, Asks["RankListResult"]):
    """List the sessions with the highest ranks as of ``now``. None is the time at which the job runs."""

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["ranks"] = "ranks"
    limit: TopN = 20
    now: Moment | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """Listing is one step."""
        return ("list",)


class RankedSession(Contract):
    """A session with its rank: ``0.2 base + 0.2 depth + 0.3 reference + 0.2 quality + 0.1 recency``.

    ``references`` is the weighted count of references to it: 1 for an explicit one, and ½ for an implicit one.
    """

    session_id: str
    name: str | None
    last_active: datetime
    rank: float
    base: float
    depth: float
    reference: float
    quality: float
    recency: float
    references: float


class RankListResult(JobResult):
    """The result of a `RankList`, highest rank first. ``waiting`` counts the sessions that changed since the update."""

    kind: Literal["ranks"] = "ranks"
    collection: str
    waiting: int
    results: tuple[RankedSession, ...]
