"""Separated values: which sign separates them, and whether their first row names the columns."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Final

from querymill_reading.rules.first_rows import FirstRow, first_row_of
from querymill_reading.rules.tables import is_value

#: Signs that separate values, the most usual first.
SEPARATORS: Final = (",", ";", "\t", "|")
#: Lines that are looked at.
LOOKED_AT: Final = 200
#: Characters of a value; the standard library refuses longer ones.
MAX_VALUE: Final = 1 << 20


def rows_in(text: str) -> list[list[str]]:
    """Return the rows of separated values, in quotation marks or not; a line ``sep=;`` says what separates them."""
    csv.field_size_limit(MAX_VALUE)
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.rstrip()) == 5:
        return _parsed(rest, first[4])
    return _parsed(text, separator_of(text))


def separator_of(text: str) -> str:
    """Return what separates the values of a text: the sign that gives the most rows of the same several columns."""
    lines = text.split("\n", LOOKED_AT)[:LOOKED_AT]
    beginning = "\n".join(lines)

    def score(sign: str) -> float:
        counts = Counter(len(row) for row in _parsed(beginning, sign) if len(row) > 1)
        if not counts:
            return 0.0
        usual, rows = counts.most_common(1)[0]
        # Commas in the figures of "1,5;2,5" give as many columns as semicolons, but not as whole values.
        return rows + (0.5 if usual > 1 else 0) - 0.6 * _halves(_parsed(beginning, sign), sign)

    return max(SEPARATORS, key=score)


def _halves(rows: Sequence[Sequence[str]], sign: str) -> int:
    """Return how many rows have a value that another sign separates further."""
    others = [other for other in SEPARATORS if other != sign and other != ","]
    return sum(any(other in value for value in row for other in others) for row in rows if len(row) > 1)


def _parsed(text: str, sign: str) -> list[list[str]]:
    rows: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, skipinitialspace=True)
    while True:
        try:
            rows.extend([value.strip() for value in row] for row in reader)
        except csv.Error:  # a value that is too long, or a NUL: the next line is read
            rows.append([])
        else:
            return rows


def with_names(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows of which the first names the columns: numbers of columns, if none of the rows does.

    A row that has values in the same columns as the rows below, or is one of data like them, names nothing.
    """
    filled = [list(row) for row in rows if any(row)]
    if len(filled) > 1 and (_is_like(filled[0], filled[1:LOOKED_AT]) or first_row_of(filled) is FirstRow.DATA):
        return numbered(rows)
    return [list(row) for row in rows]


def numbered(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows below the numbers of their columns."""
    width = max(map(len, rows))
    return [[f"column {number}" for number in range(1, width + 1)], *map(list, rows)]


def _is_like(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is one like the others: it has values in the columns in which most of them have."""
    columns = [
        at for at in range(len(first)) if 2 * sum(is_value(row[at]) for row in others if at < len(row)) > len(others)
    ]
    return bool(columns) and all(is_value(first[at]) for at in columns)
