"""PDF forms: what was typed and ticked in the fields of a page, as letters in their places."""

import re
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
#: A text in the appearance of a button, and what is escaped in it.
_WRITTEN: Final = re.compile(r"\((?:\\.|[^\\()])*\)(?=\s*Tj)", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\([0-7]{1,3}|.)", re.DOTALL)
_ESCAPES: Final = {"n": " ", "r": " ", "t": " ", "b": "", "f": "", "\n": ""}
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
    lines = _lines_of(form, field, kind, flags)
    if not lines:
        return
    left, right = sorted((box.left, box.right))
    low, high = sorted((box.bottom, box.top))
    height = max(min((high - low) / (len(lines) if kind == pdfium.FPDF_FORMFIELD_LISTBOX else 1), LINE_HEIGHT), 1.0)
    is_one = len(lines) == 1 and not flags & _MULTILINE
    top = (low + high + height) / 2 if is_one else high
    for line in lines:
        yield from _placed(line, left, right, top - height, top)
        top -= height


def _lines_of(form: Any, field: Any, kind: int, flags: int) -> list[str]:
    """Return what a field shows, line by line: of a list every choice, with a tick before those that are made."""
    if kind in _TICKED:
        return [_tick(pdfium.FPDFAnnot_IsChecked(form, field))]
    if kind == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
        return [_caption(field)]
    if kind not in _TYPED or flags & _PASSWORD:
        return []
    value = _value(form, field)
    if kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
        return value.splitlines()
    choices = range(max(min(pdfium.FPDFAnnot_GetOptionCount(form, field), MAX_FIELDS), 0))
    made = [at for at in choices if pdfium.FPDFAnnot_IsOptionSelected(form, field, at)]
    labels = {at: _string(pdfium.FPDFAnnot_GetOptionLabel, form, field, at).strip() for at in choices}
    if kind == pdfium.FPDF_FORMFIELD_LISTBOX:
        return [f"{_tick(at in made)} {label}" for at, label in labels.items()] or value.splitlines()
    return [labels[made[0]]] if made else value.splitlines()


def _tick(is_made: Any) -> str:
    return "[x]" if is_made else "[ ]"


def _caption(field: Any) -> str:
    """Return what is written on a button, as far as its appearance has it in letters."""
    drawn = _string(pdfium.FPDFAnnot_GetAP, field, pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL)
    shown = "".join(_ESCAPED.sub(_unescaped, each[1:-1]) for each in _WRITTEN.findall(drawn))
    return " ".join(shown.split()) if shown.isprintable() else ""


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped, 8)) if escaped.isdigit() else _ESCAPES.get(escaped, escaped)


def _string(asked: Any, *of: Any) -> str:
    """Return a string for which the engine is asked: how long it is first, then what it is."""
    size = min(asked(*of, None, 0), 2 * MAX_CHARS)
    held = (c_ushort * (size // 2 + 1))()
    asked(*of, held, size)
    return bytes(held)[:size].decode("utf-16-le", "ignore").rstrip("\0")


def _value(form: Any, field: Any) -> str:
    return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, field)


def _placed(line: str, left: float, right: float, low: float, high: float) -> Iterator[Letter]:
    """Yield the letters of a line, from the left edge of its field on; a blank before them ends the word before."""
    width = min(WIDTH * (high - low), (right - left) / max(len(line), 1))
    yield 32, left, low, left, high
    for at, letter in enumerate(line):
        yield ord(letter), left + at * width, low, left + (at + 1) * width, high
