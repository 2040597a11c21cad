"""Weighted reciprocal rank fusion: fuse channels by rank, never by their raw scores."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Final, Generic, TypeVar

from querymill_shared.values import value

Key = TypeVar("Key", bound=Hashable)

#: The constant of the formula, as in the paper.
K: Final = 60


@value
class JoinedHit(Generic[Key]):
    """A fused key, with its rank (from 1) in each channel that found it."""

    key: Key
    score: float
    ranks: Mapping[str, int]


def ranks_by_score(scores: Sequence[tuple[Key, float]]) -> dict[Key, int]:
    """Rank keys from 1, best first. Keys with equal scores share the first of their ranks.

    Scores that count hits often tie, and the order of the list must not break such ties.
    """
    ordered = sorted((score for _, score in scores), reverse=True)
    first = {score: rank for rank, score in reversed(list(enumerate(ordered, start=1)))}
    return {key: first[score] for key, score in scores}


def join(ranks: Mapping[str, Mapping[Key, int]], *, weights: Mapping[str, float], k: int = K) -> list[JoinedHit[Key]]:
    """Fuse ranked channels: ``score = Σ weight / (k + rank)`` over the channels that found the key.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009, with a weight per channel and ranks
    from 1. The keys come in the order of their first channel. The caller sorts them and breaks ties.
    """
    keys = dict.fromkeys(key for channel in ranks.values() for key in channel)
    joined = []
    for key in keys:
        found = {channel: of_channel[key] for channel, of_channel in ranks.items() if key in of_channel}
        score = math.fsum(weights[channel] / (k + rank) for channel, rank in found.items())
        joined.append(JoinedHit(key, score, found))
    return joined


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], *, weights: Mapping[str, float], k: int = K
) -> list[JoinedHit[str]]:
    """Fuse rankings of keys by `join` and sort them, best first; ties are broken by key.

    With weights 1 and k 60, a key that is first in one ranking and second in another scores 1/61 + 1/62 = 0.0325.
    If a ranking has a key twice, the better rank counts.
    """
    ranks: dict[str, dict[str, int]] = {name: {} for name in rankings}
    for name, ranking in rankings.items():
        for rank, key in enumerate(ranking, start=1):
            ranks[name].setdefault(key, rank)
    return sorted(join(ranks, weights=weights, k=k), key=lambda hit: (-hit.score, hit.key))
