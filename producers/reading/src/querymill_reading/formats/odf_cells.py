"""OpenDocument: cells that others cover, and the value of a cell whose file holds no text for people."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_reading.rules.column_names import MAX_NAME_CHARS
from querymill_reading.rules.number_formats import general

_OFFICE: Final = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_DURATION: Final = re.compile(r"(-?)P(?:(\d{1,7})D)?T(\d{1,7})H(\d{1,7})M(\d{1,7})(?:[.,]\d+)?S")


@dataclass(slots=True)
class Covered:
    """The places of a table that merged cells cover, row by row. A writer may leave out the cells in them."""

    row: int = 0
    below: dict[int, tuple[int, int, str]] = field(default_factory=dict)

    def cover(self, column: int, span: int, deep: int, text: str) -> None:
        """Note which columns a cell of the row covers, and how many rows of them."""
        for at in range(column, column + span):
            self.below[at] = (self.row + deep, column, text)

    def at(self, column: int) -> str:
        """Return the text of the cell that covers a column; nothing if none does, or if it is no name."""
        end, _, text = self.below.get(column, (0, 0, ""))
        return text if end > self.row and len(text) <= MAX_NAME_CHARS and " | " not in text else ""

    def fill(self, cells: list[str]) -> None:
        """Add the texts of cells that cover the next columns of a row."""
        while self.below.get(len(cells), (0,))[0] > self.row:
            cells.append(self.at(len(cells)))

    def goes_on(self) -> bool:
        """Return whether a row without a text belongs to the one above, several cells of which reach over it."""
        return len({start for end, start, text in self.below.values() if end > self.row and text}) > 1


def value_of(cell: Any) -> str | None:
    """Return the value of a cell, or None if it has none."""
    if (truth := cell.get(f"{_OFFICE}boolean-value")) is not None:
        return str(truth).upper()
    if (day := cell.get(f"{_OFFICE}date-value")) is not None:
        return str(day).removesuffix("T00:00:00").replace("T", " ")
    if (length := cell.get(f"{_OFFICE}time-value")) is not None:
        return _time(length)
    if (text := cell.get(f"{_OFFICE}string-value")) is not None:
        return str(text)
    return _figure(cell.get(f"{_OFFICE}value"), cell.get(f"{_OFFICE}value-type"))


def _time(length: str) -> str:
    """Return a time, which is written as the length of a part of a day."""
    found = _DURATION.fullmatch(length)
    if found is None:
        return length
    sign, days, hours, minutes, seconds = found.groups()
    shown = f"{sign}{int(days or 0) * 24 + int(hours):02}:{int(minutes):02}"
    return f"{shown}:{int(seconds):02}" if int(seconds) else shown


def _figure(written: str | None, kind: str | None) -> str | None:
    try:
        return f"{general(float(written) * 100)}%" if written and kind == "percentage" else written
    except ValueError:
        return written
