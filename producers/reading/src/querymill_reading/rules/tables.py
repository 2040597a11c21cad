"""Rows of cells with places become a table in Markdown: its columns, its headings, its rows.

A cell has a place from left to right: points on a page, or columns of a grid in HTML.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from querymill_reading.rules.column_names import (
    MAX_NAME_CHARS,
    NAMES_COLUMNS,
    goes_on_in_numbers,
    goes_on_naming,
    is_small_numeral,
)
from querymill_reading.rules.written_tables import Table, with_one_value

_DIGIT: Final = re.compile("[0-9]")
_WORD: Final = re.compile(r"[^\W\d_]{3}")
_YEAR: Final = re.compile(r"(?:FY ?|Q[1-4] ?)?(?:19|20)[0-9]{2}(?: ?Q[1-4]|[AE])?(?:[ (][^0-9]*)?(?: ?\[\d+\])?")
_SIGN: Final = re.compile(r"\s?\[\d+\]$")
_NO_VALUE: Final = re.compile(r"[$€£¥]?\s?[–—\-*]+%?|N/?[AM]|n/?[am]|NM|nm|n\.m\.")
_BEFORE_VALUE: Final = re.compile(r"[$€£¥]|[$€£¥]?\(|US\$|C\$|A\$|RMB|[$€£¥] \(")
_AFTER_VALUE: Final = re.compile(r"\)?\s?%|\)|%\)|pts?|bps|x|\)\s?\[\d+\]|\[\d+\]")
#: Rows that name columns, at most.
MAX_HEADER_ROWS: Final = 6
#: Rows that have a name and more, at most, that name columns.
MAX_NAMED_ROWS: Final = 3
#: Rows in which a column of small numerals must go on in numbers.
LOOKED_AT: Final = 60
#: Of the rows with values, the share whose cells may reach over the border of two columns.
OVER_THE_BORDER: Final = 0.06
#: Names in the row above the values, at least, that show where columns are.
LEAST_NAMES: Final = 3
#: A name is that of two columns if its distances to their middles differ by less than this share of both.
BETWEEN: Final = 0.3


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, its place, and whether the document says that it is a name of columns or rows."""

    text: str
    x0: float
    x1: float
    is_head: bool = False

    @property
    def centre(self) -> float:
        """The middle of its place."""
        return (self.x0 + self.x1) / 2


Row = Sequence[Cell]


def is_value(text: str) -> bool:
    """Return whether a cell holds a value, and not a name: a figure (a year is a name), or a dash in its place."""
    if _NO_VALUE.fullmatch(text):
        return True
    text = _SIGN.sub("", text)
    return _DIGIT.search(text) is not None and _YEAR.fullmatch(text) is None and not text[:1].isalpha()


def with_signs(row: Row) -> list[Cell]:
    """Join signs that stand in cells of their own with their figure: ``$`` before it, ``)`` and ``%`` behind it."""
    joined: list[Cell] = []
    before: Cell | None = None
    for cell in row:
        now = cell
        if before is not None:
            now = Cell(f"{before.text}{cell.text}", before.x0, cell.x1, cell.is_head)
            before = None
        if _BEFORE_VALUE.fullmatch(now.text):
            before = now
        elif joined and _AFTER_VALUE.fullmatch(now.text) and _DIGIT.search(joined[-1].text):
            last = joined.pop()
            blank = " " if now.text[0].isalpha() or now.text[0] == "[" else ""
            joined.append(Cell(f"{last.text}{blank}{now.text}", last.x0, now.x1, last.is_head))
        else:
            joined.append(now)
    return joined if before is None else [*joined, before]


def tables(rows: Sequence[Row], *, least_gap: float = 0.0) -> list[Table]:
    """Read rows as tables: several, if names of columns occur again below. Empty if they have no two columns.

    For example, the rows ``2019 | 2018`` and ``Fixed price | 1,452 | 1,146`` give the header "", "2019", "2018" and the
    row "Fixed price", "1,452", "1,146". Rows of names above each other are one row of headings: "Year ended" over
    "2019" and "2018" gives "Year ended / 2019", "Year ended / 2018". Without a ``least_gap`` between columns places are
    those of a grid, in which a name has a cell of its own, and is not wrapped over rows.
    """
    signed = [with_signs(row) for row in rows]
    borders = _borders(signed, least_gap)
    if not borders:
        return []
    found: list[Table] = []
    for piece in _pieces(signed, borders):
        own = _borders(piece, least_gap) or borders
        if least_gap:
            own = _with_named(own, piece, least_gap)
        header_rows, body = _parted(piece, own, is_grid=not least_gap)
        header = _headings(header_rows, own, _middles(header_rows, body, own))
        lines = _wrapped_joined([_line(row, own, len(own) + 1) for row in body])
        if lines or any(header):
            table = _without_empty_columns(*_with_one_name([header, *lines]))
            found.append(with_one_value(table) if least_gap else table)
    return found


