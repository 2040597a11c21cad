"""Rows of a sheet become pages: its tables, which empty rows and columns separate, with the names of their columns."""

from collections.abc import Iterator, Sequence
from typing import Final

from querymill_reading.rules.grids import grid_table
from querymill_reading.rules.tables import Table

#: Rows of a table on one page.
ROWS_A_PAGE: Final = 100


def sheet_pages(name: str, rows: Sequence[Sequence[str]], others: Sequence[str] = ()) -> Iterator[str]:
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
