"""Joining rankings whose scores cannot be compared: by rank alone."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankFused:
    """A key after fusion, with its rank (from 1) in each ranking that has it."""

    key: str
    score: float
    ranks: Mapping[str, int]


def reciprocal_rank_fusion(
    rankings: Mapping[str, Sequence[str]], *, weights: Mapping[str, float], k: int = 60
) -> list[RankFused]:
    """Join rankings of keys: ``score = Σ weight / (k + rank)``, ranks from 1, best first, ties on the key.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods" (2009), with a weight for each ranking. First in one list and second in another, weights 1 and k 60:
    1/61 + 1/62 = 0.0325. Of a key that a ranking has twice the better rank counts.
    """
    ranks: dict[str, dict[str, int]] = {}
    for name, ranking in rankings.items():
        for rank, key in enumerate(ranking, start=1):
            ranks.setdefault(key, {}).setdefault(name, rank)
    fused = [
        RankFused(key, math.fsum(weights[name] / (k + rank) for name, rank in found.items()), found)
        for key, found in ranks.items()
    ]
    return sorted(fused, key=lambda hit: (-hit.score, hit.key))
