"""PPTX: a page for each slide, with its tables, the figures of its charts, and the speaker's notes and the comments."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pptx

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.charts import DIAGRAM, DIAGRAM_DATA, texts_of_chart, texts_of_diagram
from querymill_reading.formats.drawn_text import comments_in, text_in
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.pptx_drawn import drawn_on, is_decoration, shows_something
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.page_spans import pages_named
from querymill_reading.rules.pictures import PICTURE, became, described

_SLIDE: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_COMPATIBLE: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_INK: Final = f"{_SLIDE}contentPart"
_SHAPES: Final = frozenset([_INK, *(f"{_SLIDE}{name}" for name in ("sp", "grpSp", "graphicFrame", "cxnSp", "pic"))])
_EMBEDDED: Final = ("/oleObject", "/package", "/control")
#: What stands at the edges of a page of notes, and what repeats there otherwise: the slide, its number, a date.
_EDGES: Final = ("hdr", "ftr")
_REPEATED: Final = (*_EDGES, "sldImg", "sldNum", "dt")
#: Letters of what is left out that a remark has.
MAX_SHOWN: Final = 200
#: Groups within groups that are followed.
MAX_DEPTH: Final = 20


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    remarks = Remarks()
    opened, damaged = opened_by(pptx.Presentation, asked.path, "PPTX")
    pages: list[Page] = []
    edges: dict[str, None] = {}
    drawn: dict[str, list[int]] = defaultdict(list)
    # The library's list of slides needs every slide to be there.
    for number, listed in enumerate(opened._element.get_or_add_sldIdLst(), 1):  # noqa: SLF001
        texts: list[str] = []
        before = len(remarks.noted)
        is_empty = False
        with remarks.part(page=number):
            asked.on_page(number)
            slide = opened.part.related_slide(listed.rId)
            for member in (slide.part.partname, *_related(slide)):
                if why := damaged.pop(member.lstrip("/"), ""):
                    remarks.note(why, member.lstrip("/"), number)
            texts.extend(_texts(slide, number, remarks))
            edges.update(dict.fromkeys(_edges_of_notes(slide)))
            for kind in drawn_on(slide._element):  # noqa: SLF001
                drawn[kind].append(number)
            is_empty = not shows_something(slide._element)  # noqa: SLF001
            _note_left_out(slide, number, remarks)
        pages.append(Page(number, "\n\n".join(texts)))
        if not texts and len(remarks.noted) == before and not is_empty:
            remarks.note("no text: a picture?", page=number)
    for member, why in damaged.items():
        remarks.note(why, member)
    _count_drawn(drawn, pages, remarks)
    remarks.count(len(edges), "header or footer of the notes", f"left out: {'; '.join(edges)[:MAX_SHOWN]}")
    proposed, metadata = _proposed(opened, asked.name, pages, remarks)
    return Document("pptx", pages, proposed, metadata, remarks.noted)


def _count_drawn(drawn: Mapping[str, Sequence[int]], pages: Sequence[Page], remarks: Remarks) -> None:
    """Count what is drawn on slides and is no text, by its kind and the numbers of its slides."""
    for kind, numbers in drawn.items():
        left: dict[str, list[int]] = defaultdict(list)
        for number, count in Counter(numbers).items():
            for some, what in became(count, [pages[number - 1].text] if kind == PICTURE else []):
                left[what].extend([number] * some)
        for what, places in left.items():
            remarks.count(len(places), kind, what, pages_named(sorted(set(places))))


def _note_left_out(slide: Any, number: int, remarks: Remarks) -> None:
    if slide._element.get("show") in ("0", "false"):  # noqa: SLF001  # the library has no name for it
        remarks.note("a hidden slide, read all the same", page=number)
    embedded = sum(relation.reltype.endswith(_EMBEDDED) for relation in slide.part.rels.values())
    remarks.count(embedded, "embedded file", "left out", page=number)


def _related(slide: Any) -> list[str]:
    """Return the members of the package that a slide shows, such as its pictures and charts."""
    return [relation.target_part.partname for relation in slide.part.rels.values() if not relation.is_external]


def _proposed(opened: Any, name: str, pages: list[Page], remarks: Remarks) -> tuple[dict[str, str], dict[str, str]]:
    """Return what is proposed for a report, and the metadata."""
    title, metadata = "", {}
    with remarks.part("properties"):
        about = opened.core_properties
        title = about.title or ""
        metadata = {name: value for name in ("author", "subject") if (value := getattr(about, name))}
    firsts = (page.text.split("\n")[0] for page in pages if page.text)
    heading = next((line for line in firsts if not line.startswith("|")), "")
    return proposals(remarks, name, [page.text for page in pages[:3]], title=title, heading=heading), metadata


def _texts(slide: Any, number: int, remarks: Remarks) -> Iterator[str]:
    """Yield the title, then what is on the slide from the top, then the notes."""
    title = None
    with remarks.part("title", number):
        title = slide.shapes.title
        text = _plain_text(title)
        if text:
            yield " ".join(text.split())
        else:
            title = None  # a picture, a table or a chart in its place is read as every other shape
    shapes = [
        shape
        for shape in _flat(slide.shapes, number, remarks)
        if title is None or shape._element is not title._element  # noqa: SLF001  # an id may be damaged
    ]
    for shape in sorted(shapes, key=lambda each: _place(each, number, remarks)):
        with remarks.part(_name(shape), number):
            yield from _of_shape(shape)
            if text := _described(shape._element):  # noqa: SLF001
                yield text
    yield from _said(slide, number, remarks)


def _place(shape: Any, number: int, remarks: Remarks) -> tuple[int, int]:
    """Return how far a shape is from the top and the left."""
    if hasattr(shape._element, "y"):  # noqa: SLF001  # an element that the library does not know has no place
        with remarks.part(f"the place of {_name(shape)}", number):
            return shape.top or 0, shape.left or 0
    return 0, 0


def _said(slide: Any, number: int, remarks: Remarks) -> Iterator[str]:
    """Yield the speaker's notes and the comments."""
    with remarks.part("notes", number):
        texts = (text_in(shape).strip() for shape, kind in _shapes_of_notes(slide) if kind not in _REPEATED)
        if notes := "\n".join(filter(None, texts)):
            yield f"Notes: {notes}"
    with remarks.part("comments", number):
        for relation in slide.part.rels.values():
            if relation.reltype.endswith("/comments") and not relation.is_external:
                yield from comments_in(xml_of(relation.target_part.blob))


