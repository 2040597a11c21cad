"""Charts of Office files: their titles, and their figures as tables, from the values kept beside the drawing."""

from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.formats.chart_labels import CHART, Labels, in_form, is_since_1904
from querymill_reading.rules.grids import grid_table

_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
#: Charts of the kinds that came in 2016, such as funnels.
_NEWER: Final = "{http://schemas.microsoft.com/office/drawing/2014/chartex}"
_AXES: Final = (*(f"{CHART}{name}Ax" for name in ("cat", "date", "ser", "val")), f"{_NEWER}axis")
#: A diagram (SmartArt) in a drawing, and the name of the part that has its texts.
DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
DIAGRAM_DATA: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def texts_of_chart(root: Any) -> Iterator[str]:
    """Yield the titles of a chart and its figures: a row for each category, a column for each series.

    All types of plots write their series alike.
    """
    yield from titles_of_chart(root)
    for plot in root.iter(f"{CHART}plotArea"):
        series = list(plot.iter(f"{CHART}ser"))
        names = ["".join(value.text or "" for value in _values_in(each, "tx")) for each in series]
        columns = [_points(each, "val", "yVal") for each in series]
        categories = next((found for each in series if (found := _points(each, "cat", "xVal"))), {})
        places = sorted({place for column in columns for place in column})
        rows = [[categories.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
        table = grid_table([["", *names], *rows])
        if table is not None:
            yield table.markdown()


def titles_of_chart(root: Any) -> Iterator[str]:
    """Yield the title of a chart, and those of its axes that are shown."""
    for space in (CHART, _NEWER):
        title = root.find(f"{space}chart/{space}title")
        if title is not None and (text := _text_of(title)):
            yield text
    for axis in root.iter(*_AXES):
        is_shown = axis.get("hidden") not in ("1", "true")
        for part in axis:
            if part.tag == f"{CHART}delete":
                is_shown = part.get("val") in ("0", "false")
        title = axis.find("{*}title")
        if is_shown and title is not None and (text := _text_of(title)):
            yield f"Axis: {text}"


def _text_of(title: Any) -> str:
    """Return a title: its own lines, or those of the cell that it is taken from."""
    lines = ["".join(line.itertext(f"{_DRAWING}t")) for line in title.iter(f"{_DRAWING}p")]
    if not any(map(str.strip, lines)):
        lines = [value.text or "" for value in title.iter(f"{CHART}v", f"{_NEWER}v")]
    return " ".join(" ".join(lines).split())


def texts_of_diagram(root: Any) -> Iterator[str]:
    """Yield the texts of a diagram, a line each."""
    lines = (" ".join("".join(paragraph.itertext(f"{_DRAWING}t")).split()) for paragraph in root.iter(f"{_DRAWING}p"))
    text = "\n".join(filter(None, lines))
    if text:
        yield text


def _values_in(series: Any, name: str) -> Iterator[Any]:
    for part in series.iterchildren(f"{CHART}{name}"):
        yield from part.iter(f"{CHART}v")


def _points(series: Any, *names: str) -> dict[int, str]:
    """Return the values of a series as its chart shows them, or its categories, by their places.

    Categories of several levels have all of them.
    """
    found: dict[int, str] = {}
    is_1904 = is_since_1904(series)
    labels = Labels.of(series) if "val" in names else None
    for part in series.iterchildren(*(f"{CHART}{name}" for name in names)):
        written = part.findtext(f".//{CHART}formatCode") or ""
        figures = [point.findtext(f"{CHART}v") or "" for point in part.iter(f"{CHART}pt")]
        for point, value in zip(part.iter(f"{CHART}pt"), figures, strict=True):
            index = point.get("idx") or ""
            if not index.isascii() or not index.isdecimal():  # a damaged point costs itself
                continue
            place = int(index)
            code = point.get("formatCode") or written
            if labels is not None:
                value = labels.shown(place, value, code, figures, is_1904=is_1904)  # noqa: PLW2901
            else:
                value = in_form(value, code, is_1904=is_1904, is_exact=True)  # noqa: PLW2901
            found[place] = f"{value} {found[place]}" if place in found else value
    return found
