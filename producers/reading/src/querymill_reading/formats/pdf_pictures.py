"""Pictures on pages of a PDF file that have other text: what stands in them is no text of the page."""

from collections import Counter
from collections.abc import Iterator, Sequence
from ctypes import byref, c_float
from typing import Any, Final

import pypdfium2.raw as pdfium

from querymill_reading.rules.letters import Letter

#: Left, bottom, right and top in points, ``y`` upwards.
Box = tuple[float, float, float, float]
_Matrix = tuple[float, float, float, float, float, float]

#: Objects of a page that are looked at, how deep they may be nested, and pictures of a page that are told apart.
MAX_OBJECTS: Final = 20_000
MAX_DEPTH: Final = 6
MAX_PICTURES: Final = 200
#: Curved shapes of a page that may be letters drawn as shapes, at least, and parts of a shape that are looked at.
LEAST_SHAPES: Final = 5
MAX_SEGMENTS: Final = 200
LETTER_SIDE: Final = 36.0
#: A picture that is lower, narrower or smaller is an ornament; in points, and in square points.
LEAST_SIDE: Final = 20.0
LEAST_AREA: Final = 1_600.0
#: The share of a picture that letters cover, at least, if they are its text or it is their ground.
COVERED: Final = 0.01
#: Parts of a picture are so near to each other, and alike so far, in points.
TOUCHING: Final = 2.0
#: A picture that stands at one place of so many pages, and of this share of them, is their ornament if it is small.
LEAST_PAGES: Final = 3
LEAST_SHARE: Final = 0.3
SMALL: Final = 0.1
_WHOLE: Final[_Matrix] = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def visible_part(page: Any) -> Box:
    """Return what of a page is shown: that which its crop box leaves."""
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page.raw, byref(box)):
        width, height = page.get_size()
        return 0.0, 0.0, width, height
    return box.left, box.bottom, box.right, box.top


def is_empty(page: Any) -> bool:
    """Return whether nothing is drawn on a page, nor put upon it."""
    return not pdfium.FPDFPage_CountObjects(page.raw) and not pdfium.FPDFPage_GetAnnotCount(page.raw)


def is_unwritten(page: Any) -> bool:
    """Return whether a page has no picture and no shapes of letters: lines are drawn on it, or blanks written."""
    shapes = looked_at = 0
    for looked_at, drawn in enumerate(drawn_on(page), 1):  # noqa: B007 - how many there are counts
        kind = pdfium.FPDFPageObj_GetType(drawn)
        if kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING):
            return False
        shapes += kind == pdfium.FPDF_PAGEOBJ_PATH and _is_like_letter(drawn)
    return looked_at < MAX_OBJECTS and shapes < LEAST_SHAPES


def drawn_on(page: Any) -> Iterator[Any]:
    """Yield what is drawn on a page, alone and within groups."""
    return (drawn for drawn, _ in _objects(page))


def _objects(page: Any) -> Iterator[tuple[Any, _Matrix]]:
    """Yield what is drawn on a page, alone and within groups, with what the groups around it do to its place."""
    left = [MAX_OBJECTS]
    for at in range(min(pdfium.FPDFPage_CountObjects(page.raw), MAX_OBJECTS)):
        yield from _held_by(pdfium.FPDFPage_GetObject(page.raw, at), _WHOLE, 0, left)


