"""Cells of a notebook, as it is ingested: each begins with a line that has its number."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from querymill_workers.retrievers.files.rules.intent import Lines

SUFFIX: Final = ".ipynb"
_BEGINNING: Final = re.compile(r"(?:#|//|--) %% cell ([0-9]{1,9})(?: \[[a-z]+\])?$")


def begins_cell(line: str) -> bool:
    """Return whether a line is the first of a cell."""
    return _BEGINNING.match(line) is not None


def cells_of(path: str, lines: Sequence[str], shown: Iterable[Lines]) -> list[int]:
    """Return the numbers of the cells that lines of a notebook are in, in order; none for another file.

    Lines 2 to 9 of a notebook whose third cell begins at line 1 and whose fourth begins at line 8 are in 3 and 4.
    """
    if not path.endswith(SUFFIX):
        return []
    number, numbers = 0, []
    for line in lines:
        found = _BEGINNING.match(line)
        number = int(found[1]) if found is not None else number
        numbers.append(number)
    return sorted({held for first, last in shown for held in numbers[first - 1 : last] if held})


def cells_label(numbers: Sequence[int]) -> str:
    """Name cells: "cell 3", "cells 3, 4"; "" if there are none."""
    if not numbers:
        return ""
    return f"cell{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
