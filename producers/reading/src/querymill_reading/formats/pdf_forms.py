"""PDF forms: what was typed and ticked in the fields of a page, as letters in their places."""

from collections.abc import Iterator
from contextlib import suppress
from ctypes import byref, c_ushort
from typing import Any, Final

import pypdfium2
import pypdfium2.raw as pdfium

from querymill_reading.rules.letters import Letter

#: Fields of a page that are looked at, and letters of a value.
MAX_FIELDS: Final = 2_000
MAX_CHARS: Final = 20_000
#: The height of a line in points, where a field is higher, and the width of a letter in heights.
LINE_HEIGHT: Final = 12.0
WIDTH: Final = 0.4
_TYPED: Final = (pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX)
_TICKED: Final = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_HIDDEN: Final = pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
#: Bits of a text field that has several lines, and of one whose value is a password.
_MULTILINE, _PASSWORD = 1 << 12, 1 << 13


def open_form(document: Any) -> bool:
    """Make the fields of a document readable, before its pages are; return whether it has any."""
    with suppress(pypdfium2.PdfiumError):
        if document.get_formtype() != pdfium.FORMTYPE_NONE:
            document.init_forms()
    return document.formenv is not None


def letters_of_fields(document: Any, page: Any) -> Iterator[Letter]:
    """Yield the values of the fields of a page, letter by letter: ``[x]`` for a box that is ticked, ``[ ]`` for others.

    The values are not among the letters of a page, because a reader draws them over it.
    """
    form = document.formenv.raw
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), MAX_FIELDS)):
        field = pdfium.FPDFPage_GetAnnot(page.raw, at)
        if not field:
            continue
        try:
            if pdfium.FPDFAnnot_GetSubtype(field) == pdfium.FPDF_ANNOT_WIDGET and not (
                pdfium.FPDFAnnot_GetFlags(field) & _HIDDEN
            ):
                yield from _letters_of(form, field)
        finally:
            pdfium.FPDFPage_CloseAnnot(field)


def _letters_of(form: Any, field: Any) -> Iterator[Letter]:
    box = pdfium.FS_RECTF()
    if not pdfium.FPDFAnnot_GetRect(field, byref(box)):
        return
    kind, flags = pdfium.FPDFAnnot_GetFormFieldType(form, field), pdfium.FPDFAnnot_GetFormFieldFlags(form, field)
    if kind in _TICKED:
        lines = ["[x]" if pdfium.FPDFAnnot_IsChecked(form, field) else "[ ]"]
    elif kind in _TYPED and not flags & _PASSWORD:
        lines = _value(form, field).splitlines()
    else:
        return
    left, right = sorted((box.left, box.right))
    low, high = sorted((box.bottom, box.top))
    height = max(min(high - low, LINE_HEIGHT), 1.0)
    is_one = len(lines) == 1 and not flags & _MULTILINE
    top = (low + high + height) / 2 if is_one else high
    for line in lines:
        yield from _placed(line, left, right, top - height, top)
        top -= height


def _value(form: Any, field: Any) -> str:
    size = min(pdfium.FPDFAnnot_GetFormFieldValue(form, field, None, 0), 2 * MAX_CHARS)
    held = (c_ushort * (size // 2 + 1))()
    pdfium.FPDFAnnot_GetFormFieldValue(form, field, held, size)
    return bytes(held)[:size].decode("utf-16-le", "ignore").rstrip("\0")


def _placed(line: str, left: float, right: float, low: float, high: float) -> Iterator[Letter]:
    """Yield the letters of a line, from the left edge of its field on; a blank before them ends the word before."""
    width = min(WIDTH * (high - low), (right - left) / max(len(line), 1))
    yield 32, left, low, left, high
    for at, letter in enumerate(line):
        yield ord(letter), left + at * width, low, left + (at + 1) * width, high
