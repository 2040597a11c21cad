"""The names of rows in tables, which questions ask by."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from querymill_workers.retrievers.reports.rules.layout import LineBlock, blocks

_CELL: Final = re.compile(r"(?:[^ \t]|[ ](?![ \t]))+")
_GAP: Final = re.compile(r"[ ]{2,}|\t+")
_RULE: Final = re.compile(r"[|:\-+=\s]*")
_BARE: Final = re.compile(r"[\s$€£¥()%*]*")
_DIGIT: Final = re.compile("[0-9]")
_YEAR: Final = re.compile(r"(?:FY ?)?(?:19|20)[0-9]{2}(?: ?Q[1-4])?")
#: Rows that name columns. A table with more of them is no table of values.
MAX_HEADER_ROWS: Final = 4


def row_names(text: str) -> list[str]:
    """Return the name of each row of the tables in a text, once for each of its values.

    For example, the rows ``| | 2019 | 2018 |``, ``| Fixed price | 1,452 | 1,146 |`` and ``| Other | 44 | |`` give
    "Fixed price", "Fixed price" and "Other". The rows above the first value name columns; years are names. Names of
    columns and values are not repeated: with them a table's entry was several times as long, and found less often.
    """
    return [name for block in blocks(text) if block.table for name in _names_of(block)]


def _names_of(block: LineBlock) -> Iterator[str]:
    has_bars = any("|" in line for line in block.lines)
    # Markdown has bars around each row. Some write them only between the cells.
    has_outer = has_bars and all(line.lstrip().startswith("|") for line in block.lines)
    lines = [line for line in block.lines if not _RULE.fullmatch(line)]
    rows = [_cells(line, has_bars=has_bars, has_outer=has_outer) for line in lines]
    header = list(takewhile(lambda row: not _has_value(row), rows))[:MAX_HEADER_ROWS] or rows[:1]
    for row in rows[len(header) :]:
        if row and row[0]:
            yield from [row[0]] * sum(_DIGIT.search(value) is not None for value in row[1:])


def _cells(line: str, *, has_bars: bool, has_outer: bool) -> list[str]:
    """Return the cells of a row, the name of the row first; a sign such as $ alone is no cell."""
    if has_bars:
        inner = line.strip().removeprefix("|").removesuffix("|") if has_outer else line
        return [part.strip() for part in inner.split("|")]
    cells = [cell for cell in _CELL.findall(line) if not _BARE.fullmatch(cell)]
    starts_late = line[:1].isspace() and bool(cells) and _GAP.match(line) is not None and _is_value(cells[0])
    return ["", *cells] if starts_late else cells


def _has_value(row: Sequence[str]) -> bool:
    return any(_is_value(cell) for cell in row[1:])


def _is_value(text: str) -> bool:
    return _DIGIT.search(text) is not None and _YEAR.fullmatch(text) is None and not text[:1].isalpha()
