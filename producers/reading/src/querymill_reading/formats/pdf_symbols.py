"""PDF: letters of symbol fonts are read as the signs that they show, and those that name no character are counted."""

from collections.abc import Sequence
from ctypes import c_void_p, cast, create_string_buffer
from typing import Any, Final

import pypdfium2.raw as pdfium

from querymill_reading.formats.pdf_pictures import drawn_on
from querymill_reading.rules.letters import NO_CHARACTER, Letter
from querymill_reading.rules.symbols import UNKNOWN, family_of, sign_in

_NAME_BYTES: Final = 200


def with_signs_of_fonts(page: Any, text: Any, letters: Sequence[Letter]) -> tuple[list[Letter], int]:
    """Return the letters of a page with the signs that those of symbol fonts show, and how many cannot be read."""
    families: dict[int | None, str] = {}
    for drawn in drawn_on(page):
        if pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_TEXT:
            _family(pdfium.FPDFTextObj_GetFont(drawn), families)
    is_private = [0xD800 <= letter[0] <= 0xF8FF for letter in letters]
    if not any(families.values()) and not any(is_private):
        return list(letters), 0
    read: list[Letter] = []
    unread = 0
    for at, letter in enumerate(letters):
        code = letter[0]
        if code > 0x20 and not _is_half_of_pair(letters, at):
            drawn = pdfium.FPDFText_GetTextObject(text.raw, at)
            family = _family(pdfium.FPDFTextObj_GetFont(drawn), families) if drawn else ""
            sign = sign_in(code, family)
            unread += sign == UNKNOWN
            code = NO_CHARACTER if sign == UNKNOWN else ord(sign) if sign.strip() else 0x20
        read.append((code, *letter[1:]))
    return read, unread


def _is_half_of_pair(letters: Sequence[Letter], at: int) -> bool:
    code = letters[at][0]
    if 0xD800 <= code < 0xDC00:
        return at + 1 < len(letters) and 0xDC00 <= letters[at + 1][0] < 0xE000
    return 0xDC00 <= code < 0xE000 and at > 0 and 0xD800 <= letters[at - 1][0] < 0xDC00


def _family(font: Any, families: dict[int | None, str]) -> str:
    """Return the family of a symbol font, nothing for others, and remember it."""
    key = cast(font, c_void_p).value
    if key not in families:
        name = create_string_buffer(_NAME_BYTES)
        pdfium.FPDFFont_GetBaseFontName(font, name, _NAME_BYTES)
        families[key] = family_of(name.value.decode("latin-1"))
    return families[key]
