"""Places in a result that are kept for messages without a vector, so that nothing that was just ingested is missed."""

import math
from collections.abc import Sequence
from typing import Final, TypeVar

from querymill_workers.text import bm25
from querymill_workers.text.bm25 import Scored

T = TypeVar("T")

#: A word is rare if it weighs at least this share of a word that one text alone has.
RARE_SHARE: Final = 0.5
#: One place in so many is kept.
PLACES_PER_KEPT: Final = 5


def holds_rare_word(scored: Scored) -> bool:
    """Return whether a text has a rare word of the question.

    Among 25 texts, a word that one has weighs 2.83. A word that 5 have weighs 1.55 and is rare, and one that 6 have
    weighs 1.39 and is not.
    """
    least = RARE_SHARE * bm25.idf(scored.statistics.units, 1)
    return any(term.idf >= least for term in scored.terms)


def kept_places(limit: int) -> int:
    """Return how many places are kept: a fifth, at least one, but never the first."""
    return min(max(math.ceil(limit / PLACES_PER_KEPT), 1), limit - 1)


def cut_with_kept(ranked: Sequence[T], waiting: Sequence[T], *, limit: int) -> list[T]:
    """Cut a ranking to the limit, and keep the last places for some that wait.

    Of a ranking a b c d e f with the limit 5, f waiting, there remain a b c d f.
    """
    head = list(ranked[:limit])
    missing = [item for item in waiting if item not in head]
    free = max(kept_places(limit) - (len(waiting) - len(missing)), 0)
    kept = missing[:free]
    return head[: limit - len(kept)] + kept
