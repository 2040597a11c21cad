"""XLSX: the tables of each sheet; long ones are cut into pages that repeat the names of the columns."""

from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from itertools import takewhile
from typing import Any, BinaryIO, Final

from querymill_reading.document import Document, Page, Remarks, Unreadable
from querymill_reading.formats.packages import opened_by
from querymill_reading.formats.xlsx_book import Book
from querymill_reading.formats.xlsx_parts import Merged, beside, merged_cells
from querymill_reading.formats.zipped import checked
from querymill_reading.read_request import ReadRequest, proposals
from querymill_reading.rules.number_formats import DayNumber, shown_day, shown_number, shown_time
from querymill_reading.rules.sheets import sheet_pages
from querymill_reading.rules.tables import MAX_HEADER_ROWS

#: Columns and cells of a sheet that are read.
MAX_COLUMNS: Final = 500
MAX_CELLS: Final = 2_000_000
#: Merged cells that make one row of several, at least: a single one may be a title.
LEAST_MERGED: Final = 2


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
                if not _read_rows(sheet, rows, remarks, place, most=asked.limits.characters):
                    remarks.note(f"only the first {MAX_CELLS} cells are read", place)
            sheet.note_left_out(remarks, place)
            others.extend(beside(sheet, remarks, place))
        with remarks.part(place):
            texts.extend(sheet_pages(name, rows, others))
    pages = [Page(number, text) for number, text in enumerate(texts, 1)]
    title, author = book.title_and_author()
    proposed = proposals(remarks, asked.name, [], title=title)
    metadata = {"author": author, "sheets": sheets}
    kept = {name: value for name, value in metadata.items() if value and value != "openpyxl"}
    return Document("xlsx", pages, proposed, kept, remarks.noted)


def _read_rows(sheet: Any, rows: list[list[str]], remarks: Remarks, place: str, *, most: int) -> bool:
    """Add the rows of a sheet to ``rows``. Return False if there are more than are read.

    Raises:
        Unreadable: They have more than ``most`` characters: cells may share a text that is long.
    """
    merged: Mapping[int, Sequence[Merged]] = {}
    with remarks.part(f"{place}, merged cells"):
        merged = merged_cells(sheet)
    cells = beyond = last = characters = 0
    names: dict[Merged, str] = {}
    alone: list[tuple[int, Merged]] = []
    for number, row in sheet.numbered_rows():
        texts, more = _texts(row)
        beyond += more
        characters += sum(map(len, texts))
        if characters > most:
            rows.clear()
            raise Unreadable(f"more than {most} characters")
        if not any(texts):
            continue
        if rows and not all(_goes_over(between, merged, names) for between in range(last + 1, number)):
            rows.append([])  # a million may be empty before a last one: one separates tables
        last = number
        _spread(texts, number, merged.get(number, ()), names)
        _trim(texts)
        if sum(map(bool, texts)) == 1:
            alone.extend((len(rows), cells) for cells in merged.get(number, ()) if cells.top == number and names[cells])
        cells += len(texts) + 1
        if cells > MAX_CELLS:
            break
        rows.append(texts)
    _spread_alone(rows, alone)
    remarks.count(beyond, "cell", f"beyond column {MAX_COLUMNS} left out", place)
    return cells <= MAX_CELLS


def _trim(texts: list[str]) -> None:
    while texts and not texts[-1]:
        texts.pop()


def _texts(row: Sequence[Any]) -> tuple[list[str], int]:
    """Return the texts of a row, and how many cells stand in columns that are not read."""
    texts = [""] * min(max((cell.column for cell in row), default=0), MAX_COLUMNS)
    beyond = 0
    for cell in row:
        text = shown(cell).strip()
        if 0 < cell.column <= MAX_COLUMNS:
            texts[cell.column - 1] = text
        elif text:
            beyond += 1
    return texts, beyond


def _goes_over(row: int, merged: Mapping[int, Sequence[Merged]], names: Mapping[Merged, str]) -> bool:
    """Return whether a row without a text belongs to the one above, several cells of which reach over it."""
    return sum(cells.top < row and bool(names.get(cells)) for cells in merged.get(row, ())) >= LEAST_MERGED


def _spread(texts: list[str], row: int, merged: Sequence[Merged], names: dict[Merged, str]) -> None:
    """Write the text of merged cells into each column and row that they cover, if the row has another text."""
    filled = [at for at, text in enumerate(texts, 1) if text]
    for cells in merged:
        if row == cells.top:
            names[cells] = texts[cells.left - 1] if cells.left <= len(texts) else ""
        name = names.get(cells, "")
        right = min(cells.right, MAX_COLUMNS)
        if name and cells.left <= right and any(not cells.left <= at <= cells.right for at in filled):
            texts.extend([""] * (right - len(texts)))
            texts[cells.left - 1 : right] = [name] * (right - cells.left + 1)


def _spread_alone(rows: list[list[str]], alone: Sequence[tuple[int, Merged]]) -> None:
    """Write merged cells that have a row alone into each of their columns, if they are beside the first one.

    They are names of columns of the rows below them then, else titles.
    """
    for at, cells in alone:
        below = takewhile(any, rows[at + 1 : at + 1 + MAX_HEADER_ROWS])
        if at < len(rows) and any(any(row[: cells.left - 1]) for row in below):
            right = min(cells.right, MAX_COLUMNS)
            rows[at] = [*rows[at][: cells.left - 1], *[rows[at][-1]] * (right - cells.left + 1)]


def shown(cell: Any) -> str:
    """Return a cell as its format shows it."""
    match cell.value:
        case None:
            return ""
        case bool():
            return "TRUE" if cell.value else "FALSE"
        case DayNumber():
            return shown_day(cell.value, _form(cell))
        case int() | float():
            return shown_number(cell.value, _form(cell))
        case date() | time() | timedelta():
            return shown_time(cell.value, _form(cell))
        case _:
            return str(cell.value)


def _form(cell: Any) -> str:
    """Return the form in which a figure is shown, or nothing if the workbook lacks the style of the cell."""
    try:
        return cell.number_format or ""
    except (IndexError, KeyError):
        return ""
