"""Pages of a PDF file that have no text: they are drawn, and read by OCR if that was asked for."""

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from querymill_reading.document import ReadLimits, Remarks
from querymill_reading.ocr import Ocr

NO_TEXT: Final = "no text: a scanned picture? OCR reads it, if that is asked for (--ocr)"
NOTHING_FOUND: Final = "no text, and OCR found none"
#: Dots an inch at which scans are read best, and pixels of the longer side of a drawn page.
DPI: Final = 300
MAX_SIDE_PX: Final = 5_000
_POINTS: Final = 72
#: Letters of the numbers of pages that a remark has.
MAX_NUMBERS: Final = 200


@dataclass(slots=True)
class Scans:
    """Reads the pages of one file that have no text, as long as its time lasts."""

    ocr: Ocr | None
    limits: ReadLimits
    remarks: Remarks
    taken_s: float = 0.0
    read: list[int] = field(default_factory=list)

    def text_of(self, document: Any, number: int) -> str:
        """Return the text of a page, from 1; a remark says why there is none."""
        if self.ocr is None:
            self.remarks.note(NO_TEXT, page=number)
            return ""
        left = self.limits.ocr_seconds - self.taken_s
        if left < 1:
            self.remarks.note(f"no text: OCR of the pages before took {self.taken_s:.0f} s", page=number)
            return ""
        text, began = "", time.monotonic()
        before = len(self.remarks.noted)
        with self.remarks.part("OCR", number):
            text = self.ocr.text_of(_drawn(document, number), min(self.limits.ocr_seconds_a_page, left))
        self.taken_s += time.monotonic() - began
        if text:
            self.read.append(number)
        elif len(self.remarks.noted) == before:
            self.remarks.note(NOTHING_FOUND, page=number)
        return text

    def note_read(self) -> None:
        """Add a remark about the pages whose text is that of OCR."""
        if self.ocr is not None:
            what = f"read by OCR ({self.ocr.name}), which may misread"
            self.remarks.count(
                len(self.read), "scanned page", what, f"page{'s' if len(self.read) > 1 else ''} {spans(self.read)}"
            )


def _drawn(document: Any, number: int) -> bytes:
    """Return a page as a grey picture."""
    page = document[number - 1]
    try:
        scale = min(DPI / _POINTS, MAX_SIDE_PX / max(page.get_size()))
        picture = page.render(scale=scale, grayscale=True).to_pil()
    finally:
        page.close()
    written = io.BytesIO()
    dots = scale * _POINTS
    picture.save(written, "PNG", compress_level=1, dpi=(dots, dots))
    return written.getvalue()


def spans(numbers: Sequence[int]) -> str:
    """Return numbers in the order of their size, those that follow each other as one span.

    >>> spans([1, 2, 3, 7])
    '1-3, 7'
    """
    told = []
    for _, group in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        few = [number for _, number in group]
        told.append(str(few[0]) if len(few) == 1 else f"{few[0]}-{few[-1]}")
    text = ", ".join(told)
    return text if len(text) <= MAX_NUMBERS else f"{text[:MAX_NUMBERS].rpartition(', ')[0]} and more"
