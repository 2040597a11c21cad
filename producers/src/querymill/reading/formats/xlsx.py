"""XLSX: the tables of each sheet; long ones are cut into pages that repeat the names of the columns."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any, Final
from zipfile import BadZipFile

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from querymill.reading.document import Document, Page, Remark, Unreadable
from querymill.reading.formats import Asked
from querymill.reading.formats.xlsx_parts import beside, merged_names
from querymill.reading.formats.zipped import checked, transitional
from querymill.reading.rules.grids import grid_table
from querymill.reading.rules.proposals import propose
from querymill.reading.rules.tables import Table

#: Rows of a table on one page, columns and cells of a sheet that are read.
ROWS_A_PAGE: Final = 100
MAX_COLUMNS: Final = 500
MAX_CELLS: Final = 2_000_000


def read(asked: Asked) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    try:
        book = openpyxl.load_workbook(transitional(asked.path), read_only=True, data_only=True, keep_links=False)
    except (KeyError, ValueError, InvalidFileException, BadZipFile) as error:
        raise Unreadable(f"a broken XLSX file: {str(error)[:200]}") from error
    texts: list[str] = []
    remarks: list[Remark] = []
    for number, sheet in enumerate(book.worksheets, 1):
        asked.on_page(number)
        rows, is_cut = _rows(sheet)
        texts.extend(_pages(sheet.title, rows, list(beside(sheet))))
        if is_cut:
            remarks.append(Remark(f"sheet {sheet.title}: only the first {MAX_CELLS} cells are read"))
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    about = book.properties
    proposed = propose(asked.name, [], title=about.title or "")
    metadata = {"author": about.creator, "sheets": [sheet.title for sheet in book.worksheets]}
    kept = {name: value for name, value in metadata.items() if value and value != "openpyxl"}
    return Document("xlsx", pages, proposed, kept, remarks)


def _rows(sheet: Any) -> tuple[list[list[str]], bool]:
    sheet.reset_dimensions()  # what a file says about its size may be wrong
    names = merged_names(sheet)
    rows: list[list[str]] = []
    cells = 0
    before: object = None
    for number, row in enumerate(sheet.iter_rows(max_col=MAX_COLUMNS), 1):
        if row is before or all(cell.value is None for cell in row):
            before = row  # a million of them may stand before a last one: of some, one separates tables
            if rows and rows[-1]:
                rows.append([])
            continue
        texts = [shown(cell) for cell in row]
        for first, last in names.get(number, ()):
            if last <= len(texts) and any(texts[: first - 1] + texts[last:]):
                texts[first - 1 : last] = [texts[first - 1]] * (last - first + 1)
        while texts and not texts[-1]:
            texts.pop()
        cells += len(texts) + 1
        if cells > MAX_CELLS:
            return rows, True
        rows.append(texts)
    return rows, False


def shown(cell: Any) -> str:
    """Return a cell as it is read: a share in percent if that is its form."""
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in (cell.number_format or ""):
        return f"{100 * value:.10g}%"
    return written(value)


def written(value: object) -> str:
    """Return the value of a cell as it is read: 0.1 + 0.2 is 0.3, a day has no time."""
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"{value:.12g}"
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
        case date() | time():
            return value.isoformat()
        case _:
            return str(value)


def _pages(name: str, rows: Sequence[Sequence[str]], others: Sequence[str] = ()) -> Iterator[str]:
    """Yield the pages of a sheet: its tables, which empty rows and columns separate, under its name, and ``others``."""
    blocks: list[str] = []
    for block in _blocks(rows):
        for side in _sides(block):
            title, grid = _titled(side)
            table = grid_table(grid)
            head = [name if not title or title == name else f"{name}: {title}"]
            if table is None:
                blocks.append(title)
            elif len(table.rows) <= ROWS_A_PAGE:
                blocks.append("\n\n".join([*([title] if title and title != name else []), table.markdown()]))
            else:
                for start in range(0, len(table.rows), ROWS_A_PAGE):
                    piece = Table(table.header, table.rows[start : start + ROWS_A_PAGE])
                    yield "\n\n".join([*head, piece.markdown()])
    if blocks or others:
        yield "\n\n".join([name, *blocks, *others])


def _blocks(rows: Sequence[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    held: list[Sequence[str]] = []
    for row in [*rows, []]:
        if any(row):
            held.append(row)
        elif held:
            yield held
            held = []


def _sides(block: Sequence[Sequence[str]]) -> Iterator[list[list[str]]]:
    """Yield the tables that stand beside each other."""
    count = max(map(len, block))
    padded = [[*row, *[""] * (count - len(row))] for row in block]
    start = None
    for column in range(count + 1):
        is_empty = column == count or not any(row[column] for row in padded)
        if is_empty and start is not None:
            yield [row[start:column] for row in padded]
            start = None
        elif not is_empty and start is None:
            start = column


def _titled(grid: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the title of a table, which stands alone in its first rows, and the rest of it."""
    titles: list[str] = []
    while grid and sum(map(bool, grid[0])) == 1 and grid[0][0] and (len(grid) == 1 or len(grid[0]) > 1):
        titles.append(grid[0][0])
        grid = grid[1:]
    return " · ".join(titles), grid
