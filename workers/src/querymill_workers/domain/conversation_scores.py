"""The final score of a conversation: relevance first, multiplied by what it is worth to who asks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, assert_never

Scoring = Literal["product", "bounded"]
Context = Literal["current", "recent", "other"]

#: Time constant of the decay in days; its half-life is 62.4 days.
DECAY_DAYS: Final = 90.0
BOOSTS: Final[Mapping[Context, float]] = {"current": 2.0, "recent": 1.5, "other": 1.0}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the parts of `bounded` may move a score; see tests/quality/conversations.md for the measured choice.

    ``rank`` and ``decay`` are at most 2, so that no factor is negative: with 0.2 a factor is 0.9 to 1.1.
    """

    rank: float
    decay: float
    cap: float


@dataclass(frozen=True, slots=True)
class Worth:
    """What a score is made of: BM25 as a share of the best candidate's, the rest as at the time of the question."""

    relevance: float
    rank: float
    decay: float
    context: Context


@dataclass(frozen=True, slots=True)
class FinalScore:
    """A score and its factors, in the order in which they multiply to it."""

    score: float
    factors: Mapping[str, float]


def age_in_days(last: datetime, now: datetime) -> float:
    """Say how long ago something was; what is in the future is 0 days old."""
    return max((now - last) / timedelta(days=1), 0.0)


def decay(days: float) -> float:
    """Fade with time: ``exp(-days / 90)``; 1 today, 0.5 after 62.4 days, 0.0173 after a year."""
    return math.exp(-days / DECAY_DAYS)


def context_of(session_id: str, *, current: str | None, recent: frozenset[str]) -> Context:
    """Say what a session is to who asks."""
    if current is not None and session_id == current:
        return "current"
    return "recent" if session_id in recent else "other"


def final_score(worth: Worth, *, scoring: Scoring, bounds: Bounds) -> FinalScore:
    """Multiply the factors of a score.

    ``product``: relevance × rank × decay × context. Worked example: a perfect hit one year old, of the highest rank:
    1 × 0.9017 × 0.0173 × 1 = 0.0156; a hit of relevance 0.05 and the lowest rank, today, in the current session:
    0.05 × 0.2 × 1 × 2 = 0.0200, which is more. That is why there is

    ``bounded``: relevance × (1 + a (rank − ½)) × (1 + b (decay − ½)) × min(context, cap), which cannot turn
    relevance upside down.
    """
    context = BOOSTS[worth.context]
    factors: dict[str, float]
    match scoring:
        case "product":
            factors = {"bm25": worth.relevance, "rank": worth.rank, "decay": worth.decay, "context": context}
        case "bounded":
            factors = {
                "bm25": worth.relevance,
                "rank": 1 + bounds.rank * (worth.rank - 0.5),
                "decay": 1 + bounds.decay * (worth.decay - 0.5),
                "context": min(context, bounds.cap),
            }
        case _:
            assert_never(scoring)
    return FinalScore(math.prod(factors.values()), factors)
