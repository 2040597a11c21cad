"""Weighted reciprocal rank fusion: channels are joined by rank, never by their raw scores."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

#: The constant of the formula; 60 is that of the paper.
K: Final = 60


@dataclass(frozen=True, slots=True)
class JoinedHit(Generic[Key]):
    """A key after the join, with its rank (from 1) in every channel that found it."""

    key: Key
    score: float
    ranks: Mapping[str, int]


def ranks_by_score(scores: Sequence[tuple[Key, float]]) -> dict[Key, int]:
    """Rank hits from 1, best first; equal scores share the rank of the first of them.

    A score that counts hits ties often, and hits that tie must not be told apart by their place in the list.
    """
    ordered = sorted((score for _, score in scores), reverse=True)
    first = {score: rank for rank, score in reversed(list(enumerate(ordered, start=1)))}
    return {key: first[score] for key, score in scores}


def join(ranks: Mapping[str, Mapping[Key, int]], *, weights: Mapping[str, float], k: int = K) -> list[JoinedHit[Key]]:
    """Join ranked channels: ``score = Σ weight / (k + rank)`` over the channels that found the key.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009, with a weight per channel; ranks begin
    at 1. The keys come in the order of their first channel; sorting, and what breaks ties, is the caller's.
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
    """Join rankings of keys by `join`, best first, ties on the key.

    First in one list and second in another, weights 1 and k 60: 1/61 + 1/62 = 0.0325. Of a key that a ranking
    has twice the better rank counts.
    """
    ranks: dict[str, dict[str, int]] = {name: {} for name in rankings}
    for name, ranking in rankings.items():
        for rank, key in enumerate(ranking, start=1):
            ranks[name].setdefault(key, rank)
    return sorted(join(ranks, weights=weights, k=k), key=lambda hit: (-hit.score, hit.key))