def _shapes_of_notes(slide: Any) -> Iterator[tuple[Any, str]]:
    """Yield what stands on the page of the speaker's notes, and which place of such a page it takes."""
    if slide.has_notes_slide:
        for shape in _elements(slide.notes_slide.shapes._element):  # noqa: SLF001
            place = next(shape.iter(f"{_SLIDE}ph"), None)
            yield shape, (place.get("type") or "") if place is not None else ""


def _edges_of_notes(slide: Any) -> Iterator[str]:
    """Yield what stands at the edges of every page of notes."""
    for shape, kind in _shapes_of_notes(slide):
        text = " ".join(text_in(shape).split())
        if kind in _EDGES and any(letter.isalpha() for letter in text):
            yield text


def _flat(shapes: Any, number: int, remarks: Remarks, depth: int = 0) -> Iterator[Any]:
    """Yield shapes, those in groups instead of the groups."""
    # The public iterator of the library ends with the first element that it makes no shape of.
    for element in _elements(shapes._element):  # noqa: SLF001
        if element.tag == _INK:
            remarks.note("a drawing by hand: left out", _named(element), number)
            continue
        with remarks.part(_named(element), number):
            shape = shapes._shape_factory(element)  # noqa: SLF001
            if hasattr(shape, "shapes") and depth < MAX_DEPTH:
                yield from _flat(shape.shapes, number, remarks, depth + 1)
            else:
                yield shape


def _elements(tree: Any) -> Iterator[Any]:
    """Yield what is drawn in a tree of shapes; of several forms of one thing the first."""
    for element in tree:
        if element.tag in _SHAPES:
            yield element
        elif element.tag == _COMPATIBLE:
            yield from next((drawn for form in element if (drawn := list(_elements(form)))), [])


def _name(shape: Any) -> str:
    return _named(shape._element)  # noqa: SLF001  # the library's name raises if the file has none


def _named(element: Any) -> str:
    """Return how PowerPoint's list of a slide's objects calls one."""
    properties = next(element.iter(f"{_SLIDE}cNvPr"), None)
    return (properties.get("name") if properties is not None else None) or "a shape without a name"


def _described(element: Any) -> str:
    """Return the description of what is drawn, unless it is there for decoration."""
    properties = next(element.iter(f"{_SLIDE}cNvPr"), None)
    if properties is None or is_decoration(properties):
        return ""
    return described(properties.get("descr") or properties.get("title"))


def _plain_text(shape: Any) -> str:
    """Return the text of a shape, or nothing if it is of a kind that has none, such as a picture or a chart."""
    return text_in(shape._element).strip() if shape is not None and shape.has_text_frame else ""  # noqa: SLF001


def _of_shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        table = grid_table(_grid(shape.table))
        if table is not None:
            yield table.markdown()
    elif getattr(shape, "has_chart", False):
        yield from texts_of_chart(shape.chart._chartSpace)  # noqa: SLF001  # the library knows a few types of plots
    elif (diagram := next(shape._element.iter(DIAGRAM), None)) is not None:  # noqa: SLF001  # the library has no name for it
        yield from texts_of_diagram(xml_of(shape.part.related_part(diagram.get(DIAGRAM_DATA)).blob))
    else:
        text = "\n".join(line for line in _plain_text(shape).split("\n") if line.strip())
        if text:
            yield text


def _text_of_cell(cell: Any) -> str:
    return text_in(cell._tc)  # noqa: SLF001  # the library's text lacks formulas


def _grid(table: Any) -> list[list[str]]:
    """Return the rows; a merged cell stands in each of its columns and rows, a title over all columns in the first.

    A row that has a text of merged cells alone belongs to the one above, and is left out.
    """
    grid = [["" if cell.is_spanned else _text_of_cell(cell) for cell in row.cells] for row in table.rows]
    have_text = [any(map(str.strip, row)) for row in grid]
    for at, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            if cell.is_merge_origin and cell.span_width < len(grid[at]):
                for spanned in grid[at : at + cell.span_height]:
                    spanned[column : column + cell.span_width] = [grid[at][column]] * cell.span_width
    return [row for row, has_text in zip(grid, have_text, strict=True) if has_text]
