"""PDF: the letters with their places come from PDFium; words, columns, tables and paragraphs are made by our rules.

pypdfium2 was chosen because it is fast (70 to 300 pages/s with places, where pdfplumber reads 3 to 15), repairs broken
files, opens those with an empty password, and has permissive licences and wheels for every machine that we support.
"""

import io
from collections.abc import Iterator, Sequence
from ctypes import byref, c_float, c_int
from itertools import pairwise
from math import degrees
from pathlib import Path
from statistics import median_low
from typing import Any, Final

import pypdfium2
import pypdfium2.raw as pdfium

from querymill.reading.document import Document, Page, Remark, Unreadable
from querymill.reading.formats import Asked
from querymill.reading.formats.pdf_forms import letters_of_fields, open_form
from querymill.reading.rules.directions import apart
from querymill.reading.rules.doubles import drawn_once
from querymill.reading.rules.furniture import without_furniture
from querymill.reading.rules.lattice import Post, with_tables
from querymill.reading.rules.layout import Line, Rule, Segment, columns, lines_of, segments_of
from querymill.reading.rules.letters import Letter, is_turned, words_of
from querymill.reading.rules.paragraphs import blocks
from querymill.reading.rules.proposals import propose

NO_TEXT: Final = "no text: a scanned picture? It needs a text layer (OCR)"
#: Letters of a page; more are no text that anybody reads.
MAX_LETTERS: Final = 200_000
#: One letter in so many is asked first whether it is turned.
ASKED: Final = 4
#: Drawn objects of a page that are looked at, and the height in points below which a box is a line.
MAX_DRAWN: Final = 4_000
FLAT: Final = 4.0
#: A drawn page: pixels a point, for screens with two pixels a dot, and pixels of its longer side.
MAX_SCALE: Final = 2.0
MAX_SIDE_PX: Final = 1_600


def read(asked: Asked) -> Document:
    """See `Format.read`."""
    with _opened(asked.path, asked.password) as document:
        has_form = open_form(document)
        count = len(document)
        if count > asked.limits.pages:
            raise Unreadable(f"{count} pages, at most {asked.limits.pages} are read")
        sheets: list[list[list[Segment]]] = []
        rules: list[list[Rule]] = []
        remarks: list[Remark] = []
        for number in range(1, count + 1):
            asked.on_page(number)
            sheet, drawn, why = _sheet(document, number - 1, has_form=has_form)
            sheets.append(sheet)
            rules.append(drawn)
            if why:
                remarks.append(Remark(why, number))
        labels = [document.get_page_label(at) for at in range(count)]
        about = document.get_metadata_dict(skip_empty=True)
    pages = list(_pages(sheets, rules, labels))
    covers = ["\n".join(line.text for column in sheet for line in lines_of(column)) for sheet in sheets[:3]]
    proposed = propose(asked.name, covers, title=about.get("Title", ""), heading=_heading(sheets))
    metadata = {name.lower(): about[name] for name in ("Author", "Subject", "Keywords") if _is_said(about.get(name))}
    return Document("pdf", pages, proposed, metadata, remarks)


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
        return pypdfium2.PdfDocument(source, password=password)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            given = "the password does not open it" if password else "encrypted: a password is needed"
            raise Unreadable(given) from error
        raise Unreadable(f"a broken PDF file: {error}") from error


def _sheet(document: Any, at: int, *, has_form: bool) -> tuple[list[list[Segment]], list[Rule], str]:
    """Return the columns of a page, the horizontal rules on it, and why there are none."""
    try:
        page = document[at]
    except pypdfium2.PdfiumError as error:
        return [], [], f"cannot be read: {error}"
    try:
        rules, posts = _drawn(page)
        letters = page.get_textpage()
        try:
            found = list(_letters(letters))
            angles = _angles(letters, len(found))
            if has_form:
                found.extend(letters_of_fields(document, page))
                angles.extend([0.0] * (len(found) - len(angles)) if angles else ())
        finally:
            letters.close()
    except pypdfium2.PdfiumError as error:
        return [], [], f"cannot be read: {error}"
    finally:
        page.close()
    directions = map(drawn_once, apart(found, angles) if angles else [found])
    written = [(words_of(few), is_turned(few)) for few in directions]
    sheet = [
        column
        for words, turned in written
        if words
        for column in columns(segments_of(words) if turned else with_tables(words, rules, posts))
    ]
    return (sheet, rules, "") if sheet else ([], [], NO_TEXT)


def _angles(text: Any, count: int) -> list[float]:
    """Return the angles by which letters are turned, in degrees; nothing if none of those that are asked is."""
    angle_of, handle = pdfium.FPDFText_GetCharAngle, text.raw
    if not any(angle_of(handle, at) > 0 for at in range(0, count, ASKED)):
        return []
    return [degrees(max(angle_of(handle, at), 0.0)) for at in range(count)]


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


def _letters(text: Any) -> Iterator[Letter]:
    """Yield the letters with their boxes: those of the font and the advance, not of the ink."""
    box = pdfium.FS_RECTF()
    pointer = byref(box)
    handle = text.raw
    unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
    for at in range(min(text.count_chars(), MAX_LETTERS)):
        code = unicode_of(handle, at)
        box_of(handle, at, pointer)
        yield code, box.left, box.bottom, box.right, box.top


def _pages(
    sheets: Sequence[Sequence[Sequence[Segment]]], rules: Sequence[Sequence[Rule]], labels: Sequence[str]
) -> Iterator[Page]:
    lined = [[lines_of(column) for column in sheet] for sheet in sheets]
    texts = [[line.text for column in sheet for line in column] for sheet in lined]
    read = zip(lined, without_furniture(texts), rules, labels, strict=True)
    for number, (sheet, cleaned, drawn, label) in enumerate(read, 1):
        kept = set(cleaned.kept)
        written: list[str] = []
        first = 0
        for column in sheet:
            stay = [line for at, line in enumerate(column, first) if at in kept]
            first += len(column)
            written.extend(blocks(stay, drawn))
        shown = label or cleaned.label
        yield Page(number, "\n\n".join(written), "" if shown == str(number) else shown)


def _heading(sheets: Sequence[Sequence[Sequence[Segment]]]) -> str:
    """Return what stands largest on the first page that has text, if it stands out."""
    lines: list[Line] = next(([line for column in sheet for line in lines_of(column)] for sheet in sheets if sheet), [])
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
