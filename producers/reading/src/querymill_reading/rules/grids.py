"""Tables whose columns are known (DOCX, PPTX, XLSX): their rows of names become one, as in `tables`."""

from collections.abc import Sequence
from typing import Final

from querymill_reading.rules.tables import MAX_HEADER_ROWS, Table, is_value

#: A row in which one text alone stands above the names of columns is the title of the table.
_LEAST_COLUMNS: Final = 2


def grid_table(rows: Sequence[Sequence[str]]) -> Table | None:
    """Read a grid as a table: its first rows name the columns; None if it is empty.

    The names of several rows are joined ("2022 / EBIT"). A cell that was merged over several columns must stand in
    each of them. Columns and rows without a text are left out.
    """
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    if not filled:
        return None
    count = max(map(len, filled))
    padded = [[*map(_one_line, row), *[""] * (count - len(row))] for row in filled]
    kept = [at for at in range(count) if any(row[at] for row in padded)]
    grid = [[row[at] for at in kept] for row in padded]
    names = _rows_of_names(grid)
    header = [_joined([row[at] for row in grid[:names]]) for at in range(len(kept))]
    return Table(tuple(header), tuple(map(tuple, grid[names:])))


def _rows_of_names(grid: Sequence[Sequence[str]]) -> int:
    """Return how many rows name columns: those above the first value, but one if all are words or the first has one."""
    first = next((at for at, row in enumerate(grid) if any(is_value(cell) for cell in row[1:])), 1)
    names = min(max(first, 1), MAX_HEADER_ROWS, len(grid))
    # Rows of which only the first column is filled are headings of the rows below them.
    while names > 1 and not any(grid[names - 1][1:]):
        names -= 1
    return names


def _joined(names: Sequence[str]) -> str:
    return " / ".join(name for name in dict.fromkeys(names) if name)


def _one_line(text: str) -> str:
    return " ".join(text.split())
