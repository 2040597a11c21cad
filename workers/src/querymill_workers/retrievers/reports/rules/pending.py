"""Passages that have no vector yet: which of them keep a place in a result, by their words."""

from collections.abc import Sequence
from typing import Any, Final

from querymill_shared.values import value
from querymill_workers.retrievers.reports.rules.fusion import FusedPassage, HitKey
from querymill_workers.text.bm25 import Scored

#: A fifth of the places, rounded up, is kept for them.
PLACES_PER_KEPT: Final = 5


@value
class PendingHit:
    """A page or chunk found by the words of a passage that has no vector.

    ``score`` is the passage's BM25 score, and ``is_rare`` tells whether it has a rare word of the question.
    """

    key: HitKey
    passage: int
    score: float
    is_rare: bool


def has_rare_word(scored: Scored | None) -> bool:
    """Return whether a passage has a word of the question that at most half of all passages have."""
    return scored is not None and any(2 * term.df <= scored.statistics.units for term in scored.terms)


def kept_places(top_n: int) -> int:
    """Return how many of ``top_n`` places are kept: 1 of 1 to 5, and 2 of 6 to 10."""
    return -(-top_n // PLACES_PER_KEPT)


def with_pending(
    ranking: Sequence[FusedPassage], pending: Sequence[PendingHit], *, query: str, top_n: int
) -> list[FusedPassage]:
    """Return the best ``top_n`` hits by vectors, and below them hits without a vector, the best by words first.

    The latter take the places that vectors leave empty, and have `kept_places` if they hold rare words. For example,
    of 5 places, one is kept: 9 hits by vectors and 3 with rare words give 4 and 1, and 3 hits by vectors give 3 and 2.
    Nothing changes if there is no pending hit, or all of them are in the ranking.

    Args:
        ranking: All hits by vectors, best first.
        pending: Hits without a vector. Of several with one key, the best counts.
        query: The question whose words found them.
        top_n: Number of hits to return.
    """
    by_score = sorted(pending, key=lambda hit: (-hit.score, hit.key.document, hit.passage))
    known = {hit.key for hit in ranking}
    new = {hit.key: hit for hit in reversed(by_score) if hit.key not in known}
    rare = [hit for hit in by_score if hit.is_rare and new.get(hit.key) is hit][: kept_places(top_n)]
    others = [hit for hit in by_score if new.get(hit.key) is hit and hit not in rare]
    free = max(top_n - len(ranking) - len(rare), 0)
    chosen = sorted([*rare, *others[:free]], key=by_score.index)[:top_n]
    return [*ranking[: top_n - len(chosen)], *(_as_hit(hit, query) for hit in chosen)]


def explain_pending(hit: PendingHit, *, query: str) -> dict[str, Any]:
    """Explain a hit by words alone. It has the names of every explanation: its score by vectors is 0."""
    return {
        "formula": "found by its words (BM25), below all hits by vectors; its own vector is not there yet",
        "bm25": hit.score,
        "max_inner_product": 0.0,
        "inner_factor": 1.0,
        "agreement": 0.0,
        "count": 1,
        "agreement_factor": 1.0,
        "queries": [query],
        "passage": hit.passage,
        "score": 0.0,
        "rounded_to": 4,
    }


def _as_hit(hit: PendingHit, query: str) -> FusedPassage:
    return FusedPassage(hit.key, 0.0, 0.0, 1, (query,), hit.passage)
