"""What is said of a picture in place of it: its description stands in the text, in brackets; a remark counts it."""

import re
from collections.abc import Iterable
from typing import Final

#: What some programs put in place of a description: the name of the file, or what everything drawn is.
_SAYS_NOTHING: Final = re.compile(
    r".*\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp|ico)|(?:picture|image) ?[0-9]*", re.I
)
#: A description of so few letters is the sign that the picture shows.
MAX_SIGN: Final = 3
#: Letters of a description.
MAX_CHARS: Final = 2_000
#: How pictures are counted, whether they are described or not.
PICTURE: Final = "picture"
LEFT_OUT: Final = "left out, but for its description"
LEFT_OUT_WHOLE: Final = "left out"
_BEGINNING: Final = "[Picture: "
#: Points of a side below which a picture is a dot, a line or a sign, and is not counted.
MIN_SIDE_PT: Final = 12.0
#: Points of the units of length, and what a length is written like.
_POINTS: Final = {"pt": 1.0, "px": 0.75, "in": 72.0, "pc": 12.0, "cm": 72 / 2.54, "mm": 72 / 25.4, "emu": 1 / 12_700}
_LENGTH: Final = re.compile(r"\s*([0-9]{0,9}\.?[0-9]{1,9})\s*([a-z]{0,2})\s*", re.I)


def described(written: str | None) -> str:
    """Return what stands for a picture: nothing if it is not described.

    >>> described("The harbour at noon"), described("image1.png")
    ('[Picture: The harbour at noon]', '')
    """
    text = " ".join((written or "").split())
    return f"{_BEGINNING}{text[:MAX_CHARS]}]" if text and not _SAYS_NOTHING.fullmatch(text) else ""


def became(pictures: int, texts: Iterable[str]) -> list[tuple[int, str]]:
    """Return how many pictures were left out whole, and how many but for a description that stands in the texts.

    >>> became(3, ["[Picture: The harbour at noon]", "Quay"])
    [(2, 'left out'), (1, 'left out, but for its description')]
    """
    described_ones = min(pictures, sum(text.count(_BEGINNING) for text in texts))
    return [(pictures - described_ones, LEFT_OUT_WHOLE), (described_ones, LEFT_OUT)]


def in_line(written: str | None) -> str:
    """Return what stands for a picture within a line, where a small one may be a sign."""
    text = " ".join((written or "").split())
    return text if len(text) <= MAX_SIGN else described(text)


def points(written: str | None, unit: str = "px") -> float | None:
    """Return a length in points, or None if it is none that is known, such as a share; ``unit`` if it names none.

    >>> points("2.54cm"), points("16"), points("50%")
    (72.0, 12.0, None)
    """
    found = _LENGTH.fullmatch(written or "")
    share = _POINTS.get(found[2].lower() or unit) if found is not None else None
    return None if found is None or share is None else round(float(found[1]) * share, 3)


def is_small(*sides_pt: float | None) -> bool:
    """Return whether a picture is a dot, a line or a sign by one of its sides; one that is not known says nothing."""
    return any(side is not None and side < MIN_SIDE_PT for side in sides_pt)