def _held_by(drawn: Any, matrix: _Matrix, depth: int, left: list[int]) -> Iterator[tuple[Any, _Matrix]]:
    """Yield what an object is or holds. ``left`` is how many objects are looked at yet."""
    left[0] -= 1
    if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_FORM:
        yield drawn, matrix
    elif depth < MAX_DEPTH and left[0] > 0:
        own = pdfium.FS_MATRIX()
        inner = matrix
        if pdfium.FPDFPageObj_GetMatrix(drawn, byref(own)):
            inner = _after((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
        for at in range(max(min(pdfium.FPDFFormObj_CountObjects(drawn), left[0]), 0)):
            yield from _held_by(pdfium.FPDFFormObj_GetObject(drawn, at), inner, depth + 1, left)


def _is_like_letter(path: Any) -> bool:
    """Return whether a path is as small as a letter, and not made of straight lines."""
    x0, y0, x1, y1 = c_float(), c_float(), c_float(), c_float()
    if not pdfium.FPDFPageObj_GetBounds(path, byref(x0), byref(y0), byref(x1), byref(y1)):
        return False
    if max(x1.value - x0.value, y1.value - y0.value) > LETTER_SIDE:
        return False
    count = min(pdfium.FPDFPath_CountSegments(path), MAX_SEGMENTS)
    segments = (pdfium.FPDFPath_GetPathSegment(path, at) for at in range(count))
    return any(pdfium.FPDFPathSegment_GetType(each) == pdfium.FPDF_SEGMENT_BEZIERTO for each in segments)


def pictures_on(page: Any, visible: Box, letters: Sequence[Letter]) -> list[Box]:
    """Return the pictures on a page over which no text lies, from the top, without ornaments; one in parts is one."""
    shown = [part for box in _boxes(page) if (part := _common(box, visible))]
    whole = _joined(_joined(shown, across=1), across=0)
    large = [box for box in whole if min(_sides(box)) >= LEAST_SIDE and _area(box) >= LEAST_AREA]
    inked = [letter for letter in letters if letter[0] > 0x20]
    found = [box for box in large[:MAX_PICTURES] if _inked(inked, box) < COVERED * _area(box)]
    return sorted(found, key=lambda box: (-box[3], box[0]))


def ornaments(pages: Sequence[Sequence[Box]], areas: Sequence[float]) -> set[tuple[int, ...]]:
    """Return the places of small pictures that many pages have, such as a mark of the house, as `place_of` tells them.

    ``areas`` are those of the pages, in square points.
    """
    seen = Counter(
        place
        for boxes, area in zip(pages, areas, strict=True)
        for place in {place_of(box) for box in boxes if _area(box) < SMALL * area}
    )
    many = max(LEAST_PAGES, LEAST_SHARE * len(pages))
    return {place for place, times in seen.items() if times >= many}


def place_of(box: Box) -> tuple[int, ...]:
    """Return where a picture stands, so far as it stands there on another page, too."""
    return tuple(round(side / (2 * TOUCHING)) for side in box)


def _boxes(page: Any) -> Iterator[Box]:
    """Yield the boxes of the pictures of a page."""
    x0, y0, x1, y1 = c_float(), c_float(), c_float(), c_float()
    for drawn, matrix in _objects(page):
        is_image = pdfium.FPDFPageObj_GetType(drawn) == pdfium.FPDF_PAGEOBJ_IMAGE
        if is_image and pdfium.FPDFPageObj_GetBounds(drawn, byref(x0), byref(y0), byref(x1), byref(y1)):
            yield _moved((x0.value, y0.value, x1.value, y1.value), matrix)


def _after(first: _Matrix, then: _Matrix) -> _Matrix:
    a, b, c, d, e, f = first
    x, y, z, w, u, v = then
    return a * x + b * z, a * y + b * w, c * x + d * z, c * y + d * w, e * x + f * z + u, e * y + f * w + v


def _moved(box: Box, matrix: _Matrix) -> Box:
    a, b, c, d, e, f = matrix
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _common(box: Box, other: Box) -> Box | None:
    found = max(box[0], other[0]), max(box[1], other[1]), min(box[2], other[2]), min(box[3], other[3])
    return found if found[0] < found[2] and found[1] < found[3] else None


def _joined(boxes: Sequence[Box], *, across: int) -> list[Box]:
    """Join boxes that touch or lie upon each other and have the same sides: ``across`` 1 above each other, 0 beside."""
    near, far = (0, 2) if across else (1, 3)
    low, high = (1, 3) if across else (0, 2)
    ordered = sorted(boxes, key=lambda box: (round(box[near] / TOUCHING), round(box[far] / TOUCHING), box[low]))
    found: list[Box] = []
    for box in ordered:
        last = found[-1] if found else None
        if last is not None and _is_like(last, box, (near, far), (low, high)):
            found[-1] = min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3])
        else:
            found.append(box)
    return found


def _is_like(one: Box, other: Box, sides: tuple[int, int], along: tuple[int, int]) -> bool:
    same = all(abs(one[side] - other[side]) <= TOUCHING for side in sides)
    return same and other[along[0]] - one[along[1]] <= TOUCHING


def _sides(box: Box) -> tuple[float, float]:
    return box[2] - box[0], box[3] - box[1]


def _area(box: Box) -> float:
    width, height = _sides(box)
    return width * height


def _inked(letters: Sequence[Letter], box: Box) -> float:
    """Return how much of a box is covered by letters."""
    return sum((each[3] - each[1]) * (each[4] - each[2]) for each in letters if _is_within(each, box))


def _is_within(letter: Letter, box: Box) -> bool:
    """Return whether the middle of a letter lies in a box."""
    _, left, low, right, high = letter
    return box[0] <= (left + right) / 2 <= box[2] and box[1] <= (low + high) / 2 <= box[3]
