"""PDF: what people wrote upon its pages, and what the file carries beside them."""

from collections import Counter
from collections.abc import Iterator
from ctypes import c_ushort
from typing import Any, Final

import pypdfium2.raw as pdfium

from querymill_reading.document import Remarks

#: Annotations of a page that are looked at, and letters of one.
MAX_NOTES: Final = 2_000
MAX_CHARS: Final = 20_000
#: Letters of the names of embedded files that a remark has.
MAX_NAMES: Final = 200
#: What is no note: links and fields, which are read otherwise, and the window of a note that is read with its note.
_OTHERS: Final = (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_POPUP)
_NAMES: Final = {
    pdfium.FPDF_ANNOT_STAMP: "stamp",
    pdfium.FPDF_ANNOT_INK: "drawing by hand",
    pdfium.FPDF_ANNOT_FILEATTACHMENT: "attached file",
    pdfium.FPDF_ANNOT_SOUND: "sound",
    pdfium.FPDF_ANNOT_MOVIE: "film",
    pdfium.FPDF_ANNOT_SCREEN: "film or sound",
    pdfium.FPDF_ANNOT_RICHMEDIA: "film or sound",
    pdfium.FPDF_ANNOT_THREED: "model in three dimensions",
    pdfium.FPDF_ANNOT_REDACT: "mark of what is to be blackened",
}
#: What carries something that no text of a note stands for.
_CARRIERS: Final = (
    pdfium.FPDF_ANNOT_FILEATTACHMENT, pdfium.FPDF_ANNOT_SOUND, pdfium.FPDF_ANNOT_MOVIE, pdfium.FPDF_ANNOT_SCREEN,
    pdfium.FPDF_ANNOT_RICHMEDIA, pdfium.FPDF_ANNOT_THREED,
)  # fmt: skip


def notes_on(page: Any, number: int, remarks: Remarks) -> Iterator[str]:
    """Yield the notes on a page; those without a text, and what notes carry, are a remark, by their kind."""
    silent: Counter[str] = Counter()
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page.raw), MAX_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page.raw, at)
        if not note:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            if kind in _OTHERS:
                continue
            text = " ".join(_said(note, b"Contents").split())
            author = " ".join(_said(note, b"T").split())
            if text:
                yield f"Note by {author}: {text}" if author else f"Note: {text}"
            if kind in _NAMES and (not text or kind in _CARRIERS):
                silent[_NAMES[kind]] += 1
        finally:
            pdfium.FPDFPage_CloseAnnot(note)
    for name, count in silent.items():
        remarks.count(count, name, "left out", page=number)


def note_embedded(document: Any, remarks: Remarks) -> None:
    """Add a remark about the files that are embedded in a document, and about a form that is written in XML."""
    count = pdfium.FPDFDoc_GetAttachmentCount(document.raw)
    names = []
    for at in range(min(max(count, 0), MAX_NOTES)):
        file = pdfium.FPDFDoc_GetAttachment(document.raw, at)
        size = pdfium.FPDFAttachment_GetName(file, None, 0)
        held = (c_ushort * (size // 2 + 1))()
        pdfium.FPDFAttachment_GetName(file, held, size)
        names.append(_text(held, size))
    remarks.count(count, "embedded file", f"left out: {', '.join(names)[:MAX_NAMES]}")
    if document.get_formtype() in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        remarks.note("a form in XML (XFA): only what its pages show is read")


def _said(note: Any, name: bytes) -> str:
    size = min(pdfium.FPDFAnnot_GetStringValue(note, name, None, 0), 2 * MAX_CHARS)
    held = (c_ushort * (size // 2 + 1))()
    pdfium.FPDFAnnot_GetStringValue(note, name, held, size)
    return _text(held, size)


def _text(held: Any, size: int) -> str:
    return bytes(held)[:size].decode("utf-16-le", "ignore").rstrip("\0")
