"""What is said of a picture in place of it: its description stands in the text, in brackets."""

import re
from typing import Final

#: What some programs put in place of a description: the name of the file, or what everything drawn is.
_SAYS_NOTHING: Final = re.compile(
    r".*\.(?:png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp|ico)|(?:picture|image) ?[0-9]*", re.I
)
#: A description of so few letters is the sign that the picture shows.
MAX_SIGN: Final = 3
#: Letters of a description.
MAX_CHARS: Final = 2_000


def described(written: str | None) -> str:
    """Return what stands for a picture: nothing if it is not described.

    >>> described("The harbour at noon"), described("image1.png")
    ('[Picture: The harbour at noon]', '')
    """
    text = " ".join((written or "").split())
    return f"[Picture: {text[:MAX_CHARS]}]" if text and not _SAYS_NOTHING.fullmatch(text) else ""


def in_line(written: str | None) -> str:
    """Return what stands for a picture within a line, where a small one may be a sign."""
    text = " ".join((written or "").split())
    return text if len(text) <= MAX_SIGN else described(text)
