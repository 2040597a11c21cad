"""The candidates of a round: the distinct files that its queries found, without those evaluated before."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from querymill_shared.values import value
from querymill_workers.text.rank_fusion import reciprocal_rank_fusion

#: Files that one search returns at most.
MAX_CANDIDATES: Final = 50
#: Files in a shard, which one step evaluates.
SHARD: Final = 10


@value
class FileCandidate:
    """A file to evaluate. ``found_by`` names the queries that found it; they say nothing about its relevance."""

    path: str
    score: float
    found_by: tuple[str, ...]


def candidates(
    rankings: Mapping[str, Sequence[str]],
    *,
    evaluated: Collection[str],
    weights: Mapping[str, float] | None,
) -> list[FileCandidate]:
    """Fuse the rankings of a round's queries by reciprocal rank, best first, ties by path.

    *Decided*: a file is evaluated once in a job, so a file that was evaluated before is not a candidate again. A file
    that several queries find is one candidate.

    Args:
        rankings: For each query the paths it found, best first.
        evaluated: Paths that earlier rounds evaluated, relevant or not.
        weights: The weight of each query; None weighs all queries alike.
    """
    fresh = {
        query: [path for path in dict.fromkeys(paths) if path not in evaluated] for query, paths in rankings.items()
    }
    joined = reciprocal_rank_fusion(fresh, weights=weights or dict.fromkeys(rankings, 1.0))
    return [FileCandidate(hit.key, hit.score, tuple(hit.ranks)) for hit in joined]


def shards(found: Sequence[FileCandidate], *, size: int = SHARD) -> list[Sequence[FileCandidate]]:
    """Cut candidates into shards of at most ``size``: 25 become 10, 10 and 5."""
    return [found[start : start + size] for start in range(0, len(found), size)]