def _with_one_name(lines: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Join the first two columns if they are names of rows at two depths, of which no row has both."""
    while len(lines[0]) > 2 and not any(line[0] and line[1] for line in lines):
        if any(is_value(line[1]) for line in lines[1:]):
            break
        lines = [[line[0] or line[1], *line[2:]] for line in lines]
    return lines[0], lines[1:]


def _without_empty_columns(header: list[str], lines: list[list[str]]) -> Table:
    """Leave out columns that hold neither a name nor a value."""
    kept = [at for at in range(len(header)) if header[at] or any(line[at] for line in lines) or not at]
    return Table(tuple(header[at] for at in kept), tuple(tuple(line[at] for at in kept) for line in lines))


def _borders(rows: Sequence[Row], least_gap: float) -> list[float]:
    """Return the borders between columns: where hardly any row with values has a cell."""
    of_values = [row for row in rows if len(row) > 1 and any(is_value(cell.text) for cell in row)]
    chosen = of_values or [row for row in rows if len(row) > 1]
    if not chosen:
        return []
    allowed = int(len(chosen) * OVER_THE_BORDER)
    ends = sorted({place for row in chosen for cell in row for place in (cell.x0, cell.x1)})
    changes: dict[float, int] = dict.fromkeys(ends, 0)
    for row in chosen:
        for cell in row:
            changes[cell.x0] += 1
            changes[cell.x1] -= 1
    borders: list[float] = []
    covered, opened = 0, None
    for place in ends:
        before, covered = covered, covered + changes[place]
        if before <= allowed and opened is not None and covered > allowed:
            if place - opened > least_gap:
                borders.append((opened + place) / 2)
            opened = None
        elif covered <= allowed and opened is None:
            opened = place
    return borders


def _with_named(borders: list[float], rows: Sequence[Row], least_gap: float) -> list[float]:
    """Add the borders that the names of columns show where a row below reaches over them, as "Total" does."""
    first = next((at for at, row in enumerate(rows) if _has_value(row, borders)), 0)
    names = rows[first - 1] if first else ()
    if len(names) < LEAST_NAMES:
        return borders
    added = []
    for name, after in pairwise(names):
        if after.x0 - name.x1 <= least_gap or any(name.x0 < border < after.x1 for border in borders):
            continue
        places = [_between_values(row, name, after) for row in rows[first:]]
        parted = [place for place in places if place is not None]
        is_bare = not any(_meets(cell, after) for row in rows[first:] for cell in row)
        is_bare = is_bare or not any(_meets(cell, name) for row in rows[first:] for cell in row)
        over = [cell for row in rows[first:] for cell in row if cell.x0 < name.x1 and cell.x1 > after.x0]
        if (parted or is_bare) and not any(is_value(cell.text) for cell in over):
            added.append(parted[0] if parted else (name.x1 + after.x0) / 2)
    return sorted([*borders, *added])


def _meets(cell: Cell, name: Cell) -> bool:
    return cell.x0 < name.x1 and cell.x1 > name.x0


def _between_values(row: Row, name: Cell, after: Cell) -> float | None:
    """Return the middle between two values of a row of which one stands under each of two names."""
    for left, right in pairwise(row):
        if _meets(left, name) and _meets(right, after) and is_value(left.text) and is_value(right.text):
            return (left.x1 + right.x0) / 2
    return None


def _column(cell: Cell, borders: Sequence[float]) -> int:
    """Return the column with most of a cell."""
    return max(_columns(cell, borders), key=lambda column: _overlap(cell, column, borders))


def _columns(cell: Cell, borders: Sequence[float]) -> range:
    """Return the columns that a cell reaches."""
    first = sum(border <= cell.x0 for border in borders)
    last = sum(border < cell.x1 for border in borders)
    return range(min(first, last), max(first, last) + 1)


def _overlap(cell: Cell, column: int, borders: Sequence[float]) -> float:
    start = borders[column - 1] if column else cell.x0
    end = borders[column] if column < len(borders) else cell.x1
    return min(end, cell.x1) - max(start, cell.x0)


def _has_value(row: Row, borders: Sequence[float]) -> bool:
    return any(is_value(cell.text) and _column(cell, borders) > 0 for cell in row)


def _pieces(rows: Sequence[Row], borders: Sequence[float]) -> list[list[Row]]:
    """Cut rows where names of columns occur again after values: where a run of names has a year or the like."""
    pieces: list[list[Row]] = [[]]
    has_value = [_has_value(row, borders) for row in rows]
    for at, row in enumerate(rows):
        if not has_value[at] and any(has_value[at - len(pieces[-1]) : at]) and _over_values(row, borders):
            end = next((below for below in range(at, len(rows)) if has_value[below]), at)
            named = [cell for each in rows[at:end] for cell in _over_values(each, borders)]
            if any(NAMES_COLUMNS.search(cell.text) for cell in named):
                pieces.append([])
        pieces[-1].append(row)
    return pieces


def _over_values(row: Row, borders: Sequence[float]) -> list[Cell]:
    return [cell for cell in row if _column(cell, borders) > 0]


def _parted(rows: Sequence[Row], borders: Sequence[float], *, is_grid: bool) -> tuple[list[Row], list[Row]]:
    """Part the rows that name columns from the rows of the table."""
    lines = [_spread(row, borders) for row in rows[:LOOKED_AT]]
    first = next((at for at, row in enumerate(rows) if _has_value(row, borders) or _has_numeral(lines, at)), None)
    if first is not None and sum(_has_name_and_more(row, borders) for row in rows[:first]) > MAX_NAMED_ROWS:
        first = None  # so many rows with names are no headings
    if first is None:  # all words: the first row names the columns, unless it is a text
        first = int(all(len(cell.text) <= MAX_NAME_CHARS for cell in rows[0]))
    first = min(first, MAX_HEADER_ROWS)
    if marked := _marked(rows):
        first = marked
    elif is_grid:
        first = next((at for at in range(1, first) if not goes_on_naming(lines[at], lines[:at])), first)
    header, body = list(rows[:first]), list(rows[first:])
    named = [at for at, row in enumerate(header) if any(_column(cell, borders) for cell in row)]
    last = named[-1] + 1 if named else 0
    # A name in the first column alone, below the names of the columns, is a heading of rows.
    return header[:last], [*header[last:], *body]


def _has_name_and_more(row: Row, borders: Sequence[float]) -> bool:
    columns = {_column(cell, borders) for cell in row if _WORD.search(cell.text)}
    return 0 in columns and len(columns) > 1


def _marked(rows: Sequence[Row]) -> int:
    """Return how many rows at the top the document marks as names of columns; 0 if they are a title, or all rows."""
    marked = next((at for at, row in enumerate(rows) if not all(cell.is_head for cell in row)), 0)
    return min(marked, MAX_HEADER_ROWS) if any(len(row) > 1 for row in rows[:marked]) else 0


def _has_numeral(lines: Sequence[Sequence[str]], at: int) -> bool:
    """Return whether a row has the number of a page before the first, in a column that goes on in numbers."""
    return at < len(lines) and any(
        column and is_small_numeral(text) and goes_on_in_numbers([line[column] for line in lines[at:]])
        for column, text in enumerate(lines[at])
    )


def _spread(row: Row, borders: Sequence[float]) -> list[str]:
    """Return the texts of a row by columns; one over several columns stands in each of them."""
    line = [""] * (len(borders) + 1)
    for cell in row:
        for column in _columns(cell, borders):
            line[column] = f"{line[column]} {cell.text}".strip()
    return line


def _headings(rows: Sequence[Row], borders: Sequence[float], middles: Sequence[float]) -> list[str]:
    """Join the rows of names above each column: over several columns with a stroke, over one with a blank."""
    headings = [""] * len(middles)
    spans_before = [False] * len(middles)
    for row in rows:
        for column, (text, spans) in sorted(_named(row, borders, middles).items()):
            if headings[column]:
                headings[column] += " / " if spans_before[column] or spans else " "
            headings[column] += text
            spans_before[column] = spans
    return headings


def _named(row: Row, borders: Sequence[float], middles: Sequence[float]) -> dict[int, tuple[str, bool]]:
    """Return which columns the cells of a row of names name, and whether a name is that of several."""
    named: dict[int, tuple[str, bool]] = {}
    shared = _shared(row, borders, middles)
    own = {_column(cell, borders): at for at, cell in enumerate(row)}
    for at, cell in enumerate(row):
        columns = shared.get(at) or _under(cell, borders, middles)
        if at not in shared and len(columns) > 1:
            columns = [column for column in columns if own.get(column, at) == at] or columns[:1]
        for column in columns:
            if column in named:
                named[column] = (f"{named[column][0]} {cell.text}", named[column][1])
            else:
                named[column] = (cell.text, len(columns) > 1)
    return named


def _under(cell: Cell, borders: Sequence[float], middles: Sequence[float]) -> list[int]:
    """Return the columns whose middle lies under a cell, else the column with most of it."""
    under = [column for column in _columns(cell, borders) if cell.x0 <= middles[column] <= cell.x1]
    if len(under) > 1:
        return under
    right = next((at for at in range(2, len(middles)) if middles[at - 1] < cell.centre <= middles[at]), 0)
    if right:
        to_left, to_right = cell.centre - middles[right - 1], middles[right] - cell.centre
        if abs(to_left - to_right) < BETWEEN * (to_left + to_right):
            return [right - 1, right]  # in the middle of two
    return under or [_column(cell, borders)]


def _shared(row: Row, borders: Sequence[float], middles: Sequence[float]) -> dict[int, list[int]]:
    """Return the columns of names that share the columns of values evenly: two names in the middle of two each."""
    over = [at for at, cell in enumerate(row) if _column(cell, borders) > 0]
    values = list(range(1, len(middles)))
    if not over or len(values) % len(over) or len(values) == len(over):
        return {}
    size = len(values) // len(over)
    groups = [values[start : start + size] for start in range(0, len(values), size)]
    width = (middles[-1] - middles[1]) / max(len(values) - 1, 1)
    for at, group in zip(over, groups, strict=True):
        middle = (middles[group[0]] + middles[group[-1]]) / 2
        over_one = size % 2 == 1 and row[at].x1 - row[at].x0 < 1.2 * width
        if over_one or abs(row[at].centre - middle) > 0.45 * width:
            return {}
    return dict(zip(over, groups, strict=True))


def _middles(header: Sequence[Row], body: Sequence[Row], borders: Sequence[float]) -> list[float]:
    """Return the middle of each column: of its lowest name if each column has one, else of what stands in it."""
    count = len(borders) + 1
    starts: list[list[float]] = [[] for _ in range(count)]
    ends: list[list[float]] = [[] for _ in range(count)]
    for row in body or header:
        for cell in row:
            column = _column(cell, borders)
            if len(row) > 1:
                starts[column].append(cell.x0)
                ends[column].append(cell.x1)
    outer = [borders[0] - 1, *borders, borders[-1] + 1]
    middles = [
        (min(starts[column]) + max(ends[column])) / 2 if starts[column] else (outer[column] + outer[column + 1]) / 2
        for column in range(count)
    ]
    lowest = {_column(cell, borders): cell.centre for cell in (header[-1] if header else ())}
    if lowest.keys() >= set(range(1, count)):
        middles[1:] = [lowest[column] for column in range(1, count)]
    return middles


def _line(row: Row, borders: Sequence[float], count: int) -> list[str]:
    line = [""] * count
    for cell in row:
        column = _column(cell, borders)
        line[column] = f"{line[column]} {cell.text}".strip()
    return line


def _wrapped_joined(lines: list[list[str]]) -> list[list[str]]:
    """Join names of rows that were wrapped: a part that begins with a small letter continues the one above."""
    joined: list[list[str]] = []
    for line in lines:
        above = joined[-1] if joined else None
        if above is not None and above[0] and line[0][:1].islower():
            if not any(above[1:]):
                joined[-1] = [f"{above[0]} {line[0]}", *line[1:]]
                continue
            if not any(line[1:]):
                joined[-1] = [f"{above[0]} {line[0]}", *above[1:]]
                continue
        joined.append(line)
    return joined
