"""PPTX: a page for each slide, with its tables, the figures of its charts, and the speaker's notes."""

from collections.abc import Iterator
from typing import Any

import pptx
from pptx.exc import PackageNotFoundError

from querymill.reading.document import Document, Page, Remark, Unreadable
from querymill.reading.formats import Asked
from querymill.reading.formats.zipped import checked
from querymill.reading.rules.grids import grid_table
from querymill.reading.rules.proposals import propose


def read(asked: Asked) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    try:
        opened = pptx.Presentation(str(asked.path))
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
    heading = next((page.text.split("\n")[0] for page in pages if page.text), "")
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
        table = grid_table([[_cell(cell) for cell in row.cells] for row in shape.table.rows])
        if table is not None:
            yield table.markdown()
    elif getattr(shape, "has_chart", False):
        yield from _of_chart(shape.chart)
    elif shape.has_text_frame:
        text = "\n".join(line for line in shape.text_frame.text.replace("\v", "\n").split("\n") if line.strip())
        if text:
            yield text


def _cell(cell: Any) -> str:
    return "" if cell.is_spanned else str(cell.text_frame.text)


def _of_chart(chart: Any) -> Iterator[str]:
    """Yield the title of a chart and its figures: a row for each category, a column for each series."""
    if chart.has_title and chart.chart_title.has_text_frame and chart.chart_title.text_frame.text.strip():
        yield chart.chart_title.text_frame.text.strip()
    for plot in chart.plots:
        categories = [str(category) for category in plot.categories]
        series = list(plot.series)
        rows = [["", *(str(each.name or "") for each in series)]]
        for at, category in enumerate(categories):
            values = [list(each.values) for each in series]
            rows.append(
                [category, *("" if at >= len(held) or held[at] is None else f"{held[at]:g}" for held in values)]
            )
        table = grid_table(rows)
        if table is not None:
            yield table.markdown()
