"""Jobs that update, rebuild and list the ranks of conversations."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, Growing, Lane, Moment, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class RecomputeRanks(Request, Asks["RanksResult"]):
    """Compute how sessions refer to each other, and their ranks.

    Attributes:
        lane: priority under a provider's rate limit: normal or bulk
        scope: "changed" updates the sessions that changed; "all" rebuilds everything and activates the result at once
        mode: for a rebuild: the reference part from the count of references or from PageRank; later updates keep to it
        parts: number of steps of a rebuild, which workers share
        background: whether an update first waits a second for further changes
        deadline: always null: the job has no deadline
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

    ``total`` counts the sessions: those whose references were updated, or all of them in a rebuild.

    Attributes:
        collection: name of the collection whose ranks were computed
        scope: "changed" after an update of the changed sessions, "all" after a rebuild
        references: number of references between sessions: those that an update changed, or all of them in a rebuild
        version: version of the ranks that the rebuild activated; null for an update
    """

    kind: Literal["recompute_ranks"] = "recompute_ranks"
    collection: str
    scope: Annotated[Literal["changed", "all"], Growing]
    references: int
    version: int | None = None


class RankList(Request, Asks["RankListResult"]):
    """List the sessions with the highest ranks.

    Attributes:
        limit: maximum number of sessions returned
        now: time as of which recency is computed; null is the time at which the job runs
    """

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
    """A session with its rank and the parts of it.

    Attributes:
        session_id: id of the session, as ingested
        name: name of the session; null if it was ingested without one
        last_active: time of the session's latest message, in UTC
        rank: importance of the session, 0 to 1: 0.2 base + 0.2 depth + 0.3 reference + 0.2 quality + 0.1 recency
        base: part for its length, 0 to 1: messages / 50, at most 1
        depth: part for its technical depth, 0 to 1: distinct technical keywords / 20, at most 1
        reference: part for references from later sessions, 0 to 1: references / 5, at most 1; or its PageRank, scaled
        quality: part for its outcome: 1 if its problem was solved, else 0.5
        recency: part for its age, 0 to 1: exp(-days / 90), with the days since last_active
        references: weighted count of references to the session: 1 for an explicit one, ½ for an implicit one
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
    """The result of a `RankList`.

    Attributes:
        collection: name of the collection whose sessions are listed
        waiting: number of sessions that changed since the last update of the ranks
        results: the sessions, highest rank first
    """

    kind: Literal["ranks"] = "ranks"
    collection: str
    waiting: int
    results: tuple[RankedSession, ...]
