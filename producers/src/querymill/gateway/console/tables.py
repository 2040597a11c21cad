"""Tables that a text holds in Markdown: rows between bars, perhaps with a rule under the headings. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

#: A row, perhaps at the end of an excerpt, which says that something was left out.
_ROW: Final = re.compile(r"[^\S\n]*(?:… )?(?P<row>\|[^\n]*\|)(?: …)?[^\S\n]*")
_RULE: Final = re.compile(r"\|[|:\-\s]*-[|:\-\s]*\|")
_BAR: Final = re.compile(r"(?<!\\)\|")
#: Fewer cells in all are no table: a line may begin and end with a bar for other reasons.
MIN_CELLS: Final = 2

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text from ``start`` to ``end``, in characters: plain text, or a table if it has ``rows``.

    A row has the places of its cells. With ``has_heading`` the first row names the columns.
    """

    start: int
    end: int
    rows: tuple[tuple[Place, ...], ...] = ()
    has_heading: bool = False


def blocks_of(text: str) -> Iterator[Block]:
    r"""Cut a text into plain parts and tables; together they are the whole text.

    >>> found = blocks_of("Sales:\n| a | b |\n|---|---|\n| 1 | 2 |")
    >>> [(block.start, len(block.rows), block.has_heading) for block in found]
    [(0, 0, False), (7, 2, True)]
    """
    plain, lines, at = 0, list[tuple[Place, str]](), 0
    for line in text.split("\n"):
        end = at + len(line)
        row = _ROW.fullmatch(line)
        if row is not None:
            lines.append(((at, end), line))
        if lines and (row is None or end == len(text)):
            table = _table(lines)
            if table is not None:
                yield from [Block(plain, table.start)] if plain < table.start else []
                yield table
                plain = min(table.end + 1, len(text))
            lines = []
        at = end + 1
    if plain < len(text):
        yield Block(plain, len(text))


def _table(lines: list[tuple[Place, str]]) -> Block | None:
    """Read lines that are rows, or return None if they are no table."""
    written = [(place, line) for place, line in lines if not _RULE.fullmatch(line.strip())]
    rows = tuple(tuple(_cells(line, place[0])) for place, line in written)
    if sum(map(len, rows)) < MIN_CELLS:
        return None
    has_heading = len(lines) > 1 and _RULE.fullmatch(lines[1][1].strip()) is not None and len(rows) > 1
    return Block(lines[0][0][0], lines[-1][0][1], rows, has_heading)


def _cells(line: str, at: int) -> Iterator[Place]:
    """Yield the places of the cells of a row that begins at a character of the text, without the blanks around them."""
    bars = [found.start() for found in _BAR.finditer(line)]
    for left, right in pairwise(bars):
        cell = line[left + 1 : right]
        start = left + 1 + len(cell) - len(cell.lstrip())
        yield at + start, at + max(start, left + 1 + len(cell.rstrip()))
