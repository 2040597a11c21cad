"""One ranking of what the branches of a search found: by rank, each branch by what it counts.

    score = Σ weight / (K + rank) over the branches that found a document

The original counts 1. What was written beside it counts less: the texts of one step share its weight.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.branches import ORIGINAL
from querymill_workers.text.rank_fusion import JoinedHit, reciprocal_rank_fusion

#: The constant of the fusion, as in the rankings of sessions and of reports.
K: Final = 10
#: What the texts of one step count together, beside 1 of the question itself: much where both agree, and not enough for
#: one step to put first what the question does not find. Measured with one step: `tests/quality/expansion.md`.
WRITTEN: Final = 0.6
#: The same, for explanations.
FORMULA: Final = "Σ weight / (k + rank) over the branches that found it"
#: Places that scores are rounded to.
PLACES: Final = 6


def weights_of(branches: Sequence[str]) -> dict[str, float]:
    """Return what each branch counts: the texts of one step share what it counts.

    >>> weights_of(["original", "hyde/1", "variant/1", "variant/2"])
    {'original': 1.0, 'hyde/1': 0.6, 'variant/1': 0.3, 'variant/2': 0.3}
    """
    texts = Counter(branch.partition("/")[0] for branch in branches)
    return {
        branch: 1.0 if branch == ORIGINAL else round(WRITTEN / texts[branch.partition("/")[0]], PLACES)
        for branch in branches
    }


def join_branches(rankings: Mapping[str, Sequence[str]]) -> list[JoinedHit[str]]:
    """Join the rankings of branches, best first; ties by key.

    Worked example: a and b by the original, b and c by ``hyde/1``: b scores 1/12 + 0.6/11 = 0.1379, a 1/11 = 0.0909, c
    0.6/12 = 0.05.
    """
    return reciprocal_rank_fusion(rankings, weights=weights_of(list(rankings)), k=K)
