"""What a judge of relevance may say."""

from collections.abc import Collection, Iterable


def accepted(judgements: Iterable[tuple[str, float]], *, known: Collection[str]) -> dict[str, float]:
    """Keep what a judge may say: of each known id the first relevance from 0 to 1.

    What is out of range, or not a number, is no judgement; it is not clamped, or an answer of 100 would
    be the best there is.
    """
    kept: dict[str, float] = {}
    for hit_id, relevance in judgements:
        if hit_id in known and 0 <= relevance <= 1:
            kept.setdefault(hit_id, relevance)
    return kept
