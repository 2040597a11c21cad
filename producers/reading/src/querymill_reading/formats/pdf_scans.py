"""Pages of a PDF file that have no text, and pictures on others: they are drawn, and read by OCR if that was asked."""

import io
import time
from collections.abc import Sequence
from ctypes import byref, c_int
from dataclasses import dataclass, field
from typing import Any, Final

import pypdfium2.raw as pdfium

from querymill_reading.document import ReadLimits, Remarks
from querymill_reading.formats.pdf_pictures import Box
from querymill_reading.ocr import Ocr
from querymill_reading.rules.page_spans import pages_named
from querymill_reading.rules.pictures import PICTURE

NO_TEXT: Final = "no text: a scanned picture? OCR reads it, if that is asked for (--ocr)"
NOTHING_FOUND: Final = "no text, and OCR found none"
#: What is said of pictures that stand beside text.
LEFT_OUT: Final = "left out (--ocr reads the text in pictures)"
NONE_IN_IT: Final = "left out: OCR found no text there"
#: Dots an inch at which scans are read best, and pixels of the longer side of a drawn page.
DPI: Final = 300
MAX_SIDE_PX: Final = 5_000
_POINTS: Final = 72


@dataclass(slots=True)
class Scans:
    """Reads the pages of one file that have no text, as long as its time lasts."""

    ocr: Ocr | None
    limits: ReadLimits
    remarks: Remarks
    taken_s: float = 0.0
    read: list[int] = field(default_factory=list)
    read_in_part: list[int] = field(default_factory=list)
    pictures: int = 0

    def text_of(self, document: Any, number: int) -> str:
        """Return the text of a page, from 1; a remark says why there is none."""
        if self.ocr is None:
            self.remarks.note(NO_TEXT, page=number)
            return ""
        left = self.limits.ocr_seconds - self.taken_s
        if left < 1:
            self.remarks.note(f"no text: {self._no_time}", page=number)
            return ""
        before = len(self.remarks.noted)
        text = self._recognised(document, number, None, min(self.limits.ocr_seconds_a_page, left))
        if text:
            self.read.append(number)
        elif len(self.remarks.noted) == before:
            self.remarks.note(NOTHING_FOUND, page=number)
        return text

    def texts_in(self, document: Any, number: int, pictures: Sequence[Box]) -> list[str]:
        """Return the texts of pictures on a page that has other text, from 1; remarks count those that have none."""
        if self.ocr is None:
            self.remarks.count(len(pictures), PICTURE, LEFT_OUT, page=number)
            return []
        texts, empty = [], 0
        ends = self.taken_s + self.limits.ocr_seconds_a_page
        for at, picture in enumerate(pictures):
            left = min(ends, self.limits.ocr_seconds) - self.taken_s
            if left < 1:
                self.remarks.count(len(pictures) - at, PICTURE, f"left out: {self._no_time}", page=number)
                break
            before = len(self.remarks.noted)
            if text := self._recognised(document, number, picture, left):
                texts.append(text)
            else:
                empty += len(self.remarks.noted) == before
        self.remarks.count(empty, PICTURE, NONE_IN_IT, page=number)
        self.pictures += len(texts)
        self.read_in_part.extend([number] if texts else ())
        return texts

    @property
    def _no_time(self) -> str:
        return f"OCR of the pages before took {self.taken_s:.0f} s"

    def _recognised(self, document: Any, number: int, picture: Box | None, seconds: float) -> str:
        text, began = "", time.monotonic()
        if self.ocr is not None:
            with self.remarks.part("OCR", number):
                text = self.ocr.text_of(_drawn(document, number, picture), seconds)
        self.taken_s += time.monotonic() - began
        return text

    def note_read(self) -> None:
        """Add remarks about the pages and the pictures whose text is that of OCR."""
        if self.ocr is not None:
            what = f"read by OCR ({self.ocr.name}), which may misread"
            self.remarks.count(len(self.read), "scanned page", what, pages_named(self.read))
            self.remarks.count(self.pictures, PICTURE, what, pages_named(self.read_in_part))


def _drawn(document: Any, number: int, part: Box | None) -> bytes:
    """Return a page, or a part of it, as a grey picture."""
    page = document[number - 1]
    try:
        scale = min(DPI / _POINTS, MAX_SIDE_PX / max(page.get_size()))
        picture = page.render(scale=scale, grayscale=True).to_pil()
        if part is not None:
            picture = picture.crop(_pixels(page, part, picture.size))
    finally:
        page.close()
    written = io.BytesIO()
    dots = scale * _POINTS
    picture.save(written, "PNG", compress_level=1, dpi=(dots, dots))
    return written.getvalue()


def _pixels(page: Any, part: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return where a part of a page is in its picture, whichever way the page is turned."""
    x, y = c_int(), c_int()
    xs, ys = [], []
    for across, up in ((part[0], part[1]), (part[2], part[3])):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, *size, 0, across, up, byref(x), byref(y))
        xs.append(x.value)
        ys.append(y.value)
    return max(min(xs), 0), max(min(ys), 0), min(max(xs) + 1, size[0]), min(max(ys) + 1, size[1])
