"""Charts of Office files: their figures as tables, from the values that the file keeps beside the drawing."""

import re
from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.number_formats import DayNumber, shown_day

#: A form of figures that are days.
_OF_DAYS: Final = re.compile(r"[ymd]{2,}|[ymd][-/.]", re.I)
_CHART: Final = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
#: A diagram (SmartArt) in a drawing, and the name of the part that has its texts.
DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
DIAGRAM_DATA: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def texts_of_chart(root: Any) -> Iterator[str]:
    """Yield the title of a chart and its figures: a row for each category, a column for each series.

    All types of plots write their series alike.
    """
    if named := title_of_chart(root):
        yield named
    for plot in root.iter(f"{_CHART}plotArea"):
        series = list(plot.iter(f"{_CHART}ser"))
        names = ["".join(value.text or "" for value in _values_in(each, "tx")) for each in series]
        columns = [_points(each, "val", "yVal") for each in series]
        categories = next((found for each in series if (found := _points(each, "cat", "xVal"))), {})
        places = sorted({place for column in columns for place in column})
        rows = [[categories.get(place, ""), *(column.get(place, "") for column in columns)] for place in places]
        table = grid_table([["", *names], *rows])
        if table is not None:
            yield table.markdown()


def title_of_chart(root: Any) -> str:
    """Return the title of a chart, or nothing."""
    title = root.find(f"{_CHART}chart/{_CHART}title/{_CHART}tx/{_CHART}rich")
    lines = title.iter(f"{_DRAWING}p") if title is not None else ()
    return " ".join(filter(None, (" ".join("".join(line.itertext(f"{_DRAWING}t")).split()) for line in lines)))


def texts_of_diagram(root: Any) -> Iterator[str]:
    """Yield the texts of a diagram, a line each."""
    lines = (" ".join("".join(paragraph.itertext(f"{_DRAWING}t")).split()) for paragraph in root.iter(f"{_DRAWING}p"))
    text = "\n".join(filter(None, lines))
    if text:
        yield text


def _values_in(series: Any, name: str) -> Iterator[Any]:
    for part in series.iterchildren(f"{_CHART}{name}"):
        yield from part.iter(f"{_CHART}v")


def _points(series: Any, *names: str) -> dict[int, str]:
    """Return the values of a series, or its categories, by their places; those of several levels with all of them."""
    found: dict[int, str] = {}
    since = next(series.getroottree().iter(f"{_CHART}date1904"), None)
    is_since_1904 = since is not None and since.get("val") not in ("0", "false")
    for part in series.iterchildren(*(f"{_CHART}{name}" for name in names)):
        is_day = any(_OF_DAYS.search(code.text or "") for code in part.iter(f"{_CHART}formatCode"))
        for point in part.iter(f"{_CHART}pt"):
            value = point.findtext(f"{_CHART}v") or ""
            value = _day(value, is_since_1904=is_since_1904) if is_day else _plain(value)
            index = point.get("idx") or ""
            if not index.isascii() or not index.isdecimal():  # a damaged point costs itself
                continue
            place = int(index)
            found[place] = f"{value} {found[place]}" if place in found else value
    return found


def _day(value: str, *, is_since_1904: bool) -> str:
    """Return the number of a day in the form of ISO 8601; a name as it is."""
    try:
        return shown_day(DayNumber(float(value), is_since_1904), "yyyy-mm-dd")
    except ValueError:
        return value


def _plain(value: str) -> str:
    """Return a figure without the digits of its arithmetic; a name as it is."""
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return value
