"""BM25: how well the words of an entry match the words of a query.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), as Lucene computes it: the
idf is never negative, and the constant factor k1 + 1, which changes no order, is left out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from querymill_shared.values import value

K1: Final = 1.2
B: Final = 0.75


@value
class Tuning:
    """The constants of the formula: ``k1`` and ``b``, as `score` reads them."""

    k1: float = K1
    b: float = B


#: The constants for texts as they are.
PLAIN: Final = Tuning()


@value
class IndexStatistics:
    """The statistics of an index: its number of entries (``units``), and their words in total (``length``)."""

    units: int
    length: int

    @property
    def average(self) -> float:
        """Words per entry, or 0 if there is none."""
        return self.length / self.units if self.units else 0.0


@value
class QueryTerm:
    """A word of the query: how often the query has it, and how many entries have it (``df``).

    A word of a text that counts less than the query has a part of 1 as its ``times``.
    """

    term: str
    times: float
    df: int


@value
class TermScore:
    """What one term adds: ``times`` in the query, ``tf`` in the entry, in ``df`` entries."""

    term: str
    times: float
    tf: int
    df: int
    idf: float
    score: float


@value
class Scored:
    """The score of one entry of ``length`` words, with everything it was computed from; ``k1`` and ``b`` as `score`."""

    score: float
    length: int
    statistics: IndexStatistics
    terms: tuple[TermScore, ...]
    k1: float = K1
    b: float = B


def idf(units: int, df: int) -> float:
    """Return the weight of a term that ``df`` of ``units`` entries have: ``ln(1 + (units − df + 0.5) / (df + 0.5))``.

    It is always above 0, so a term that every entry has cannot invert the order. Among 10 entries, a term that 1 has
    weighs 1.992, and a term that all have weighs 0.047.
    """
    return math.log(1 + (units - df + 0.5) / (df + 0.5))


def saturation(tf: float, length: int, average: float, *, k1: float = K1, b: float = B) -> float:
    """Return a share below 1 for a term's count: ``tf / (tf + k1 × (1 − b + b × length / average))``.

    In an entry of average length, 1 occurrence gives 1 / 2.2 = 0.455, and 2 give 2 / 3.2 = 0.625.
    """
    return tf / (tf + k1 * (1 - b + b * length / average))


def score(
    counts: Mapping[str, int],
    length: int,
    *,
    terms: Sequence[QueryTerm],
    statistics: IndexStatistics,
    k1: float = K1,
    b: float = B,
) -> Scored:
    """Score one entry: the sum of ``times × idf × saturation`` over the terms of the query.

    Worked example: there are 10 entries of 4 words on average. The query asks for *ships* (in 1 entry) and *soup*
    (in 3). An entry of 4 words with *ships* once scores 1.992 × 0.455 = 0.906. With *soup* twice as well it scores
    0.906 + 1.145 × 0.625 = 1.621. *Decided*: a word that the query repeats counts each time, as in Lucene, because
    that measured better on the evaluation sets than counting it once.

    Args:
        counts: How often the entry has each term. Terms it lacks may be left out.
        length: The number of words of the entry, repetitions included.
        terms: The distinct terms of the query.
        statistics: The statistics of the whole index, whatever is filtered.
        k1: How slowly repetition in an entry saturates; 0 or more.
        b: How much length counts against an entry, from 0 to 1.
    """
    found = []
    for term in terms:
        tf = counts.get(term.term, 0)
        if tf > 0:
            rarity = idf(statistics.units, term.df)
            share = saturation(tf, length, statistics.average, k1=k1, b=b)
            found.append(TermScore(term.term, term.times, tf, term.df, rarity, term.times * rarity * share))
    # The sum is exact whatever the order of the terms, so equal scores tie, and ties are broken by id.
    return Scored(math.fsum(term.score for term in found), length, statistics, tuple(found), k1, b)


def explain(scored: Scored) -> dict[str, object]:
    """Return everything that a person needs to recompute a score by hand."""
    return {
        "formula": "Σ times × idf × tf / (tf + k1 × (1 − b + b × length / average)),"
        " idf = ln(1 + (units − df + 0.5) / (df + 0.5))",
        "units": scored.statistics.units,
        "average": scored.statistics.average,
        "length": scored.length,
        "k1": scored.k1,
        "b": scored.b,
        "terms": [asdict(term) for term in scored.terms],
        "score": scored.score,
    }
