"""Bands of relevance of a file to what the caller asked for: half-open, [0, 0.2), [0.2, 0.5), [0.5, 0.8), [0.8, 1]."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Band = Literal["high", "medium", "low", "irrelevant"]

#: The least relevance of each band, best first.
FLOORS: Final[tuple[tuple[float, Band], ...]] = ((0.8, "high"), (0.5, "medium"), (0.2, "low"))
#: Files of these bands are returned; low ones on request, irrelevant ones never.
RETURNED: Final[tuple[Band, ...]] = ("high", "medium")


def band(relevance: float) -> Band:
    """Name the band: 0.8 is high, 0.7999 medium; 0.5 medium; 0.2 low; below that irrelevant."""
    return next((name for least, name in FLOORS if relevance >= least), "irrelevant")


def counted(relevances: Iterable[float]) -> dict[str, int]:
    """Count files by band; a band without a file counts 0."""
    found = Counter(band(relevance) for relevance in relevances)
    return {name: found[name] for name in (*(name for _, name in FLOORS), "irrelevant")}


def of_band(relevances: Mapping[str, float], wanted: Band) -> list[str]:
    """List the files of a band, the most relevant first, ties on the path."""
    return sorted(
        (path for path, value in relevances.items() if band(value) == wanted), key=lambda p: (-relevances[p], p)
    )
