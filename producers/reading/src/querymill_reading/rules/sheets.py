"""Rows of a sheet become pages: its tables, which empty rows and columns separate, with the names of their columns."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from querymill_reading.rules.column_names import NAMES_COLUMNS
from querymill_reading.rules.first_rows import FirstRow, first_row_of
from querymill_reading.rules.grids import count_names, grid_table, joined_names
from querymill_reading.rules.separated import numbered, with_names
from querymill_reading.rules.tables import is_value
from querymill_reading.rules.written_tables import Table

#: Rows of a table on one page.
ROWS_A_PAGE: Final = 100
#: Columns with values of a table whose names hold for what stands below an empty row, at least.
LEAST_VALUES: Final = 2
#: A day, which may be the name of a column.
_DAY: Final = re.compile(r"\d{4}-\d{2}")

_Grid = Sequence[Sequence[str]]
#: A table, and whether its names hold for all of its rows without doubt.
_Found = tuple[Table | None, bool]


def sheet_pages(name: str, rows: _Grid, others: Sequence[str] = ()) -> Iterator[str]:
    """Yield the pages of a sheet: its tables, which empty rows and columns separate, under its name, and ``others``."""
    return _pages(name, _tables(_stripped(rows)), others)


def record_pages(name: str, rows: _Grid) -> Iterator[str]:
    """Yield the pages of separated values: one table, whose first row names the columns, if any does.

    Empty records separate tables only if the next one has names of its own.
    """
    grids = _records(_stripped(rows))
    return _pages(name, ((title, _of_records(grid)) for title, grid in grids))


def _of_records(grid: _Grid) -> _Found:
    """Return a table of separated values. Its first row is repeated if it names the columns, or numbers them."""
    named = with_names(grid)
    is_sure = len(named) > len(grid) or first_row_of(grid) is FirstRow.NAMES
    return grid_table(named, names=1), is_sure


def _of_sheet(grid: _Grid) -> _Found:
    """Return a table of a sheet. Its first row is repeated if it names the columns; above one of data stand numbers."""
    kind = first_row_of(grid) if grid and count_names(grid) == 1 else FirstRow.NAMES
    if kind is FirstRow.DATA and max(map(len, grid)) > 1:  # a list needs no name for its only column
        return grid_table(numbered(grid), names=1), True
    return grid_table(grid), kind is FirstRow.NAMES


def _pages(name: str, tables: Iterable[tuple[str, _Found]], others: Sequence[str] = ()) -> Iterator[str]:
    blocks: list[str] = []
    for title, (table, is_sure) in tables:
        head = [name if not title or title == name else f"{name}: {title}"]
        if table is None:
            blocks.append(title)
        elif len(table.rows) <= ROWS_A_PAGE:
            blocks.append("\n\n".join([*([title] if title and title != name else []), table.markdown()]))
        else:
            for start in range(0, len(table.rows), ROWS_A_PAGE):
                header = table.header if is_sure or not start else ("",) * len(table.header)
                piece = Table(header, table.rows[start : start + ROWS_A_PAGE])
                yield "\n\n".join([*head, piece.markdown()])
    if blocks or others:
        yield "\n\n".join([name, *blocks, *others])


def _stripped(rows: _Grid) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in rows]


def _tables(rows: _Grid) -> Iterator[tuple[str, _Found]]:
    """Yield the title and the table of each part of a sheet; a part without names has those of the part above it."""
    blocks = list(_blocks(rows))
    filled = [{at for row in block for at, cell in enumerate(row) if cell} for block in blocks]
    above: dict[int, list[str]] = {}
    for number, block in enumerate(blocks):
        near = set[int]().union(*filled[max(number - 1, 0) : number], *filled[number + 1 : number + 2])
        names: dict[int, list[str]] = {}
        for start, side in _sides(block, near):
            title, grid = _titled(side)
            if start in above and _lacks_names(grid, above[start]):
                width = len(above[start])
                grid = [above[start], *([*row, *[""] * (width - len(row))] for row in grid)]
            yield title, _of_sheet(grid)
            if held := _names_of_values(grid):
                names[start] = held
        above = names


def _lacks_names(grid: _Grid, above: Sequence[str]) -> bool:
    """Return whether a grid begins with figures, all in columns that are named above: several, or one in the last."""
    if not grid:
        return False
    figures = sum(is_value(cell) and not _DAY.match(cell) for cell in grid[0][1:])
    if figures < (LEAST_VALUES if len(grid[0]) < len(above) else 1):
        return False
    return all(not cell or (at < len(above) and above[at]) for row in grid for at, cell in enumerate(row) if at)


def _names_of_values(grid: _Grid) -> list[str]:
    """Return the names of the columns of a grid, if they are names of columns of values; nothing otherwise."""
    count = count_names(grid) if grid else 0
    if count == len(grid) or any(map(is_value, grid[0][1:])):
        return []
    names = joined_names(grid[:count])
    for at in range(1, len(names)):
        cells = [row[at] for row in grid[count:] if row[at]]
        if cells and 2 * sum(map(is_value, cells)) <= len(cells):
            return []
    return names if sum(map(bool, names[1:])) >= LEAST_VALUES else []


def _records(rows: _Grid) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the title and the rows of each table of separated values."""
    width = max((at + 1 for row in rows for at, cell in enumerate(row) if cell), default=0)
    title, held = "", list[list[str]]()
    for block in _blocks(rows):
        padded = [[*row[:width], *[""] * (width - len(row))] for row in block]
        alone = list(filter(None, padded[0]))
        own, grid = (alone[0], []) if len(padded) == len(alone) == 1 else _titled(padded)
        if not held:
            title, held = " · ".join(filter(None, (title, own))), grid
        elif _names_records(grid, held):
            yield title, held
            title, held = own, grid
        else:
            held.extend(padded)
    if title or held:
        yield title, held


