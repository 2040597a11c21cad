"""Check the judgements of a relevance judge."""

from collections.abc import Collection, Iterable


def accepted(judgements: Iterable[tuple[str, float]], *, known: Collection[str]) -> dict[str, float]:
    """Return the first valid relevance of each known id. A relevance is valid from 0 to 1.

    Invalid numbers are dropped and not clamped: otherwise a relevance of 100 would count as the best.
    """
    kept: dict[str, float] = {}
    for hit_id, relevance in judgements:
        if hit_id in known and 0 <= relevance <= 1:
            kept.setdefault(hit_id, relevance)
    return kept
