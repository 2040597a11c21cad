"""Tables whose columns are known (DOCX, PPTX, XLSX): their rows of names become one, as in `tables`."""

from collections.abc import Iterable, Sequence

from querymill_reading.rules.column_names import goes_on_in_numbers, goes_on_naming, is_small_numeral
from querymill_reading.rules.tables import LOOKED_AT, MAX_HEADER_ROWS, is_value
from querymill_reading.rules.written_tables import Table


def grid_table(rows: Sequence[Sequence[str]], *, names: int | None = None) -> Table | None:
    """Read a grid as a table: its first rows name the columns, ``names`` of them if that is known; None if it is empty.

    The names of several rows are joined ("2022 / EBIT"). A cell that was merged over several columns must stand in
    each of them. Columns and rows without a text are left out.
    """
    grid = _compact(rows)
    if not grid:
        return None
    names = count_names(grid) if names is None else names
    header = joined_names(grid[:names])
    return Table(tuple(header), tuple(tuple(map(_one_line, row)) for row in grid[names:]))


def count_names(grid: Sequence[Sequence[str]]) -> int:
    """Return how many rows name columns: those above the first value that do; one if none has one, or the first has."""
    first = next((at for at, row in enumerate(grid) if any(_is_figure(grid, at, c) for c in range(1, len(row)))), 1)
    names = min(max(first, 1), MAX_HEADER_ROWS, len(grid))
    names = next((at for at in range(1, names) if not goes_on_naming(grid[at], grid[:at])), names)
    # Rows of which only the first column is filled are headings of the rows below them.
    while names > 1 and not any(grid[names - 1][1:]):
        names -= 1
    return names


def joined_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the name of each column: those of several rows with a stroke between them."""
    columns = (dict.fromkeys(map(_one_line, names)) for names in zip(*rows, strict=True))
    return [" / ".join(filter(None, names)) for names in columns]


def in_cell(rows: Iterable[Sequence[str]]) -> str:
    """Return a table that stands in a cell of another one on one line, with bars and strokes between cells and rows."""
    return " / ".join(" | ".join(map(_one_line, row)).rstrip(" |") for row in _compact(rows))


def _compact(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the rows and columns that have a text."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    count = max(map(len, filled), default=0)
    padded = [[*(cell.strip() for cell in row), *[""] * (count - len(row))] for row in filled]
    kept = [at for at in range(count) if any(row[at] for row in padded)]
    return [[row[at] for at in kept] for row in padded]


def _is_figure(grid: Sequence[Sequence[str]], at: int, column: int) -> bool:
    """Return whether a cell holds a value, or the number of a page before the first."""
    text = grid[at][column]
    if is_small_numeral(text):
        return goes_on_in_numbers([row[column] for row in grid[at : at + LOOKED_AT]])
    return is_value(text)


def _one_line(text: str) -> str:
    return " ".join(text.split())