def _names_records(grid: _Grid, above: _Grid) -> bool:
    """Return whether records after an empty one begin with names: they are wider, or have words above values."""
    if len(grid) < 2:
        return False
    first = [at for at, cell in enumerate(grid[0]) if cell]
    if max(first) > max(at for row in above for at, cell in enumerate(row) if cell):
        return True
    is_of_words = len(first) > 1 and not any(is_value(grid[0][at]) for at in first)
    return is_of_words and any(is_value(grid[1][at]) for at in first)


def _blocks(rows: _Grid) -> Iterator[list[Sequence[str]]]:
    held: list[Sequence[str]] = []
    for row in [*rows, []]:
        if any(row):
            held.append(row)
        elif held:
            yield held
            held = []


def _sides(block: _Grid, near: Collection[int]) -> Iterator[tuple[int, list[list[str]]]]:
    """Yield the tables that stand beside each other, each with its first column.

    A cell that is empty in a row alone, or before values alone, separates nothing if it is filled in the rows ``near``.
    """
    count = max(map(len, block))
    padded = [[*row, *[""] * (count - len(row))] for row in block]
    spans: list[tuple[int, int]] = []
    for start, end in _filled(padded, count):
        is_near = spans and all(at in near for at in range(spans[-1][1], start))
        if is_near and _belongs(padded, spans[-1], (start, end)):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    for start, end in spans:
        yield start, [row[start:end] for row in padded]


def _belongs(rows: _Grid, left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Return whether what stands beside a part is no table of its own: it has values alone, or is of a row alone.

    A merged cell in a row alone is a title.
    """
    if len(rows) == 1:
        wide = [set(rows[0][start:end]) for start, end in (left, right) if end - start > 1]
        if any(len(texts) == 1 and not any(map(is_value, texts)) for texts in wide):
            return False
        if wide:
            return True
    return all(is_value(cell) for row in rows for cell in row[right[0] : right[1]] if cell)


def _filled(rows: _Grid, count: int) -> Iterator[tuple[int, int]]:
    """Yield where columns with a text begin and end."""
    start = None
    for column in range(count + 1):
        is_empty = column == count or not any(row[column] for row in rows)
        if is_empty and start is not None:
            yield start, column
            start = None
        elif not is_empty and start is None:
            start = column


def _titled(grid: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the title of a table, which stands alone in its first rows, and the rest of it."""
    titles: list[str] = []
    while grid and sum(map(bool, grid[0])) == 1 and grid[0][0] and (len(grid) == 1 or len(grid[0]) > 1):
        titles.append(grid[0][0])
        grid = grid[1:]
    if len(grid) > 1 and _is_titles(grid[0], grid[1]):
        titles.extend(filter(None, grid[0]))
        grid = grid[1:]
    return " · ".join(titles), grid


def _is_titles(row: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a row has a title at its left and one at its right, above names of all columns but the first."""
    is_apart = len(row) > LEAST_VALUES and bool(row[0] and row[-1]) and not any(row[1:-1])
    return is_apart and not names[0] and all(map(NAMES_COLUMNS.search, names[1:])) and not NAMES_COLUMNS.search(row[-1])
