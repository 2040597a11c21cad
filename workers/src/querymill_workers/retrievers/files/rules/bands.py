"""Bands of a file's relevance to the request. They are half-open: [0, 0.2), [0.2, 0.5), [0.5, 0.8), [0.8, 1]."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

Band = Literal["high", "medium", "low", "irrelevant"]

#: The lowest relevance of each band, best band first.
FLOORS: Final[tuple[tuple[float, Band], ...]] = ((0.8, "high"), (0.5, "medium"), (0.2, "low"))
#: The bands that are returned. Low files are returned on request, irrelevant ones never.
RETURNED: Final[tuple[Band, ...]] = ("high", "medium")


def band(relevance: float) -> Band:
    """Return the band of a relevance: 0.8 is high, 0.7999 and 0.5 are medium, 0.2 is low, less is irrelevant."""
    return next((name for least, name in FLOORS if relevance >= least), "irrelevant")


def counted(relevances: Iterable[float]) -> dict[str, int]:
    """Count files by band; bands without a file count 0."""
    found = Counter(band(relevance) for relevance in relevances)
    return {name: found[name] for name in (*(name for _, name in FLOORS), "irrelevant")}


def of_band(relevances: Mapping[str, float], wanted: Band) -> list[str]:
    """List the files of a band, most relevant first, ties by path."""
    return sorted(
        (path for path, value in relevances.items() if band(value) == wanted), key=lambda p: (-relevances[p], p)
    )
