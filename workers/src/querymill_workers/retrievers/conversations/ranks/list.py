"""Listing the sessions of the highest ranks."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from querymill_shared.board import Claim
from querymill_shared.contracts.conversations.ranks import RankedSession, RankList, RankListResult
from querymill_workers.dispatch.ports import Ports
from querymill_workers.jobs import one_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.one_step import Notes
from querymill_workers.retrievers.conversations.ranks.recompute import refuse_unknown
from querymill_workers.retrievers.conversations.rules.rank import age_days, rank, recency


def step(claim: Claim, request: RankList, ports: Ports) -> Sequence[Bell]:
    """List the sessions of the highest ranks as of a time, with what each rank is made of.

    Raises:
        Refused: There is no conversation in the collection.
    """
    refuse_unknown(request.collection, ports)
    now = request.now or datetime.now(UTC)
    rows = []
    for row in ports.ranks.top(request.collection, now=now, most=request.limit):
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
    notes = {
        "results": [one.model_dump(mode="json") for one in rows],
        "waiting": ports.ranks.waiting(request.collection),
    }
    return one_step.hand_in(claim, notes, to_result, ports)


def to_result(request: RankList, job_id: str, notes: Notes) -> RankListResult:
    """Show the list."""
    results = tuple(RankedSession.model_validate(one) for one in notes["results"])
    return RankListResult(
        job_id=job_id, total=len(results), complete=True, collection=request.collection, waiting=notes["waiting"],
        results=results,
    )  # fmt: skip
