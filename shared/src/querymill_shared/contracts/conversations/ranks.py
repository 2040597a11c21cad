"""Jobs that keep the ranks of conversations fresh."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Lane, Moment, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult


class RecomputeRanks(Request, Asks["RanksResult"]):
    """Work out how sessions refer to each other.

    ``scope="changed"`` brings the sessions that changed up to date; ``scope="all"`` makes everything anew, in
    ``parts`` that workers share, and puts it in force at once. ``mode`` is for a rebuild: the reference part from
    the count of references, or from PageRank on them; updates keep to it. With ``background`` it waits a moment
    for more changes.
    """

    kind: Literal["recompute_ranks"] = "recompute_ranks"
    lane: Lane = Lane.BULK
    scope: Literal["changed", "all"] = "all"
    mode: Literal["count", "pagerank"] = "count"
    parts: Annotated[int, Field(ge=1, le=64)] = 2
    background: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """A rebuild is one step for each part; bringing changes up to date is one step."""
        if self.scope == "changed":
            return ("update",)
        return tuple(f"part-{number}" for number in range(self.parts))


class RanksResult(JobResult):
    """What was worked out: ``total`` counts the sessions that were updated, or are ranked.

    ``references`` counts those that changed, or are there; ``version`` is the rebuild's that is in force.
    """

    kind: Literal["recompute_ranks"] = "recompute_ranks"
    collection: str
    scope: Literal["changed", "all"]
    references: int
    version: int | None = None


class RankList(Request, Asks["RankListResult"]):
    """List the sessions of the highest ranks, as of ``now`` (the time of the answer without it)."""

    kind: Literal["ranks"] = "ranks"
    limit: TopN = 20
    now: Moment | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """Listing is one step."""
        return ("list",)


class RankedSession(Contract):
    """A session's rank: ``0.2 base + 0.2 depth + 0.3 reference + 0.2 quality + 0.1 recency``.

    ``references`` is what the references to it count together, 1 for an explicit one and ½ for an implicit one.
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
    """The answer to a `RankList`, highest first; ``waiting`` sessions changed since ranks were brought up to date."""

    kind: Literal["ranks"] = "ranks"
    collection: str
    waiting: int
    results: tuple[RankedSession, ...]
