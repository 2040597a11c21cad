"""XLSX: the tables of each sheet; long ones are cut into pages that repeat the names of the columns."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, BinaryIO, Final

from querymill_reading.document import Document, Page, Remarks
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.xlsx_book import Book
from querymill_reading.formats.xlsx_parts import beside, merged_names
from querymill_reading.formats.zipped import checked
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.tables import Table

#: Rows of a table on one page, columns and cells of a sheet that are read.
ROWS_A_PAGE: Final = 100
MAX_COLUMNS: Final = 500
MAX_CELLS: Final = 2_000_000


def read(asked: ReadRequest) -> Document:
    """See `Format.read`."""
    checked(asked.path, asked.limits)
    with asked.path.open("rb") as stream:
        return _read(asked, stream)


def _read(asked: ReadRequest, stream: BinaryIO) -> Document:
    remarks = Remarks()

    def opened(source: str | BinaryIO) -> Book:
        # Of a path the engine wants a known ending, which an uploaded file lacks.
        return Book(stream if isinstance(source, str) else source, remarks=remarks)

    book, damaged = opened_by(opened, asked.path, "XLSX")
    for member, why in damaged.items():
        remarks.note(why, member)
    texts: list[str] = []
    sheets: list[str] = []
    for number, (name, make) in enumerate(book.sheets(), 1):
        place = f"sheet {name}"
        rows: list[list[str]] = []
        others: list[str] = []
        with remarks.part(place):
            asked.on_page(number)
            sheet = make()
            sheets.append(name)
            with remarks.part(place):
                if not _read_rows(sheet, rows, remarks, place):
                    remarks.note(f"only the first {MAX_CELLS} cells are read", place)
            others.extend(beside(sheet, remarks, place))
        with remarks.part(place):
            texts.extend(_pages(name, rows, others))
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    title, author = book.title_and_author()
    proposed = proposals(remarks, asked.name, [], title=title)
    metadata = {"author": author, "sheets": sheets}
    kept = {name: value for name, value in metadata.items() if value and value != "openpyxl"}
    return Document("xlsx", pages, proposed, kept, remarks.noted)


def _read_rows(sheet: Any, rows: list[list[str]], remarks: Remarks, place: str) -> bool:
    """Add the rows of a sheet to ``rows``. Return False if there are more than are read."""
    names: Mapping[int, Sequence[tuple[int, int]]] = {}
    with remarks.part(f"{place}, merged cells"):
        names = merged_names(sheet)
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
            return False
        rows.append(texts)
    return True


def shown(cell: Any) -> str:
    """Return a cell as it is read: a share in percent if that is its form."""
    value = cell.value
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in _form(cell):
        return f"{100 * value:.10g}%"
    return written(value)


def _form(cell: Any) -> str:
    """Return the form in which a figure is shown, or nothing if the workbook lacks the style of the cell."""
    try:
        return cell.number_format or ""
    except (IndexError, KeyError):
        return ""


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
