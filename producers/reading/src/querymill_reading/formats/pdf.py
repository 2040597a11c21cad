"""PDF: the letters with their places come from PDFium; words, columns, tables and paragraphs are made by our rules.

pypdfium2 was chosen because it is fast (70 to 300 pages/s with places, where pdfplumber reads 3 to 15), repairs broken
files, opens those with an empty password, and has permissive licences and wheels for every machine that we support.
"""

import io
from collections.abc import Iterator, Sequence
from ctypes import byref, c_float, c_int
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Any, Final

import pypdfium2
import pypdfium2.raw as pdfium

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.pdf_fonts import count_nameless
from querymill_reading.formats.pdf_forms import letters_of_fields, open_form
from querymill_reading.formats.pdf_letters import angles_of, letters_on, shown_in
from querymill_reading.formats.pdf_notes import note_embedded, notes_on
from querymill_reading.formats.pdf_pictures import (
    Box,
    is_empty,
    is_unwritten,
    ornaments,
    pictures_on,
    place_of,
    visible_part,
)
from querymill_reading.formats.pdf_scans import Scans
from querymill_reading.formats.pdf_symbols import with_signs_of_fonts
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.beginnings import HEAD
from querymill_reading.rules.directions import apart, count_aslant
from querymill_reading.rules.doubles import drawn_once
from querymill_reading.rules.furniture import Cleaned, without_furniture
from querymill_reading.rules.lattice import Post, with_tables
from querymill_reading.rules.layout import Rule, TextLine, Word, columns, lines_of, segments_of
from querymill_reading.rules.letters import Letter, is_turned, with_parted_ligatures, words_of
from querymill_reading.rules.paragraphs import blocks
from querymill_reading.rules.side_by_side import side_by_side
from querymill_reading.rules.wrapping import words_in

#: What is said of letters that only their shapes tell.
NAMELESS: Final = ("letter of a font that names no characters", "perhaps read as others")
#: What is said of signs of symbol fonts of which nobody knows what they show, and of codes that stand for nothing.
UNREAD: Final = ("sign of an unknown character", "left out")
#: What is said of letters that are drawn outside of what a page shows.
OUTSIDE: Final = ("letter that the page does not show", "left out")
#: What is said of pictures that are a mark of the house, and of a page without anything.
ORNAMENT: Final = ("picture that many pages have", "left out")
NOTHING: Final = "no text: nothing is drawn on it"
UNWRITTEN: Final = "no text: nothing is written on it, and it has no picture"
#: Drawn objects of a page that are looked at, and the height in points below which a box is a line.
MAX_DRAWN: Final = 4_000
FLAT: Final = 4.0
#: A drawn page: pixels a point, for screens with two pixels a dot, and pixels of its longer side.
MAX_SCALE: Final = 2.0
MAX_SIDE_PX: Final = 1_600


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    remarks = Remarks()
    has_form, about = False, {}
    scans = Scans(asked.ocr, asked.limits, remarks)
    with _opened(asked.path, asked.password) as document:
        with remarks.part("form"):
            has_form = open_form(document)
        count = len(document)
        if count > asked.limits.pages:
            raise Unreadable(f"{count} pages, at most {asked.limits.pages} are read")
        sheets = [_Sheet() for _ in range(count)]
        for number, sheet in enumerate(sheets, 1):
            with remarks.part(page=number):
                asked.on_page(number)
                _read_page(document, number, sheet, remarks, scans, has_form=has_form)
        _read_pictures(document, sheets, scans, asked)
        scans.note_read()
        labels = [""] * count
        with remarks.part("page labels"):
            labels = [document.get_page_label(at) for at in range(count)]
        with remarks.part("embedded files"):
            note_embedded(document, remarks)
        with remarks.part("properties"):
            about = document.get_metadata_dict(skip_empty=True)
    pages = list(_pages(sheets, labels, remarks))
    covers = [
        sheet.scanned or "\n".join(line.text for column in sheet.columns for line in column) for sheet in sheets[:3]
    ]
    proposed = proposals(remarks, asked.name, covers, title=about.get("Title", ""), heading=_heading(sheets))
    metadata = {name.lower(): about[name] for name in ("Author", "Subject", "Keywords") if _is_said(about.get(name))}
    return Document("pdf", pages, proposed, metadata, remarks.noted)


@dataclass(slots=True)
class _Sheet:
    """The lines of a page, by columns, the horizontal rules on it, and the notes that people wrote upon it.

    ``scanned`` is the text of a page that has no lines, only a picture; ``pictures`` are those on one that has lines,
    ``in_pictures`` what is written in them, and ``area`` is that of the page, in square points.
    """

    columns: list[list[TextLine]] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scanned: str = ""
    pictures: list[Box] = field(default_factory=list)
    in_pictures: list[str] = field(default_factory=list)
    area: float = 0.0


