"""The first row of a table: whether it names the columns, or is a row of data like those below it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import pairwise
from typing import Final

from querymill_reading.rules.tables import is_value

_Grid = Sequence[Sequence[str]]
#: Rows that are looked at, and rows below the first that say something about it, at least.
LOOKED_AT: Final = 200
LEAST_BELOW: Final = 3
#: The share of the cells of a column that makes it one of values, and one of texts of some form.
MOST: Final = 0.8
OF_A_FORM: Final = 0.9
#: What is in texts of a form, of which a name has nothing: digits, small letters at the beginning, signs and blanks.
_FORMS: Final = tuple(map(re.compile, (r"\d", "^[a-zà-ÿа-я]", *map(re.escape, "@/\\_:.-"), r"\s")))
#: Of a column of categories, the share of texts that it has once, at most: as likely is one that it has not at all.
UNSEEN: Final = 0.05
#: Letters of a text that is no name; a name is shorter than the texts below it by this factor.
LONG: Final = 30
SHORTER: Final = 3
#: Figures that follow each other in a row, and are numbers of columns then.
LEAST_NUMBERED: Final = 2


class FirstRow(Enum):
    """What the first row of a table is."""

    NAMES = "names"
    DATA = "data"
    UNKNOWN = "unknown"


def first_row_of(rows: _Grid) -> FirstRow:
    """Return what the first row of a table is, by its cells and those below them, column by column.

    Words above values, a text that no category of its column is or that has another form, or a short one above long
    ones are names. A category that the column has again is data, and so are values above values. Where neither is seen,
    or as much of both, it is not known.

    >>> first_row_of([["Vik", "open"], ["Moss", "shut"], ["Tinn", "open"], ["Sand", "shut"]])
    <FirstRow.DATA: 'data'>
    """
    filled = [row for row in rows[: LOOKED_AT + 1] if any(row)]
    if not filled:
        return FirstRow.UNKNOWN
    first = list(filled[0])
    # Tables that were written one below another repeat their names.
    others = [row for row in filled[1:] if list(row) != first]
    columns = [[row[at] for row in others if at < len(row) and row[at]] for at in range(len(first))]
    signs = [_sign(cell, below) for cell, below in zip(first, columns, strict=True) if cell]
    names, data = signs.count(FirstRow.NAMES), signs.count(FirstRow.DATA)
    if names:
        return FirstRow.NAMES if not data else FirstRow.DATA if data > names else FirstRow.UNKNOWN
    return FirstRow.DATA if data or _is_of_values(first, columns) else FirstRow.UNKNOWN


def _sign(cell: str, below: Sequence[str]) -> FirstRow:
    """Return what the cell of the first row is by the cells below it."""
    if below and not is_value(cell) and _share(below, is_value) >= (MOST if len(below) > 1 else 1):
        return FirstRow.NAMES
    if len(below) < LEAST_BELOW:
        return FirstRow.UNKNOWN
    if not is_value(cell) and any(not form.search(cell) and _share(below, form.search) >= OF_A_FORM for form in _FORMS):
        return FirstRow.NAMES
    if _share(below, is_value) > 1 - MOST:
        return FirstRow.UNKNOWN
    if cell in below:
        return FirstRow.DATA
    usual = sorted(map(len, below))[len(below) // 2]
    if usual >= LONG and SHORTER * len(cell) < usual:
        return FirstRow.NAMES
    once = sum(count == 1 for count in Counter(below).values())
    return FirstRow.NAMES if once <= UNSEEN * len(below) else FirstRow.UNKNOWN


def _is_of_values(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Return whether a row has a value in each column of values, and they are no numbers of columns."""
    of_values = [
        at for at, below in enumerate(columns) if len(below) >= LEAST_BELOW and _share(below, is_value) >= MOST
    ]
    if not of_values or not all(is_value(first[at]) for at in of_values):
        return False
    figures = [_figure(first[at]) for at in of_values]
    return len(figures) < LEAST_NUMBERED or not all(one < other for one, other in pairwise(figures))


def _figure(text: str) -> float:
    digits = "".join(each for each in text if each.isascii() and (each.isdecimal() or each == "."))
    try:
        return float(digits)
    except ValueError:
        return 0.0


def _share(texts: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(bool(holds(text)) for text in texts) / len(texts)
