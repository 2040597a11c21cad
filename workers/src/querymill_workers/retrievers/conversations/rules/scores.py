"""The final score of a conversation: its relevance, times factors for its rank, its age and its place in the chat."""

import math
from collections.abc import Mapping
from typing import Final, Literal, assert_never

from querymill_shared.values import value

Scoring = Literal["product", "bounded", "bm25"]
Context = Literal["current", "recent", "other"]

BOOSTS: Final[Mapping[Context, float]] = {"current": 2.0, "recent": 1.5, "other": 1.0}
FORMULAS: Final[Mapping[Scoring, str]] = {
    "product": "bm25 / max bm25 × rank × exp(−days / 90) × context",
    "bounded": "bm25 / max bm25 × (1 + a (rank − ½)) × (1 + b (exp(−days / 90) − ½)) × min(context, cap)",
    "bm25": "bm25 / max bm25",
}


@value
class ScoreBounds:
    """How far `bounded` lets each factor move a score: a for the rank, b for the decay, and the cap of the context.

    a and b are at most 2, so that no factor is negative. With 0.2, a factor is between 0.9 and 1.1.
    """

    rank: float
    decay: float
    cap: float


@value
class Worth:
    """What a score is made of: BM25 as a share of the best candidate's, then rank, decay and context at query time."""

    relevance: float
    rank: float
    decay: float
    context: Context


@value
class FinalScore:
    """A score, and its factors in the order of their multiplication."""

    score: float
    factors: Mapping[str, float]


def context_of(session_id: str, *, current: str | None, recent: frozenset[str]) -> Context:
    """Return whether a session is the caller's current one, a recent one, or another."""
    if current is not None and session_id == current:
        return "current"
    return "recent" if session_id in recent else "other"


def final_score(worth: Worth, *, scoring: Scoring, bounds: ScoreBounds) -> FinalScore:
    """Multiply the factors of a score.

    ``product`` is relevance × rank × decay × context. Worked example: a perfect hit that is one year old and has every
    part of its rank full scores 1 × 0.9017 × 0.0173 × 1 = 0.0156. A hit of today with relevance 0.05 and the lowest
    rank, in the current session, scores 0.05 × 0.2 × 1 × 2 = 0.0200, which is more. To prevent this, ``bounded`` is
    relevance × (1 + a (rank − ½)) × (1 + b (decay − ½)) × min(context, cap). ``bm25`` is relevance alone.
    """
    context = BOOSTS[worth.context]
    factors = {"bm25": worth.relevance}
    match scoring:
        case "product":
            factors |= {"rank": worth.rank, "decay": worth.decay, "context": context}
        case "bounded":
            factors |= {
                "rank": 1 + bounds.rank * (worth.rank - 0.5),
                "decay": 1 + bounds.decay * (worth.decay - 0.5),
                "context": min(context, bounds.cap),
            }
        case "bm25":
            pass
        case _:
            assert_never(scoring)
    return FinalScore(math.prod(factors.values()), factors)
