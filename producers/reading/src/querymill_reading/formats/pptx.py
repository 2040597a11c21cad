"""PPTX: a page for each slide, with its tables, the figures of its charts, and the speaker's notes."""

from collections.abc import Iterator
from typing import Any, Final

import pptx

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.charts import texts_of_chart
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.zipped import checked, xml_of
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_DATA: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
#: Groups within groups that are followed.
MAX_DEPTH: Final = 20


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    remarks = Remarks()
    opened, damaged = opened_by(pptx.Presentation, asked.path, "PPTX")
    pages: list[Page] = []
    # The library's list of slides needs every slide to be there.
    for number, listed in enumerate(opened._element.get_or_add_sldIdLst(), 1):  # noqa: SLF001
        texts: list[str] = []
        before = len(remarks.noted)
        with remarks.part(page=number):
            asked.on_page(number)
            slide = opened.part.related_slide(listed.rId)
            for member in (slide.part.partname, *_related(slide)):
                if why := damaged.pop(member.lstrip("/"), ""):
                    remarks.note(why, member.lstrip("/"), number)
            texts.extend(_texts(slide, number, remarks))
        pages.append(Page(number, "\n\n".join(texts)))
        if not texts and len(remarks.noted) == before:
            remarks.note("no text: a picture?", page=number)
    for member, why in damaged.items():
        remarks.note(why, member)
    proposed, metadata = _proposed(opened, asked.name, pages, remarks)
    return Document("pptx", pages, proposed, metadata, remarks.noted)


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
    placed = []
    for shape in _flat(slide.shapes, number, remarks):
        if title is None or shape._element is not title._element:  # noqa: SLF001  # an id may be damaged
            at = (0, 0)
            with remarks.part(f"the place of {_name(shape)}", number):
                at = (shape.top or 0, shape.left or 0)
            placed.append((at, shape))
    for _, shape in sorted(placed, key=lambda each: each[0]):
        with remarks.part(_name(shape), number):
            yield from _of_shape(shape)
    with remarks.part("notes", number):
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            if notes:
                yield f"Notes: {notes}"


def _flat(shapes: Any, number: int, remarks: Remarks, depth: int = 0) -> Iterator[Any]:
    """Yield shapes, those in groups instead of the groups."""
    # The public iterator of the library ends with the first element that it makes no shape of.
    for element in shapes._iter_member_elms():  # noqa: SLF001
        with remarks.part(_named(element), number):
            shape = shapes._shape_factory(element)  # noqa: SLF001
            if hasattr(shape, "shapes") and depth < MAX_DEPTH:
                yield from _flat(shape.shapes, number, remarks, depth + 1)
            else:
                yield shape


def _name(shape: Any) -> str:
    return _named(shape._element)  # noqa: SLF001  # the library's name raises if the file has none


def _named(element: Any) -> str:
    """Return how PowerPoint's list of a slide's objects calls one."""
    properties = next(element.iter(f"{_SLIDE}cNvPr"), None)
    return (properties.get("name") if properties is not None else None) or "a shape without a name"


def _plain_text(shape: Any) -> str:
    """Return the text of a shape, or nothing if it is of a kind that has none, such as a picture or a chart."""
    return str(shape.text_frame.text).strip() if shape is not None and shape.has_text_frame else ""


def _of_shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        table = grid_table(_grid(shape.table))
        if table is not None:
            yield table.markdown()
    elif getattr(shape, "has_chart", False):
        yield from texts_of_chart(shape.chart._chartSpace)  # noqa: SLF001  # the library knows a few types of plots
    elif (diagram := next(shape._element.iter(_DIAGRAM), None)) is not None:  # noqa: SLF001  # the library has no name for it
        yield from _of_diagram(shape.part.related_part(diagram.get(_DIAGRAM_DATA)).blob)
    else:
        text = "\n".join(line for line in _plain_text(shape).replace("\v", "\n").split("\n") if line.strip())
        if text:
            yield text


def _of_diagram(raw: bytes) -> Iterator[str]:
    """Yield the texts of a diagram (SmartArt), a line each."""
    lines = (
        " ".join("".join(paragraph.itertext(f"{_DRAWING}t")).split()) for paragraph in xml_of(raw).iter(f"{_DRAWING}p")
    )
    text = "\n".join(filter(None, lines))
    if text:
        yield text


def _grid(table: Any) -> list[list[str]]:
    """Return the rows; a merged cell stands in each of its columns and rows, a title over all columns in the first."""
    grid = [["" if cell.is_spanned else str(cell.text_frame.text) for cell in row.cells] for row in table.rows]
    for at, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            if cell.is_merge_origin and cell.span_width < len(grid[at]):
                for spanned in grid[at : at + cell.span_height]:
                    spanned[column : column + cell.span_width] = [grid[at][column]] * cell.span_width
    return grid
