"""Is one ranking better than another, and how sure is that? Paired bootstrap over the questions.

The questions are drawn again, with repetition, as often as there are questions; each draw gives a mean difference. The
interval holds the middle 95 % of these means (percentile bootstrap: Efron and Tibshirani, "An Introduction to the
Bootstrap", 1993; for rankings: Sakai, "Evaluating evaluation metrics based on the bootstrap", 2006).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

#: Draws. More would change the third digit of an interval.
DRAWS: Final = 10_000
CONFIDENCE: Final = 0.95
#: The draws are the same each time, and so is the interval.
_SEED: Final = 20_060_811
#: From this share of draws on one side, a difference is likely, though its interval holds 0.
LIKELY: Final = 0.9

Verdict = Literal["better", "worse", "probably better", "probably worse", "no difference shown"]


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of pairs with its 95 % interval; ``above`` is the share of draws greater than 0."""

    mean: float
    low: float
    high: float
    above: float
    pairs: int

    @property
    def verdict(self) -> Verdict:
        """Say what the interval shows. "Better" and "worse" mean that it excludes 0."""
        if self.low > 0:
            return "better"
        if self.high < 0:
            return "worse"
        if self.mean > 0 and self.above >= LIKELY:
            return "probably better"
        if self.mean < 0 and self.above <= 1 - LIKELY:
            return "probably worse"
        return "no difference shown"


def paired_difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Compare two runs over the same questions, whose values are in the same order.

    Raises:
        ValueError: There are no pairs, or one list is longer.
    """
    return pooled_difference([(before, after)])


def pooled_difference(sets: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Difference:
    """Compare two runs over several sets: the mean of the sets' mean differences, each set drawn from by itself.

    Raises:
        ValueError: There are no sets, a set has no pairs, or one list is longer.
    """
    # Imported here because they are slow to import, and every command line imports this module.
    import numpy as np
    from scipy.stats import bootstrap

    differences = [_differences(before, after) for before, after in sets]
    if not differences:
        raise ValueError("sets: there must be at least one")
    mean = round(float(np.mean([of_set.mean() for of_set in differences])), 9)
    pairs = sum(len(of_set) for of_set in differences)
    if all(np.ptp(of_set) == 0 for of_set in differences):
        return Difference(mean, mean, mean, float(mean > 0), pairs)  # every draw is the same

    def statistic(*drawn: Any, axis: int) -> Any:
        return sum(of_set.mean(axis=axis) for of_set in drawn) / len(drawn)

    found = bootstrap(
        tuple(differences), statistic, n_resamples=DRAWS, confidence_level=CONFIDENCE, method="percentile",
        vectorized=True, batch=500, rng=np.random.default_rng(_SEED),
    )  # fmt: skip
    interval, drawn = found.confidence_interval, found.bootstrap_distribution
    # A draw of exactly 0 speaks for neither side.
    above = float((drawn > 0).mean() + (drawn == 0).mean() / 2)
    return Difference(mean, float(interval.low), float(interval.high), above, pairs)


def interval_of_mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean, drawn in the same way."""
    found = paired_difference([0.0] * len(values), values)
    return found.low, found.high


def _differences(before: Sequence[float], after: Sequence[float]) -> Any:
    if len(before) != len(after):
        raise ValueError(f"pairs: {len(before)} values and {len(after)} do not form pairs")
    if not before:
        raise ValueError("pairs: there must be at least one question")
    import numpy as np

    # Figures that a computer rounds differently are the same figure.
    return np.round(np.asarray(after, float) - np.asarray(before, float), 9)
