"""BM25: how well the words of a unit answer the words of a query.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), as Lucene computes it: the
idf never negative, and without the constant factor k1 + 1, which changes no order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

K1: Final = 1.2
B: Final = 0.75


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is counted over all units that are searched: how many they are, and their words together."""

    units: int
    length: int

    @property
    def average(self) -> float:
        """Words per unit; 0 where there is none."""
        return self.length / self.units if self.units else 0.0


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word of the query: how often the query has it, and how many units do."""

    term: str
    times: int
    df: int


@dataclass(frozen=True, slots=True)
class TermScore:
    """What one term adds: how often the query has it (``times``) and the unit (``tf``), and how many units do."""

    term: str
    times: int
    tf: int
    df: int
    idf: float
    score: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The score of one unit of ``length`` words, with all it came from."""

    score: float
    length: int
    statistics: Statistics
    terms: tuple[TermScore, ...]


def idf(units: int, df: int) -> float:
    """Weigh a term that ``df`` of the units have: ``ln(1 + (N − df + 0.5) / (df + 0.5))``.

    Above 0 for every term, so one that every unit has cannot invert the order: of 10 units, a term of 1 weighs
    1.992, a term of 10 weighs 0.047.
    """
    return math.log(1 + (units - df + 0.5) / (df + 0.5))


def saturation(tf: int, length: int, average: float, *, k1: float = K1, b: float = B) -> float:
    """Turn a term's count in a unit into a share below 1: ``tf / (tf + k1 × (1 − b + b × length / average))``.

    Once in a unit of average length gives 1 / 2.2 = 0.455, twice 2 / 3.2 = 0.625.
    """
    return tf / (tf + k1 * (1 - b + b * length / average))


def score(
    counts: Mapping[str, int],
    length: int,
    *,
    terms: Sequence[QueryTerm],
    statistics: Statistics,
    k1: float = K1,
    b: float = B,
) -> Scored:
    """Score one unit: the sum over the query's terms of ``times × idf × saturation``.

    Worked example: 10 units of 4 words on average; the query asks for *ships* (in 1 unit) and *soup* (in 3). A
    unit of 4 words with *ships* once scores 1.992 × 0.455 = 0.906; with *soup* twice as well, 0.906 + 1.145 ×
    0.625 = 1.621. *Decided*: a word that the query repeats counts as often as it does, as in Lucene; that
    measured better on the evaluation sets than counting it once.

    Args:
        counts: How often the unit has each term; terms it lacks may be left out.
        length: All words of the unit, repetitions included.
        terms: The distinct terms of the query.
        statistics: Of all units, whatever is filtered.
        k1: How slowly repetition in a unit saturates; 0 or more.
        b: How much length counts against a unit, from 0 to 1.
    """
    found = []
    for term in terms:
        tf = counts.get(term.term, 0)
        if tf > 0:
            rarity = idf(statistics.units, term.df)
            share = saturation(tf, length, statistics.average, k1=k1, b=b)
            found.append(TermScore(term.term, term.times, tf, term.df, rarity, term.times * rarity * share))
    # The exact sum, whatever the order of the terms: equal scores must be equal for ties to break on the id.
    return Scored(math.fsum(term.score for term in found), length, statistics, tuple(found))


def explain(scored: Scored, *, k1: float = K1, b: float = B) -> dict[str, object]:
    """Say how a score came about, so that a person can recompute it by hand.

    Args:
        scored: What ``score`` returned.
        k1: The same as given to ``score``.
        b: The same as given to ``score``.
    """
    return {
        "formula": "Σ times × idf × tf / (tf + k1 × (1 − b + b × length / average)),"
        " idf = ln(1 + (units − df + 0.5) / (df + 0.5))",
        "units": scored.statistics.units,
        "average": scored.statistics.average,
        "length": scored.length,
        "k1": k1,
        "b": b,
        "terms": [asdict(term) for term in scored.terms],
        "score": scored.score,
    }
