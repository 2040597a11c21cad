"""Calibrated similarity: map a model's raw cosine to the scale that thresholds use."""

from bisect import bisect_right
from itertools import pairwise
from typing import Final, Literal

from querymill_shared.values import value

Band = Literal["exact", "high", "medium", "low", "unrelated"]

_BANDS: Final[tuple[tuple[float, Band], ...]] = ((1.0, "exact"), (0.8, "high"), (0.6, "medium"), (0.4, "low"))
#: An upper bound for the difference between two float32 cosines of the same vectors.
ROUNDING: Final = 1e-6


@value
class Calibration:
    """A rising, piecewise-linear map from raw cosine to similarity through ``points`` (raw, similarity).

    Left of the first point the similarity is that of the first point, right of the last that of the last. Without
    points the map is the identity.

    Raises:
        ValueError: A point is not above the point before it in both coordinates.
    """

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if any(left[0] >= right[0] or left[1] >= right[1] for left, right in pairwise(self.points)):
            raise ValueError(
                f"calibration: raw cosine and similarity must both rise from point to point: {self.points}"
            )

    def similarity(self, raw: float) -> float:
        """Map a raw cosine to a similarity. With points (0.7, 0), (0.8, 0.4), (1, 1) a cosine of 0.9 gives 0.7."""
        return _mapped(self.points, raw)

    def floor(self, similarity: float) -> float:
        """Return the smallest raw cosine that reaches a similarity, or 2.0, above every cosine, if none does."""
        if self.points and similarity > self.points[-1][1]:
            return 2.0
        if self.points and similarity <= self.points[0][1]:
            return -2.0
        return _mapped(tuple((y, x) for x, y in self.points), similarity)


#: For models that have not been measured: similarity is the raw cosine.
IDENTITY: Final = Calibration()


def _mapped(points: tuple[tuple[float, float], ...], value: float) -> float:
    if not points:
        return value
    place = bisect_right(points, value, key=lambda point: point[0])
    if place == 0:
        return points[0][1]
    if place == len(points):
        return points[-1][1]
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (value - x0) * (y1 - y0) / (x1 - x0)


def band(similarity: float) -> Band:
    """Return the band: 1.0 exact, 0.8 to 0.99 high, 0.6 to 0.79 medium, 0.4 to 0.59 low, below 0.4 unrelated."""
    reached = (name for least, name in _BANDS if similarity >= least - ROUNDING)
    return next(reached, "unrelated")
