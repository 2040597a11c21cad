"""PDF: the letters of a page with their places, the angles by which they are turned, and which of them are shown."""

from collections.abc import Iterator
from ctypes import byref, c_double
from itertools import compress
from math import degrees
from typing import Any, Final

import pypdfium2.raw as pdfium

from querymill_reading.formats.pdf_pictures import Box
from querymill_reading.rules.letters import BLANKS, Letter, character

#: Letters of a page; more are no text that anybody reads.
MAX_LETTERS: Final = 200_000
#: One letter in so many is asked first whether it is turned.
ASKED: Final = 4


def letters_on(text: Any) -> Iterator[Letter]:
    """Yield the letters with their boxes: those of the font and the advance, not of the ink."""
    box = pdfium.FS_RECTF()
    pointer = byref(box)
    handle = text.raw
    unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
    for at in range(min(text.count_chars(), MAX_LETTERS)):
        code = unicode_of(handle, at)
        box_of(handle, at, pointer)
        yield character(code), box.left, box.bottom, box.right, box.top


def angles_of(text: Any, count: int) -> list[float]:
    """Return the angles by which letters are turned, in degrees; nothing if none of those that are asked is."""
    angle_of, handle = pdfium.FPDFText_GetCharAngle, text.raw
    if not any(angle_of(handle, at) > 0 for at in range(0, count, ASKED)):
        return []
    return [degrees(max(angle_of(handle, at), 0.0)) for at in range(count)]


def shown_in(text: Any, letters: list[Letter], angles: list[float], shown: Box) -> tuple[list[Letter], list[float]]:
    """Return the letters of the part of a page that is shown, with their angles; blanks go with the others."""
    left, low, right, high = shown
    stay = [
        code in BLANKS or (x0 <= right and x1 >= left and y0 <= high and y1 >= low) or _begins_within(text, at, shown)
        for at, (code, x0, y0, x1, y1) in enumerate(letters)
    ]
    return (letters, angles) if all(stay) else (list(compress(letters, stay)), list(compress(angles, stay)))


def _begins_within(text: Any, at: int, shown: Box) -> bool:
    """Return whether a letter stands in a box, however high its font says that it is."""
    x, y = c_double(), c_double()
    pdfium.FPDFText_GetCharOrigin(text.raw, at, byref(x), byref(y))
    return shown[0] <= x.value <= shown[2] and shown[1] <= y.value <= shown[3]
