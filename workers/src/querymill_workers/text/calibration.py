"""Calibrated similarity: what a model's raw cosine means, on the scale that thresholds are given on."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Band = Literal["exact", "high", "medium", "low", "unrelated"]

_BANDS: Final[tuple[tuple[float, Band], ...]] = ((1.0, "exact"), (0.8, "high"), (0.6, "medium"), (0.4, "low"))
#: What two float32 cosines of the same vectors may differ by.
ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rising, piecewise-linear map from raw cosine to similarity, through ``points`` (raw, similarity).

    Left of the first point it is that point's similarity, right of the last the last's. No points: the identity.

    Raises:
        ValueError: A point does not rise over the one before it.
    """

    points: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if any(left[0] >= right[0] or left[1] >= right[1] for left, right in pairwise(self.points)):
            raise ValueError(
                f"calibration: raw cosine and similarity must both rise from point to point: {self.points}"
            )

    def similarity(self, raw: float) -> float:
        """Map a raw cosine; with points (0.7, 0), (0.8, 0.4), (1, 1) a cosine of 0.9 is 0.7."""
        return _mapped(self.points, raw)

    def floor(self, similarity: float) -> float:
        """Return the least raw cosine that is worth a similarity; above every cosine if none is."""
        if self.points and similarity > self.points[-1][1]:
            return 2.0
        if self.points and similarity <= self.points[0][1]:
            return -2.0
        return _mapped(tuple((y, x) for x, y in self.points), similarity)


#: A model nobody measured: its cosine is taken at its word.
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
    """Name the band: 1.0 exact, 0.8 to 0.99 high, 0.6 to 0.79 medium, 0.4 to 0.59 low, below 0.4 unrelated."""
    reached = (name for least, name in _BANDS if similarity >= least - ROUNDING)
    return next(reached, "unrelated")
