"""HTML: the texts of tables, those that are there for the layout apart."""

from collections.abc import Iterator
from typing import Any, Final

from querymill_reading.formats.html_elements import (
    BLOCKS,
    BREAK_AFTER,
    BREAK_BEFORE,
    LEFT_OUT,
    alternative,
    is_hidden,
    labels_of,
    tag_of,
    texts_shown,
)
from querymill_reading.formats.mathml import formula
from querymill_reading.rules.tables import Cell, is_value, tables

#: Elements of a cell; one with more, or with this many characters, is there for the layout.
MAX_CELL_CHARS: Final = 1_500
#: Columns that a cell may span; more are written to exhaust the memory.
MAX_SPAN: Final = 200


def table_texts(table: Any) -> list[str] | None:
    """Return a table in Markdown, or its rows as lines if it has one column. None if it is there for the layout."""
    if next(table.iterdescendants("table"), None) is not None:
        return None
    rows = list(rows_of(table))
    if any(len(cell.text) > MAX_CELL_CHARS for row in rows for cell in row):
        return None
    filled = [row for row in rows if row]
    if not filled or any(_breaks(element) for element in table.iter()):
        return None if filled else []
    found = tables(filled)
    if found:
        return [table.markdown() for table in found]
    return [" ".join(cell.text for cell in row) for row in filled]


def captions_of(table: Any) -> list[str]:
    """Return what a table says above or below itself."""
    texts = (" ".join("".join(texts_shown(caption)).split()) for caption in table.iterchildren("caption"))
    return [text for text in texts if text]


def _breaks(element: Any) -> bool:
    style = (element.get("style") or "") if isinstance(element.tag, str) else ""
    return "break-" in style and bool(BREAK_BEFORE.search(style) or BREAK_AFTER.search(style))


def rows_of(table: Any) -> Iterator[list[Cell]]:
    """Yield the rows of a table with the place of each cell that has a text; spans over rows and columns count.

    A name that spans rows with values is the name of each.
    """
    below: dict[int, int] = {}
    name = Cell("", 0, 0)
    for row in table.iterdescendants("tr"):
        cells: list[Cell] = []
        column = 0
        taken = {at for at, rows in below.items() if rows > 0}
        below = {at: rows - 1 for at, rows in below.items() if rows > 1}
        for element in row.iterchildren("td", "th"):
            while column in taken:
                column += 1
            span, deep = _span(element, "colspan"), _span(element, "rowspan")
            if deep > 1:
                below.update({column + at: deep - 1 for at in range(span)})
            text = _cell_text(element)
            if text:
                is_head = element.tag == "th" or row.getparent().tag == "thead"
                cells.append(Cell(text, column + 0.05, column + span - 0.05, is_head))
            column += span
        if 0 in taken and any(is_value(cell.text) for cell in cells):
            cells.insert(0, name)
        elif 0 not in taken:
            name = cells[0] if cells and cells[0].x0 < 1 else Cell("", 0.05, 0.95)
        yield cells


def _span(element: Any, name: str) -> int:
    written = (element.get(name) or "1").strip()
    return min(max(int(written), 1), MAX_SPAN) if written.isdecimal() and len(written) < 6 else 1


def _cell_text(element: Any) -> str:
    return "" if is_hidden(element) else " ".join("".join(_cell_pieces(element)).split())


def _cell_pieces(element: Any) -> Iterator[str]:
    tag = tag_of(element)
    if tag in BLOCKS or tag == "br":
        yield " "
    if tag == "sup" and (sign := "".join(element.itertext()).strip("() \n")).isdecimal() and len(sign) < 3:
        yield f" [{sign}]"
    elif tag == "math":
        yield formula(element)
    elif tag == "img":
        yield alternative(element)
    elif tag:
        labels = dict(labels_of(element)) if tag == "ol" else {}
        yield element.text or ""
        for child in element:
            yield f" {labels[child]}" if child in labels else ""
            if tag_of(child) not in LEFT_OUT and not is_hidden(child):
                yield from _cell_pieces(child)
            yield child.tail or ""
