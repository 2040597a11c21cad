"""List the sessions with the highest ranks."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final

from querymill_shared.board import Claim, Picture
from querymill_shared.contracts.conversations.ranks import RankedSession, RankList, RankListResult
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.notes import Notes
from querymill_workers.jobs.one_step import Ending
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ranks.recompute import refuse_unknown
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency


class RankListNotes(Notes):
    """The list, and how many sessions wait for an update of their ranks."""

    results: tuple[RankedSession, ...]
    waiting: int


def step(claim: Claim, request: RankList, ports: ConversationPorts) -> Sequence[Bell]:
    """List the sessions with the highest ranks as of a time, with the parts of each rank.

    Raises:
        Refused: The collection never held a session.
    """
    refuse_unknown(request.collection, ports.conversations)
    now = request.now or datetime.now(UTC)
    # Counted first: an update that ends in between would leave an old list that says that no session waits.
    waiting = ports.ranks.waiting(request.collection)
    rows = []
    for row in ports.ranks.top(request.collection, now=now, limit=request.limit):
        days = age_days(row.last_active, now)
        ranked = RankedSession(
            session_id=row.session_id,
            name=row.name,
            last_active=row.last_active,
            rank=rank(row.parts, days),
            recency=recency(days),
            references=row.references,
            **asdict(row.parts),
        )
        rows.append(ranked)
    notes = RankListNotes(results=tuple(rows), waiting=waiting)
    one_step.hand_in(claim, request, notes, ENDING, ports)
    return []


def to_result(request: RankList, picture: Picture, notes: RankListNotes) -> RankListResult:
    """Build the result from the list."""
    return RankListResult(
        job_id=picture.record.job_id, total=len(notes.results), complete=True, collection=request.collection,
        waiting=notes.waiting, results=notes.results,
    )  # fmt: skip


#: How the job ends.
ENDING: Final = Ending(RankListNotes, to_result)
