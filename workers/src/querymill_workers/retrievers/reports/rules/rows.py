"""Tables as lines of words: each value with the names of its row and its column, as a question names it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from querymill_workers.retrievers.reports.rules.layout import Block, blocks

_GAP: Final = re.compile(r"[ ]{2,}|\t+")
_CELL: Final = re.compile(r"(?:[^ \t]|[ ](?![ \t]))+")
_RULE: Final = re.compile(r"[|:\-+=\s]*")
_BARE: Final = re.compile(r"[\s$€£¥()%*]*")
_DIGIT: Final = re.compile("[0-9]")
_YEAR: Final = re.compile(r"(?:FY ?)?(?:19|20)[0-9]{2}(?: ?Q[1-4])?")
#: Rows that name columns. A table with more of them is no table of values.
MAX_HEADER_ROWS: Final = 4
#: Columns of a table in blanks end within so many characters of the end of their name.
REACH: Final = 12


@dataclass(frozen=True, slots=True)
class _Cell:
    """The text of a cell. ``place`` is its column in a table with bars, and the end of its text in one with blanks."""

    text: str
    place: int


def row_lines(text: str) -> list[str]:
    """Return a line "row, column: value" for each value of the tables in a text.

    For example, the rows ``| | 2019 | 2018 |`` and ``| Fixed price | 1,452 | 1,146 |`` give "Fixed price, 2019: 1,452"
    and "Fixed price, 2018: 1,146". The columns are named by the rows above the first value; years are names. A value
    whose column has no name stands after its row alone: "Fixed price: 1,452".
    """
    return [line for block in blocks(text) if block.table for line in _lines_of(block)]


def _lines_of(block: Block) -> list[str]:
    has_bars = any("|" in line for line in block.lines)
    # Markdown has bars around each row. Some write them only between the cells.
    has_outer = has_bars and all(line.lstrip().startswith("|") for line in block.lines)
    lines_of_cells = [line for line in block.lines if not _RULE.fullmatch(line)]
    rows = [_cells(line, has_bars=has_bars, has_outer=has_outer) for line in lines_of_cells]
    header = list(takewhile(lambda row: not _has_value(row), rows))[:MAX_HEADER_ROWS] or rows[:1]
    reach = 0 if has_bars else REACH
    lines = []
    for row in rows[len(header) :]:
        name, *values = row or [_Cell("", 0)]
        for value in values:
            if _DIGIT.search(value.text) and name.text:
                column = _column(value, header, reach=reach)
                lines.append(f"{name.text}{', ' if column else ''}{column}: {value.text}")
    return lines


def _cells(line: str, *, has_bars: bool, has_outer: bool) -> list[_Cell]:
    """Return the cells of a row, the name of the row first; a sign such as $ alone is no cell."""
    if has_bars:
        inner = line.strip().removeprefix("|").removesuffix("|") if has_outer else line
        return [_Cell(part.strip(), place) for place, part in enumerate(inner.split("|"))]
    found = [_Cell(cell[0].strip(), cell.end()) for cell in _CELL.finditer(line)]
    cells = [cell for cell in found if not _BARE.fullmatch(cell.text)]
    starts_late = line[:1].isspace() and bool(cells) and _GAP.match(line) is not None and _is_value(cells[0].text)
    return [_Cell("", 0), *cells] if starts_late else cells


def _has_value(row: Sequence[_Cell]) -> bool:
    return any(_is_value(cell.text) for cell in row[1:])


def _is_value(text: str) -> bool:
    return _DIGIT.search(text) is not None and _YEAR.fullmatch(text) is None and not text[:1].isalpha()


def _column(value: _Cell, header: Sequence[Sequence[_Cell]], *, reach: int) -> str:
    """Return the names above a value, from the top."""
    names = []
    for row in header:
        near = [cell for cell in row if abs(cell.place - value.place) <= reach and cell.text]
        if near:
            names.append(min(near, key=lambda cell: abs(cell.place - value.place)).text)
    return " ".join(names)