def _is_said(value: str | None) -> bool:
    return bool(value and value.strip("() ").lower() not in ("", "anonymous", "unspecified", "unknown"))


def draw(content: bytes, number: int) -> bytes:
    """Return a page of a file, from 1, as a PNG picture of at most `MAX_SIDE_PX` pixels a side.

    Raises:
        Unreadable: The file is broken or encrypted, or has no such page.
    """
    with _opened(content) as document:
        open_form(document)
        if not 1 <= number <= len(document):
            raise Unreadable(f"the file has {len(document)} pages", number)
        try:
            page = document[number - 1]
            scale = min(MAX_SCALE, MAX_SIDE_PX / max(page.get_size()))
            picture = page.render(scale=scale).to_pil()
        except pypdfium2.PdfiumError as error:
            raise Unreadable(f"cannot be drawn: {error}", number) from error
    written = io.BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


def _opened(source: Path | bytes, password: str | None = None) -> Any:
    try:
        return pypdfium2.PdfDocument(_with_head(source), password=password)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            given = "the password does not open it" if password else "encrypted: a password is needed"
            raise Unreadable(given) from error
        raise Unreadable(f"a broken PDF file: {error}") from error


def _with_head(source: Path | bytes) -> Path | bytes:
    """Return a file with the beginning that the engine wants; it looks for all else by itself."""
    if isinstance(source, bytes):
        return source if HEAD in source[:1_024] else HEAD + b"1.7\n" + source
    with source.open("rb") as file:
        return source if HEAD in file.read(1_024) else HEAD + b"1.7\n" + source.read_bytes()


def _read_page(document: Any, number: int, sheet: _Sheet, remarks: Remarks, scans: Scans, *, has_form: bool) -> None:
    """Read a page, from 1, into ``sheet``."""
    posts: list[Post] = []
    try:
        page = document[number - 1]
    except pypdfium2.PdfiumError as error:
        raise Unreadable(f"a broken page: {error}") from error
    try:
        with remarks.part("notes", number):
            sheet.notes.extend(notes_on(page, number, remarks))
        before = len(remarks.noted)
        with remarks.part("lines of tables", number):
            sheet.rules, posts = _drawn(page)
        shown = visible_part(page)
        letters = page.get_textpage()
        try:
            found = with_parted_ligatures(list(letters_on(letters)))
            angles = angles_of(letters, len(found))
            remarks.count(count_nameless(letters, found), *NAMELESS, page=number)
            found, unread = with_signs_of_fonts(page, letters, found)
            remarks.count(unread, *UNREAD, page=number)
            every = len(found)
            found, angles = shown_in(letters, found, angles, shown)
            outside = every - len(found)
        finally:
            letters.close()
        if has_form:
            with remarks.part("form", number):
                found.extend(list(letters_of_fields(document, page)))
            angles.extend([0.0] * (len(found) - len(angles)) if angles else ())
        empty = _why_empty(page, found)
        with remarks.part("pictures", number):
            sheet.pictures = pictures_on(page, shown, found)
        sheet.area = (shown[2] - shown[0]) * (shown[3] - shown[1])
    finally:
        page.close()
    aslant = count_aslant(angles)
    remarks.count(aslant, "letter at a slope", "read apart, perhaps in another order", page=number)
    for few in apart(found, angles) if angles else [found]:
        with remarks.part(page=number):
            once = drawn_once(few)
            if words := words_of(once):
                sheet.columns.extend(_columns(words, sheet.rules, posts, is_turned=is_turned(once)))
    if not sheet.columns:
        sheet.rules, sheet.pictures = [], []
        if empty and len(remarks.noted) == before:
            remarks.note(empty, page=number)
        elif not empty and (scans.ocr is not None or len(remarks.noted) == before):
            sheet.scanned = scans.text_of(document, number)
    remarks.count(outside, *OUTSIDE, page=number)


def _why_empty(page: Any, letters: Sequence[Letter]) -> str:
    """Return what is said of a page on which nothing is written; nothing of one that has a text or perhaps a scan."""
    if is_empty(page):
        return NOTHING
    return UNWRITTEN if not any(letter[0] > 0x20 for letter in letters) and is_unwritten(page) else ""


