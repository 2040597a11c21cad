"""The page of conversation ranks: the sessions that matter most, with the five parts of each rank."""

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from querymill.gateway.console.rendering import render
from querymill.gateway.http.documents import fetch, find
from querymill_shared.contracts.conversations.ranks import RankedSession, RankList, RankListResult

router = APIRouter()

#: What each part of a rank weighs.
WEIGHTS: Final = {"base": 0.2, "depth": 0.2, "reference": 0.3, "quality": 0.2, "recency": 0.1}
LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class RankShare:
    """A part of a rank: its value, its weight, and where its piece of the bar begins and ends, in percent of 1."""

    name: str
    value: float
    weight: float
    start: float

    @property
    def adds(self) -> float:
        """What it adds to the rank."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class RankView:
    """A session with the parts of its rank."""

    session: RankedSession
    shares: tuple[RankShare, ...]

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(share.adds for share in self.shares)

    @property
    def adds_up(self) -> bool:
        """Whether the parts sum to the rank, within what rounding hides."""
        return abs(self.total - self.session.rank) < 5e-4


def rank_row(session: RankedSession) -> RankView:
    """Return a session with the parts of its rank, one after the other."""
    shares, start = [], 0.0
    for name, weight in WEIGHTS.items():
        share = RankShare(name, getattr(session, name), weight, start * 100)
        shares.append(share)
        start += share.adds
    return RankView(session, tuple(shares))


@router.get("/console/collections/{collection}/conversations/ranks")
async def show_ranks(request: Request, collection: str) -> Response:
    """Show the sessions of a collection by rank."""
    await find(request, collection, "conversations")
    found = await fetch(request, RankList(collection=collection, limit=LIMIT), RankListResult)
    rows = [rank_row(session) for session in found.results]
    return render(request, "ranks.html", collection=collection, rows=rows, waiting=found.waiting, weights=WEIGHTS)
