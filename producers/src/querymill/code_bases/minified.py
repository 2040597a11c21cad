"""Files that a tool has made small: nobody reads them, and their long lines drown what is written by hand."""

import re
from pathlib import PurePosixPath
from typing import Final

#: The rule of GitHub's Linguist: an average line of more characters is no line of a person.
MAX_AVERAGE_LINE: Final = 110
#: A short file may well be a line.
MIN_CHARS: Final = 1_000
_SUFFIXES: Final = frozenset({".js", ".mjs", ".cjs", ".css"})
_NAME: Final = re.compile(r".+[.-]min\.(?:js|mjs|cjs|css)|.+\.(?:js|mjs|cjs|css|ts)\.map", re.IGNORECASE)


def is_minified(path: str, text: str) -> bool:
    """Return whether a file is minified JavaScript or CSS, or the map to one: by its name, or by its average line."""
    place = PurePosixPath(path)
    if _NAME.fullmatch(place.name):
        return True
    if place.suffix.lower() not in _SUFFIXES or len(text) < MIN_CHARS:
        return False
    return len(text) > MAX_AVERAGE_LINE * (text.count("\n") + 1)
