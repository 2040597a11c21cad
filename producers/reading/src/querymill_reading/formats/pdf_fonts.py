"""PDF: letters of fonts that do not say which characters their signs are, or that say it falsely."""

from collections import defaultdict
from collections.abc import Sequence
from ctypes import c_void_p, cast
from typing import Any

import pypdfium2.raw as pdfium

from querymill_reading.rules.letters import Letter
from querymill_reading.rules.unnamed import has_runs_of_signs, is_only_signs, reads_as_words


def count_nameless(text: Any, letters: Sequence[Letter]) -> int:
    """Return how many letters of a page are perhaps others: those without names that give no words, and false ones."""
    has_no_name, handle = pdfium.FPDFText_HasUnicodeMapError, text.raw
    nameless = {at for at in range(len(letters)) if has_no_name(handle, at) == 1}
    if nameless and reads_as_words(_text(letters, nameless)):
        nameless = set()
    return len(nameless | _falsely_named(text, letters))


def _text(letters: Sequence[Letter], those: set[int]) -> str:
    """Return those of the letters of a page, with blanks for all others."""
    return "".join(_shown(letter[0]) if at in those else " " for at, letter in enumerate(letters))


def _shown(code: int) -> str:
    return chr(code) if 0x20 < code < 0xD800 else " "


def _falsely_named(text: Any, letters: Sequence[Letter]) -> set[int]:
    """Return the letters of fonts whose text is only signs."""
    if not has_runs_of_signs("".join([chr(letter[0]) for letter in letters])):
        return set()
    by_font: dict[int | None, list[int]] = defaultdict(list)
    for at, letter in enumerate(letters):
        if letter[0] > 0x20 and (drawn := pdfium.FPDFText_GetTextObject(text.raw, at)):
            by_font[cast(pdfium.FPDFTextObj_GetFont(drawn), c_void_p).value].append(at)
    return {at for few in by_font.values() if is_only_signs(_of_font(letters, few)) for at in few}


def _of_font(letters: Sequence[Letter], those: Sequence[int]) -> str:
    """Return the text of a font; letters that do not follow each other are no word."""
    written, last = [], -1
    for at in those:
        if at != last + 1:
            written.append(" ")
        written.append(_shown(letters[at][0]))
        last = at
    return "".join(written)
