"""Fit the profile of relevance to judged files: the weight of each kind of evidence, and the bands."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_evaluation.measures import percentile

#: The evidence that has a weight. BM25 over the fields holds what path, names and body say each on their own.
WORDS: Final = ("fields", "definitions")
VECTORS: Final = (*WORDS, "vector")

#: Keeps the weights finite if one kind of evidence alone separates the relevant files from the others.
_RIDGE: Final = 0.1
#: The slope at which the fit stops: weights are then exact far beyond the three places that are written.
_TOLERANCE: Final = 1e-8
#: The smallest distance between two points of the bands, in weighted sums.
_MIN_STEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A candidate of a query: its evidence, and whether the set judges it relevant. Evidence of None counts as 0."""

    evidence: Mapping[str, float | None]
    relevant: bool


def profile(judged: Sequence[JudgedFile], names: Sequence[str]) -> dict[str, Any]:
    """Fit the weights by logistic regression, and the bands to the weighted sums.

    Raises:
        ValueError: None of the files is relevant, or all are.
    """
    rows = [[float(file.evidence[name] or 0.0) for name in names] for file in judged]
    labels = [file.relevant for file in judged]
    if all(labels) or not any(labels):
        raise ValueError("the judgements of the set do not tell candidates apart: all are relevant, or none is")
    weights = dict(zip(names, fit_weights(rows, labels), strict=True))
    weights = {name: round(weight, 3) for name, weight in weights.items()}
    sums = [sum(weights[name] * value for name, value in zip(names, row, strict=True)) for row in rows]
    relevant = [total for total, label in zip(sums, labels, strict=True) if label]
    others = [total for total, label in zip(sums, labels, strict=True) if not label]
    return {
        "weights": weights,
        "bands": [list(point) for point in bands(relevant, others)],
        "relevant": _summary(relevant),
        "others": _summary(others),
    }


def bands(relevant: Sequence[float], others: Sequence[float]) -> list[tuple[float, float]]:
    """Fit a rising map from weighted sum to relevance; return its points.

    Three quarters of the relevant files get 0.8 (high) or more, and 19 of 20 get 0.5 (medium) or more. A quarter of
    the other candidates get less than 0.2 (irrelevant): candidates were found by words of the query, so most of them
    are on its subject. A point that would not rise is moved to the right of the previous point.
    """
    wanted = [
        (min(*relevant, *others), 0.0),
        (percentile(others, 25), 0.2),
        (percentile(relevant, 5), 0.5),
        (percentile(relevant, 25), 0.8),
        (max(*relevant, *others), 1.0),
    ]
    points: list[tuple[float, float]] = []
    for total, worth in wanted:
        least = points[-1][0] + _MIN_STEP if points else -math.inf
        points.append((round(max(total, least), 3), worth))
    return points


def fit_weights(rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> list[float]:
    """Fit a logistic regression with a small ridge; return one weight per column, without the constant."""
    # Imported when fitting: scipy takes a second to import, and every command line imports this module.
    import numpy as np
    import numpy.typing as npt
    from scipy.optimize import minimize
    from scipy.special import expit

    padded = np.column_stack([np.ones(len(rows)), np.asarray(rows, dtype=np.float64)])
    relevant = np.asarray(labels, dtype=np.float64)
    ridge = np.full(padded.shape[1], _RIDGE)
    ridge[0] = 0.0

    def loss(weights: npt.NDArray[np.float64]) -> float:
        sums = padded @ weights
        return float(np.logaddexp(0.0, sums).sum() - relevant @ sums + 0.5 * ridge @ weights**2)

    def gradient(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        slope: npt.NDArray[np.float64] = padded.T @ (expit(padded @ weights) - relevant) + ridge * weights
        return slope

    def hessian(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        chances = expit(padded @ weights)
        curvature: npt.NDArray[np.float64] = (padded.T * (chances * (1 - chances))) @ padded + np.diag(ridge)
        return curvature

    found = minimize(
        loss, np.zeros_like(ridge), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": _TOLERANCE}
    )
    return [float(weight) for weight in found.x[1:]]


def _summary(sums: Sequence[float]) -> Mapping[str, float]:
    named = {f"p{percent}": round(percentile(sums, percent), 3) for percent in (5, 25, 50, 75, 95)}
    return {"files": len(sums), **named}
