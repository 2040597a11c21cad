"""From judged files to the evaluator's profile: what each kind of evidence weighs, and where the bands lie."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from querymill_evaluation.measures import percentile

#: The evidence that is weighed. The share of words that a file covers adds nothing to these (it came out negative).
WORDS: Final = ("lexical", "path", "names", "passage")
VECTORS: Final = (*WORDS, "vector")

#: Keeps the weights finite where one kind of evidence tells the files apart by itself.
_RIDGE: Final = 0.1
_ITERATIONS: Final = 25
#: Two points of the bands are at least this far apart, in sums.
_LEAST_STEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A candidate of a query: its evidence, and whether the set says that it is relevant."""

    evidence: Mapping[str, float | None]
    relevant: bool


def profile(judged: Sequence[JudgedFile], names: Sequence[str]) -> dict[str, Any]:
    """Fit the weights by logistic regression, and lay the bands through the weighted sums.

    Raises:
        ValueError: None of the files is relevant, or all are.
    """
    rows = [[float(file.evidence[name] or 0.0) for name in names] for file in judged]
    labels = [file.relevant for file in judged]
    if all(labels) or not any(labels):
        raise ValueError("the set's judgements do not tell candidates apart")
    weights = dict(zip(names, fitted(rows, labels), strict=True))
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
    """Lay a rising line through the bands, by where the sums of candidates lie.

    Three quarters of the relevant files are worth 0.8 (high) or more, 19 of 20 0.5 (medium) or more; a quarter of
    the other candidates less than 0.2 (irrelevant). Candidates were found by words of the query, so most of those
    others are on its subject. A point that would not rise is moved to the right of the one before it.
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
        least = points[-1][0] + _LEAST_STEP if points else -math.inf
        points.append((round(max(total, least), 3), worth))
    return points


def fitted(rows: Sequence[Sequence[float]], labels: Sequence[bool]) -> list[float]:
    """Fit a logistic regression by Newton's method with a small ridge; returns the weights without the constant."""
    width = len(rows[0]) + 1
    padded = [[1.0, *row] for row in rows]
    weights = [0.0] * width
    for _ in range(_ITERATIONS):
        gradient = [0.0] + [_RIDGE * weight for weight in weights[1:]]
        hessian = [[_RIDGE if i == j else 0.0 for j in range(width)] for i in range(width)]
        for row, label in zip(padded, labels, strict=True):
            chance = 1 / (1 + math.exp(-sum(weight * value for weight, value in zip(weights, row, strict=True))))
            for i, value in enumerate(row):
                gradient[i] += (chance - label) * value
                for j in range(width):
                    hessian[i][j] += chance * (1 - chance) * value * row[j]
        step = solved(hessian, gradient)
        weights = [weight - move for weight, move in zip(weights, step, strict=True)]
    return weights[1:]


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a small system of linear equations by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda row: abs(rows[row][pivot]))
        rows[pivot], rows[best] = rows[best], rows[pivot]
        for below in range(pivot + 1, size):
            factor = rows[below][pivot] / rows[pivot][pivot]
            rows[below] = [a - factor * b for a, b in zip(rows[below], rows[pivot], strict=True)]
    found = [0.0] * size
    for row in reversed(range(size)):
        known = sum(rows[row][column] * found[column] for column in range(row + 1, size))
        found[row] = (rows[row][size] - known) / rows[row][row]
    return found


def _summary(sums: Sequence[float]) -> Mapping[str, float]:
    named = {f"p{percent}": round(percentile(sums, percent), 3) for percent in (5, 25, 50, 75, 95)}
    return {"files": len(sums), **named}
