"""PPTX: a page for each slide, with its tables, the figures of its charts, and the speaker's notes."""

from collections.abc import Iterator
from typing import Any, Final

import pptx
from pptx.exc import PackageNotFoundError

from querymill.reading.document import Document, Page, Remark, Unreadable
from querymill.reading.formats import Asked
from querymill.reading.formats.charts import texts_of_chart
from querymill.reading.formats.zipped import checked, transitional, xml_of
from querymill.reading.rules.grids import grid_table
from querymill.reading.rules.proposals import propose

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_DIAGRAM_DATA: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def read(asked: Asked) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    try:
        opened = pptx.Presentation(transitional(asked.path))
    except (KeyError, ValueError, PackageNotFoundError) as error:
        raise Unreadable(f"a broken PPTX file: {str(error)[:200]}") from error
    pages: list[Page] = []
    remarks: list[Remark] = []
    for number, slide in enumerate(opened.slides, 1):
        asked.on_page(number)
        text = "\n\n".join(_texts(slide))
        pages.append(Page(number, text))
        if not text:
            remarks.append(Remark("no text: a picture?", number))
    about = opened.core_properties
    firsts = (page.text.split("\n")[0] for page in pages if page.text)
    heading = next((line for line in firsts if not line.startswith("|")), "")
    proposed = propose(asked.name, [page.text for page in pages[:3]], title=about.title or "", heading=heading)
    metadata = {"author": about.author, "subject": about.subject}
    return Document("pptx", pages, proposed, {name: value for name, value in metadata.items() if value}, remarks)


def _texts(slide: Any) -> Iterator[str]:
    """Yield the title, then what is on the slide from the top, then the notes."""
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield " ".join(title.text_frame.text.split())
    shapes = [shape for shape in _flat(slide.shapes) if title is None or shape.shape_id != title.shape_id]
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        yield from _of_shape(shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.strip()
        if notes:
            yield f"Notes: {notes}"


def _flat(shapes: Any, depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < 20:
            yield from _flat(shape.shapes, depth + 1)
        else:
            yield shape


def _of_shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        table = grid_table(_grid(shape.table))
        if table is not None:
            yield table.markdown()
    elif getattr(shape, "has_chart", False):
        yield from texts_of_chart(shape.chart._chartSpace)  # noqa: SLF001  # the library knows a few types of plots
    elif (diagram := next(shape._element.iter(_DIAGRAM), None)) is not None:  # noqa: SLF001  # the library has no name for it
        yield from _of_diagram(shape.part.related_part(diagram.get(_DIAGRAM_DATA)).blob)
    elif shape.has_text_frame:
        text = "\n".join(line for line in shape.text_frame.text.replace("\v", "\n").split("\n") if line.strip())
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
