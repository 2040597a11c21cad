"""A sheet of an XLSX file, read row by row: a damaged cell costs itself, a formula without a value is shown."""

import re
from collections.abc import Iterator
from typing import Any, Final

from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from openpyxl.worksheet._read_only import ReadOnlyWorksheet
from openpyxl.worksheet._reader import COL_TAG, FORMULA_TAG, ROW_TAG, VALUE_TAG, WorkSheetParser
from openpyxl.xml.constants import SHEET_MAIN_NS
from openpyxl.xml.functions import iterparse

from querymill_reading.document import Remarks
from querymill_reading.rules.number_formats import DayNumber

_EDGES: Final = f"{{{SHEET_MAIN_NS}}}headerFooter"
#: The edges of some pages, by what says that they are others than those of the rest.
_OTHERS: Final = {"even": "differentOddEven", "first": "differentFirst"}
#: Codes of what stands at the edges of pages: the side, the font, the number of the page.
_CODES: Final = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f+-]{6}|[0-9]+|.)')
_ON: Final = ("1", "true")


def _shown_edges(edges: Any) -> Iterator[str]:
    """Yield what stands at the edges of the pages of a print, if it has such pages."""
    for edge in edges:
        pages = next((name for name in _OTHERS if f"}}{name}" in edge.tag), "")
        text = " ".join(_CODES.sub(" ", edge.text or "").split())
        if any(letter.isalpha() for letter in text) and (not pages or edges.get(_OTHERS[pages]) in _ON):
            yield text


class _Parser(WorkSheetParser):  # type: ignore[misc]  # the library has no types
    """Reads the rows of a sheet, and counts what is not shown or is damaged."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.unsolved = self.damaged = self.hidden_rows = self.hidden_columns = 0
        self.edges: dict[str, None] = {}

    def parse(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """Yield the number and the cells of each row. What a sheet looks like is not read: it may be damaged."""
        for _, element in iterparse(self.source):
            if element.tag == ROW_TAG:
                row = self.parse_row(element)
                self.hidden_rows += element.get("hidden") in _ON and bool(len(element))
                element.clear()
                yield row
            elif element.tag == COL_TAG:
                self.hidden_columns += self._hidden(element)
            elif element.tag == _EDGES:
                self.edges.update(dict.fromkeys(_shown_edges(element)))

    def _hidden(self, column: Any) -> int:
        first, last = column.get("min") or "", column.get("max") or ""
        is_counted = column.get("hidden") in _ON and first.isdecimal() and last.isdecimal()
        # Where all columns to the end of the sheet are hidden, nothing stands in them.
        return min(int(last) - int(first) + 1, 16_384) if is_counted and int(last) < 16_384 else 0

    def parse_cell(self, element: Any) -> dict[str, Any]:
        """Return a cell; one that is damaged is empty, and one whose formula has no value has the formula."""
        cell: dict[str, Any]
        try:
            cell = super().parse_cell(element)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            self.damaged += 1
            written = element.findtext(VALUE_TAG) or ""
            kept = written if element.get("t") != "s" else None
            return {"row": self.row_counter, "column": self.col_counter, "value": kept, "data_type": "s", "style_id": 0}
        self._keep_day(element, cell)
        formula = element.find(FORMULA_TAG)
        if formula is None:
            return cell
        # Other cells may share the formula, whether this one has a value or not.
        shared = self._formula(element) if formula.get("t") == "shared" or cell["value"] is None else ""
        if cell["value"] is None and not (element.get("t") == "str" and element.find(VALUE_TAG) is not None):
            self.unsolved += 1
            cell["value"], cell["data_type"] = shared, "s"
        return cell

    def _keep_day(self, element: Any, cell: dict[str, Any]) -> None:
        """Keep the number of a day that no date stands for: the library makes a time or another day of it."""
        style = cell["style_id"]
        if element.get("t", "n") == "n" and style in self.date_formats and style not in self.timedelta_formats:
            try:
                number = float(element.findtext(VALUE_TAG) or "")
            except ValueError:
                return
            day = DayNumber(number, is_since_1904=self.epoch == CALENDAR_MAC_1904)
            if not day.has_date:
                cell["value"], cell["data_type"] = day, "n"

    def _formula(self, element: Any) -> str:
        try:
            written = self.parse_formula(element)
        except (ValueError, TypeError, KeyError, AttributeError):
            return element.findtext(FORMULA_TAG) or "="
        text = written if isinstance(written, str) else getattr(written, "text", None) or "="
        return text if text != "=" else "= (a formula of another cell)"


class Sheet(ReadOnlyWorksheet):  # type: ignore[misc]  # the library has no types
    """A sheet whose rows are read once."""

    def _get_size(self) -> None:
        """Read no size: what a file says about it may be wrong."""

    def numbered_rows(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number and the cells of each row that the file has."""
        book = self.parent
        with self._get_source() as source:
            self.parser = _Parser(
                source,
                self._shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,  # noqa: SLF001  # as the library reads a sheet itself
                timedelta_formats=book._timedelta_formats,  # noqa: SLF001
            )
            for number, row in self.parser.parse():
                yield number, [ReadOnlyCell(self, **cell) for cell in row if cell["value"] is not None]

    def note_left_out(self, remarks: Remarks, place: str) -> None:
        """Add remarks about the rows that were read."""
        parser = getattr(self, "parser", None)
        if parser is None:
            return
        remarks.count(parser.unsolved, "formula without a value", "shown as the formula", place)
        remarks.count(parser.damaged, "damaged cell", "left out or read as it is written", place)
        remarks.count(parser.hidden_rows, "hidden row", "read all the same", place)
        remarks.count(parser.hidden_columns, "hidden column", "read all the same", place)
        texts = "; ".join(parser.edges)
        remarks.count(len(parser.edges), "header or footer of the print", f"left out: {texts[:200]}", place)