def _read_pictures(document: Any, sheets: Sequence[_Sheet], scans: Scans, asked: ReadRequest) -> None:
    """Read the pictures on pages that have other text, or add remarks about them."""
    marks = ornaments([sheet.pictures for sheet in sheets], [sheet.area for sheet in sheets])
    scans.remarks.count(len(marks), *ORNAMENT)
    for number, sheet in enumerate(sheets, 1):
        pictures = [box for box in sheet.pictures if place_of(box) not in marks]
        if pictures:
            with scans.remarks.part("pictures", number):
                if scans.ocr is not None:
                    asked.on_page(number)
                sheet.in_pictures.extend(scans.texts_in(document, number, pictures))


def _columns(words: Sequence[Word], rules: list[Rule], posts: list[Post], *, is_turned: bool) -> list[list[TextLine]]:
    segments = segments_of(words) if is_turned else with_tables(words, rules, posts)
    found = list(columns(segments))
    if len(found) == 1 and not is_turned and not any(each.table for each in segments):
        parts = side_by_side(words)
        found = [column for part in parts for column in columns(segments_of(part))] if len(parts) > 1 else found
    return [lines_of(column) for column in found]


def _drawn(page: Any) -> tuple[list[Rule], list[Post]]:
    """Return the horizontal and vertical lines that are drawn on a page, or filled as flat boxes, or around a box."""
    rules: list[Rule] = []
    posts: list[Post] = []
    left, bottom, right, top = c_float(), c_float(), c_float(), c_float()
    handle = page.raw
    for at in range(min(pdfium.FPDFPage_CountObjects(handle), MAX_DRAWN)):
        drawn = pdfium.FPDFPage_GetObject(handle, at)
        if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_PATH or not pdfium.FPDFPageObj_GetBounds(
            drawn, byref(left), byref(bottom), byref(right), byref(top)
        ):
            continue
        width, height = right.value - left.value, top.value - bottom.value
        if height < FLAT < width:
            rules.append(Rule(left.value, right.value, -top.value))
        elif width < FLAT < height:
            posts.append(Post(left.value, -top.value, -bottom.value))
        elif min(width, height) >= FLAT and _is_frame(drawn):
            rules.extend(Rule(left.value, right.value, -y) for y in (top.value, bottom.value))
            posts.extend(Post(x, -top.value, -bottom.value) for x in (left.value, right.value))
    return rules, posts


def _is_frame(path: Any) -> bool:
    """Return whether a path is the outline of a box, and not a curve, a sloping line or a coloured ground."""
    mode, is_stroked = c_int(), c_int()
    count = pdfium.FPDFPath_CountSegments(path)
    if not 4 <= count <= 5 or not pdfium.FPDFPath_GetDrawMode(path, byref(mode), byref(is_stroked)) or not is_stroked:
        return False
    x, y = c_float(), c_float()
    points = []
    for at in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(path, at)
        if pdfium.FPDFPathSegment_GetType(segment) == pdfium.FPDF_SEGMENT_BEZIERTO:
            return False
        pdfium.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
        points.append((x.value, y.value))
    return all(one[0] == other[0] or one[1] == other[1] for one, other in pairwise(points))


def _pages(sheets: Sequence[_Sheet], labels: Sequence[str], remarks: Remarks) -> Iterator[Page]:
    texts = [[line.text for column in sheet.columns for line in column] for sheet in sheets]
    cleaned_pages = [Cleaned(tuple(range(len(lines))), "") for lines in texts]
    with remarks.part("headers and footers"):
        cleaned_pages = without_furniture(texts)
    known = words_in(line for lines in texts for line in lines)
    for number, (sheet, cleaned, label) in enumerate(zip(sheets, cleaned_pages, labels, strict=True), 1):
        kept = set(cleaned.kept)
        written: list[str] = []
        first = 0
        for column in sheet.columns:
            stay = [line for at, line in enumerate(column, first) if at in kept]
            first += len(column)
            with remarks.part(page=number):
                written.extend(blocks(stay, sheet.rules, known))
        shown = label or cleaned.label
        written.extend(filter(None, (sheet.scanned, *sheet.in_pictures, *sheet.notes)))
        yield Page(number, "\n\n".join(written), "" if shown == str(number) else shown)


def _heading(sheets: Sequence[_Sheet]) -> str:
    """Return what stands largest on the first page that has text, if it stands out."""
    filled = (sheet.columns for sheet in sheets if sheet.columns)
    lines = [line for column in next(filled, []) for line in column]
    if len(lines) < 2:
        return ""
    largest = max(line.size for line in lines)
    usual = median_low(line.size for line in lines)
    if largest < 1.2 * usual:
        return ""
    first = next(at for at, line in enumerate(lines) if line.size > 0.95 * largest)
    title: list[str] = []
    for line in lines[first : first + 3]:
        if line.size <= 0.9 * largest:
            break
        title.append(line.text)
    return " ".join(title)
