"""One ranking of the hits of several branches: by their ranks, and by what each branch is worth for the question.

Scores of different kinds cannot be compared: one is a share of BM25, another a cosine, another a product of four
factors. Two things can be: the place of a hit in its branch, and how much of the question the first hits of a branch
say. A word that the hits of every branch have says nothing about where the answer is, and one that the hits of one
branch alone have says much:

    idf(w)   = ln(1 + (N − n + ½) / (n + ½))            of the N first hits of all branches, n have the word
    share(h) = Σ idf of the question's words in h / Σ idf of the question's words
    weight   = factor of the kind × max(the largest share of the branch's first hits, FLOOR)
    score    = weight / (K + rank)

A branch weighs little if its hits say little of the question, and never nothing: where no other branch has found
anything, its hits are the first.
"""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final

from querymill_shared.values import value
from querymill_workers.text.stemming import stem
from querymill_workers.text.words import words

#: The constant of reciprocal rank fusion: how much the second hit of a branch is worth beside the first.
K: Final = 5
#: The first hits of a branch, which say what it is worth, and the characters of them that are read.
FIRST: Final = 5
READ_CHARS: Final = 1_000
#: The share of a branch whose hits have no word of the question.
FLOOR: Final = 0.02
#: What the share of a kind is worth, 1 where nothing is said. A hit of `modules` says less than it is: its code is not
#: read here. Measured on half of the questions of five sets, and reported on the others: see `tests/quality/search.md`.
FACTORS: Final[Mapping[str, float]] = {"modules": 2.0}
#: Places that scores and their parts are rounded to.
PLACES: Final = 6


@value
class BranchWorth:
    """What a branch is worth for a question: its weight, and what it is made of."""

    weight: float
    share: float
    factor: float


@value
class RankedHit:
    """A hit by its place in a branch, from 1, with its score among all."""

    branch: str
    rank: int
    score: float
    worth: BranchWorth

    @property
    def explanation(self) -> dict[str, Any]:
        """Every number that the score is made of."""
        worth = self.worth
        return {
            "weight": worth.weight,
            "share": worth.share,
            "factor": worth.factor,
            "k": K,
            "rank": self.rank,
            "score": self.score,
            "formula": "weight / (k + rank), weight = factor × share of the question that the branch's first hits say",
        }


def rank_jointly(question: str, branches: Mapping[str, Sequence[str]]) -> list[RankedHit]:
    """Return the hits of all branches, best first; of equal ones, that of the first branch.

    Args:
        question: What was asked.
        branches: The texts of the hits of each branch, best first. A branch is named ``kind/collection``.
    """
    worths = worths_of(question, branches)
    found = [
        RankedHit(branch, rank, round(worths[branch].weight / (K + rank), PLACES), worths[branch])
        for branch, hits in branches.items()
        for rank in range(1, len(hits) + 1)
    ]
    return sorted(found, key=lambda hit: -hit.score)


def worths_of(question: str, branches: Mapping[str, Sequence[str]]) -> dict[str, BranchWorth]:
    """Return what each branch that found something is worth.

    >>> worths = worths_of("red kettle price", {"files/a": ["a red pan"], "reports/b": ["the red kettle"]})
    >>> {branch: round(worth.share, 3) for branch, worth in worths.items()}
    {'files/a': 0.068, 'reports/b': 0.328}
    """
    asked = words_of(question)
    first = {name: [words_of(text) for text in islice(hits, FIRST)] for name, hits in branches.items() if hits}
    idf = rarities(asked, [hit for hits in first.values() for hit in hits])
    whole = sum(idf.values())
    shares = {
        branch: max(sum(idf[word] for word in asked & hit) for hit in hits) / whole if whole else 0.0
        for branch, hits in first.items()
    }
    return {branch: worth_of(branch.partition("/")[0], share) for branch, share in shares.items()}


def worth_of(kind: str, share: float) -> BranchWorth:
    """Return what a branch is worth whose first hits say a share of the question."""
    rounded, factor = round(max(share, FLOOR), PLACES), FACTORS.get(kind, 1.0)
    return BranchWorth(round(factor * rounded, PLACES), rounded, factor)


def words_of(text: str) -> AbstractSet[str]:
    """Return the stems of the words of a text's beginning."""
    return frozenset(stem(word) for word in words(text[:READ_CHARS]))


def rarities(asked: AbstractSet[str], hits: Sequence[AbstractSet[str]]) -> dict[str, float]:
    """Return how rare each word of a question is among hits."""
    counts = {word: sum(word in hit for hit in hits) for word in sorted(asked)}
    return {word: math.log(1 + (len(hits) - n + 0.5) / (n + 0.5)) for word, n in counts.items()}


def grouped(ranking: Sequence[RankedHit], limit: int) -> list[RankedHit]:
    """Return the hits kind by kind, the kind of the best hit first, up to ``limit`` of each."""
    kinds: dict[str, list[RankedHit]] = {}
    for hit in ranking:
        kinds.setdefault(hit.branch.partition("/")[0], []).append(hit)
    return [hit for hits in kinds.values() for hit in hits[:limit]]
