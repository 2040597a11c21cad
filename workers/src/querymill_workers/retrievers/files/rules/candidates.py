"""Candidates of a round: the distinct files that its queries found, less those that were evaluated before."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from querymill_workers.text.rank_fusion import reciprocal_rank_fusion

#: A round looks at this many files at most.
MAX_CANDIDATES: Final = 50
#: Files in a shard: what one worker evaluates.
SHARD: Final = 10


@dataclass(frozen=True, slots=True)
class FileCandidate:
    """A file to evaluate; ``found_by`` are the queries that found it: where it came from, not what it is worth."""

    path: str
    score: float
    found_by: tuple[str, ...]


def candidates(
    rankings: Mapping[str, Sequence[str]],
    *,
    evaluated: Collection[str],
    limit: int,
    weights: Mapping[str, float] | None,
) -> list[FileCandidate]:
    """Join the rankings of a round's queries by reciprocal rank, best first, ties on the path.

    *Decided*: a file is evaluated once in a job, so what was evaluated before is no candidate, whatever finds it
    again; and a file that several queries find is one candidate.

    Args:
        rankings: For each query the paths that it found, best first.
        evaluated: Paths of every earlier round, whatever came of them.
        limit: How many to return.
        weights: Of each query; None weighs them alike.
    """
    fresh = {
        query: [path for path in dict.fromkeys(paths) if path not in evaluated] for query, paths in rankings.items()
    }
    joined = reciprocal_rank_fusion(fresh, weights=weights or dict.fromkeys(rankings, 1.0))
    return [FileCandidate(hit.key, hit.score, tuple(hit.ranks)) for hit in joined[:limit]]


def shards(found: Sequence[FileCandidate], *, size: int = SHARD) -> list[Sequence[FileCandidate]]:
    """Cut candidates into what one worker evaluates each; 25 of them into 10, 10 and 5."""
    return [found[start : start + size] for start in range(0, len(found), size)]
