"""Calibrate similarities: a rising map from the cosines of a model to the scale that thresholds use."""

import statistics
from collections.abc import Sequence
from typing import Final

#: The smallest distance between two points of the map, in raw cosine.
MIN_STEP: Final = 0.002


def fit_points(related: Sequence[float], unrelated: Sequence[float]) -> list[tuple[float, float]]:
    """Fit a rising map from raw cosine to similarity; return its points.

    The lowest unrelated cosine maps to 0. Three quarters of the unrelated cosines lie below 0.4 ("unrelated"), three
    quarters of the related above 0.6 ("medium"), and half of them above 0.8 ("high"). A cosine of 1 maps to 1. If the
    two overlap so far that a point would not rise, it is moved to the right of the previous point.

    Raises:
        ValueError: The related cosines are so high that no room is left below 1.
    """
    wanted = [
        (min(unrelated), 0.0),
        (percentile(unrelated, 75), 0.4),
        (percentile(related, 25), 0.6),
        (percentile(related, 50), 0.8),
    ]
    points: list[tuple[float, float]] = []
    for raw, similarity in wanted:
        least = points[-1][0] + MIN_STEP if points else -1.0
        points.append((round(max(raw, least), 4), similarity))
    if points[-1][0] >= 1.0:
        raise ValueError(f"related pairs: their cosines leave no room below 1 ({points})")
    return [*points, (1.0, 1.0)]


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile (1 to 99) of the values, interpolated between the nearest two."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
