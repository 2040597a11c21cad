"""Fit the profile of relevance to judged files: the weight of each kind of evidence, and the bands."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, TypeVar

from querymill_evaluation.measures import measure_run
from querymill_shared.calibration import percentile

T = TypeVar("T")

#: The candidates of one query: a row of evidence for each, and whether each is relevant.
Candidates = tuple[list[list[float]], list[bool]]

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

    query: str
    evidence: Mapping[str, float | None]
    relevant: bool


def profile(judged: Sequence[JudgedFile], names: Sequence[str]) -> dict[str, Any]:
    """Fit the weights within each query, and the bands to the weighted sums of all.

    ``ndcg@10`` compares the order of the fitted weights with that of equal ones, on the same queries.

    Raises:
        ValueError: None of the files is relevant, or all are.
    """
    queries: dict[str, Candidates] = defaultdict(lambda: ([], []))
    for file in judged:
        rows, labels = queries[file.query]
        rows.append([float(file.evidence[name] or 0.0) for name in names])
        labels.append(file.relevant)
    fitted = fit_weights(list(queries.values()))
    weights = {name: round(weight, 3) for name, weight in zip(names, fitted, strict=True)}
    sums = {query: weighted(rows, list(weights.values())) for query, (rows, _) in queries.items()}
    relevant = [total for query, (_, labels) in queries.items() for total in compress(sums[query], labels)]
    others = [
        total
        for query, (_, labels) in queries.items()
        for total, label in zip(sums[query], labels, strict=True)
        if not label
    ]
    return {
        "weights": weights,
        "bands": [list(point) for point in bands(relevant, others)],
        "relevant": _summary(relevant),
        "others": _summary(others),
        "ndcg@10": {
            "fitted": measure_order(queries, list(weights.values())),
            "equal": measure_order(queries, [1.0] * len(names)),
        },
    }


def weighted(rows: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """Return the weighted sum of each row."""
    return [sum(weight * value for weight, value in zip(weights, row, strict=True)) for row in rows]


def measure_order(queries: Mapping[str, Candidates], weights: Sequence[float]) -> float:
    """Return the nDCG@10 of the candidates in the order of their weighted sums, averaged over the queries."""
    run = {query: _by_place(weighted(rows, weights)) for query, (rows, _) in queries.items()}
    qrels = {query: _by_place([int(label) for label in labels]) for query, (_, labels) in queries.items()}
    return measure_run(run, qrels)["ndcg@10"]


def _by_place(values: Sequence[T]) -> dict[str, T]:
    return {str(place): value for place, value in enumerate(values)}


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


def fit_weights(queries: Sequence[Candidates]) -> list[float]:
    """Fit the weights that put relevant candidates before the others of the same query; return one per column.

    The chance that a candidate is the relevant one is its share of ``exp(weighted sum)`` among the candidates of its
    query (McFadden's conditional logit, 1974), and the logarithms of the chances of the relevant ones are added up,
    less a small ridge. So what tells queries apart, such as how much evidence a long query has, says nothing.

    Raises:
        ValueError: No query has both relevant candidates and others.
    """
    # Imported when fitting: scipy takes a second to import, and every command line imports this module.
    import numpy as np
    import numpy.typing as npt
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    told_apart = [
        (np.asarray(rows, dtype=np.float64), np.asarray(labels, dtype=np.float64))
        for rows, labels in queries
        if any(labels) and not all(labels)
    ]
    if not told_apart:
        raise ValueError("the judgements of the set do not tell candidates of a query apart")
    columns = told_apart[0][0].shape[1]

    def loss(weights: npt.NDArray[np.float64]) -> float:
        fit = sum(
            float(labels.sum() * logsumexp(rows @ weights) - labels @ (rows @ weights)) for rows, labels in told_apart
        )
        return fit + 0.5 * _RIDGE * float(weights @ weights)

    def gradient(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        slope: npt.NDArray[np.float64] = _RIDGE * weights
        for rows, labels in told_apart:
            slope = slope + rows.T @ (labels.sum() * softmax(rows @ weights) - labels)
        return slope

    def hessian(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        curvature: npt.NDArray[np.float64] = _RIDGE * np.eye(columns)
        for rows, labels in told_apart:
            chances = softmax(rows @ weights)
            mean = chances @ rows
            curvature = curvature + labels.sum() * ((rows.T * chances) @ rows - np.outer(mean, mean))
        return curvature

    found = minimize(
        loss, np.zeros(columns), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": _TOLERANCE}
    )
    return [float(weight) for weight in found.x]


def _summary(sums: Sequence[float]) -> Mapping[str, float]:
    named = {f"p{percent}": round(percentile(sums, percent), 3) for percent in (5, 25, 50, 75, 95)}
    return {"files": len(sums), **named}
