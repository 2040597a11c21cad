"""How fast a figure grows while a fleet works, with an interval. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

#: Resamples of an interval, and the share of them that it holds.
RESAMPLES, SHARE = 1_000, 0.95
#: Samples that are drawn together: neighbours in time are alike, and an interval that took them for independent ones
#: would be too narrow.
BLOCK: Final = 12
#: What grows by less than this share of its middle in an hour is flat.
FLAT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Slope:
    """The growth of a figure in an hour, with its interval, and the figure's median: all in the figure's own unit."""

    median: float
    an_hour: float
    low: float
    high: float

    @property
    def is_flat(self) -> bool:
        """Whether the growth cannot be told from none, or is less than a twentieth of the median in an hour."""
        return self.low <= 0 or self.an_hour <= FLAT * self.median


def slope_of(seconds: Sequence[float], values: Sequence[float], *, seed: int = 0) -> Slope:
    """Return the slope of a line through samples: the median of the slopes between far pairs (Theil and Sen).

    A few samples of a short fault move a median little. The interval is of resampled blocks of neighbours.

    >>> slope_of([0, 1800, 3600], [10.0, 12.0, 14.0]).an_hour
    4.0

    Raises:
        ValueError: There are fewer than two samples.
    """
    if len(seconds) < 2:
        raise ValueError("a slope needs two samples")
    hours, figures = np.asarray(seconds, float) / 3600, np.asarray(values, float)
    chance = np.random.default_rng(seed)
    slopes = [_theil_sen(hours, figures, _blocks(len(hours), chance)) for _ in range(RESAMPLES)]
    low, high = np.quantile(slopes, [(1 - SHARE) / 2, (1 + SHARE) / 2])
    middle = _theil_sen(hours, figures, np.arange(len(hours)))
    return Slope(float(np.median(figures)), middle, float(low), float(high))


def _blocks(count: int, chance: np.random.Generator) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Draw as many places as there are samples, in runs of neighbours."""
    length = min(BLOCK, max(1, count // 4))
    starts = chance.integers(0, count - length + 1, size=-(-count // length))
    return np.sort((starts[:, None] + np.arange(length)).ravel()[:count])


def _theil_sen(
    hours: "np.ndarray[tuple[int], np.dtype[np.float64]]", figures: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    places: "np.ndarray[tuple[int], np.dtype[np.int64]]",
) -> float:  # fmt: skip
    """Return the median slope between each place of the first half and its fellow of the second."""
    half = len(places) // 2
    first, second = places[:half], places[-half:]
    apart = hours[second] - hours[first]
    kept = apart > 0
    if not kept.any():
        return 0.0
    return float(np.median((figures[second][kept] - figures[first][kept]) / apart[kept]))
