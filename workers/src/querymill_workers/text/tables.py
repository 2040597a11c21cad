"""Tables in a text: its rows with the heads of their columns, between the lines that are prose.

Read are rows with bars (Markdown, or cells joined by " | ") and rows of a page's layout, whose cells stand at least two
blanks apart.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from querymill_shared.values import value

_RULE: Final = re.compile(r"[\s|:+=-]*")
_BAR: Final = re.compile(r"(?<!\\)\|")
_WIDE: Final = re.compile(r"\t+| {2,}")
_EMPHASIS: Final = re.compile(r"\*\*|__|`")
_AROUND_A_YEAR: Final = r"(?:[^\W\d]|[\s.,()'’/*&:-]|(?<!\d)(?:[12]?\d|3[01])(?!\d))*"
#: A day or a year, with words around it: "Years ended May 31, 2019", "FY2019", "2018 (1)", "2019年".
_TIME: Final = re.compile(rf"{_AROUND_A_YEAR}(?<!\d)(?:19|20)\d\d(?!\d){_AROUND_A_YEAR}|Q[1-4]|[12]H", re.IGNORECASE)
#: A figure begins with a digit, or with a currency or a sign and a digit.
_FIGURE: Final = re.compile(r"[^\w]*(?:(?:US|AU|A|C|HK|S|R|USD|EUR|GBP|CHF|NOK|RMB)[ $]?)?[^\w]*\d")
_CURRENCY: Final = re.compile(r"[$€£¥￥]|US\$|A\$|C\$|[(]|[-–—]|[%)]")
#: Signs that belong to the cell before them, and signs that are no beginning of the cell after them.
_CLOSES: Final = ("%", ")", ")%")
_STANDS: Final = ("-", "–", "—", "%", ")")
_SCALE: Final = r"(?:millions|thousands|billions)\b"
_UNIT: Final = re.compile(
    rf"\b(?:in|of|amounts? in)\s+(?:[\w$€£.’']+\s+)?{_SCALE}|(?:^|\()\s*{_SCALE}"
    r"|^\(?\s*[$€£¥]?\s*(?:000|m|mn|bn)\s*\)?$|\b(?:USD|EUR|GBP|NOK|CNY|RMB|JPY)\b|单位|[百千]?[万亿]元|%",
    re.IGNORECASE,
)
#: The longest day, line of heads, line above rows, and cell of a page's layout, in characters.
_TIME_CHARS, _HEADS_CHARS, _SECTION_CHARS, _CELL_CHARS = 80, 160, 80, 24


@value
class TableRow:
    """A row of figures.

    ``cells`` are the values with the heads of their columns, which may be "". ``section`` is the line above the row
    that has no values, ``caption`` what stands in the corner of the table, and ``unit`` is what its heads say of the
    values: "in millions".
    """

    head: str
    cells: tuple[tuple[str, str], ...]
    section: str = ""
    caption: str = ""
    unit: str = ""


def read_tables(text: str) -> list[str | TableRow]:
    """Return the lines of prose and the rows of tables of a text, in order.

    | USD m | 2022 | 2021 |
    |---|---|---|
    | Revenue | 287.5 | 318.2 |

    is the row *Revenue* with the cells (2022, 287.5) and (2021, 318.2), the caption "USD m" and the unit "USD m".
    """
    found: list[str | TableRow] = []
    for has_bars, lines in groupby(text.splitlines(), key=lambda line: _BAR.search(line) is not None):
        block = list(lines)
        if has_bars and len(block) > 1:
            found += _rows(_with_bars(block))
        else:
            found += _of_layout(block)
    return found


def _with_bars(lines: Sequence[str]) -> list[list[str]]:
    is_closed = all(line.lstrip().startswith("|") for line in lines)
    rows = []
    for line in lines:
        if _RULE.fullmatch(line) and "-" in line:
            continue
        inner = line.strip().removeprefix("|").removesuffix("|") if is_closed else line
        rows.append([_plain(cell) for cell in _BAR.split(inner)])
    return rows


def _plain(cell: str) -> str:
    return " ".join(_EMPHASIS.sub("", cell.replace("\\|", "|")).split())


def _rows(rows: Sequence[Sequence[str]]) -> Iterator[str | TableRow]:
    """Read a table: the rows of heads on top, then rows of values and the lines between them."""
    count = next((at for at, row in enumerate(rows) if _has_values(row) or _is_section(row, rows[:at])), len(rows))
    width = max(map(len, rows), default=0)
    heads, unit = _column_heads(rows[:count], width)
    caption = next((row[0] for row in rows[:count] if row and row[0]), "")
    unit = unit or (caption if _UNIT.search(caption) else "")
    section = ""
    for row in rows[count:]:
        values = [(heads[at], cell) for at, cell in enumerate(row) if at and cell and not _is_mark(cell)]
        if not values:
            section = row[0] if row else ""
        elif all(_is_time(cell) for _, cell in values) and not row[0]:
            heads = [*row, *heads[len(row) :]]  # heads of what follows
        else:
            yield TableRow(row[0].rstrip(":"), tuple(values), section.rstrip(":"), caption, unit)
    if count == len(rows):
        yield from (" ".join(filter(None, row)) for row in rows)


def _has_values(row: Sequence[str]) -> bool:
    """Whether a row holds more than heads: its first cell names it, and another has a figure that is no time."""
    is_named = bool(row) and any(map(str.isalnum, row[0]))
    return is_named and any(_is_value(cell) for cell in row[1:])


def _is_section(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Whether a row below heads of columns has a name alone."""
    return bool(row[0]) and not any(row[1:]) and any(any(other[1:]) for other in above)


def _is_value(cell: str) -> bool:
    return _FIGURE.match(cell) is not None and not _is_time(cell)


def _is_time(cell: str) -> bool:
    return len(cell) <= _TIME_CHARS and _TIME.fullmatch(cell) is not None


def _is_mark(cell: str) -> bool:
    """Whether a cell holds a sign alone, such as the currency of the next."""
    return not any(map(str.isalnum, cell)) and cell not in ("-", "–", "—", "- -")


def _column_heads(rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], str]:
    """Return what stands above each column, and the unit that the heads name. A head spans the empty cells after it."""
    heads: list[list[str]] = [[] for _ in range(width)]
    units: list[str] = []
    for row in rows:
        if sum(map(bool, row[1:])) == 1 and _UNIT.search(next(filter(None, row[1:]))):
            units += filter(None, row[1:])
            continue
        spread = _spread(row, width)
        for at in range(1, width):
            if spread[at] and spread[at] not in heads[at]:
                heads[at].append(spread[at])
    return [" ".join(each) for each in heads], units[0] if units else ""


def _spread(row: Sequence[str], width: int) -> list[str]:
    cells = [*row, *[""] * (width - len(row))]
    for at in range(2, width):
        cells[at] = cells[at] or cells[at - 1]
    for at in range(width - 2, 0, -1):
        cells[at] = cells[at] or cells[at + 1]
    return cells


def _of_layout(lines: Sequence[str]) -> Iterator[str | TableRow]:
    """Read lines whose cells stand apart. What is no row of values is prose."""
    heads: list[str] = []
    section = unit = ""
    for line in lines:
        cells = _joined(_WIDE.split(line.strip()))
        if len(cells) > 1 and _has_values(cells) and all(map(_is_short, cells[1:])):
            values = cells[1:]
            named = heads[-len(values) :] if len(heads) >= len(values) else [""] * len(values)
            yield TableRow(cells[0].rstrip(":"), tuple(zip(named, values, strict=True)), section, "", unit)
            continue
        if len(line) < _HEADS_CHARS and (times := _times(cells)):
            heads, unit = times, _unit_of(cells[0]) or unit
        elif line.strip().endswith(":") and len(line.strip()) < _SECTION_CHARS:
            section = line.strip().rstrip(":")
        elif len(line) < _HEADS_CHARS:
            unit = _unit_of(line.strip()) or unit
        yield line


def _times(cells: Sequence[str]) -> list[str]:
    """Return the heads of columns that a line consists of, but for what stands before them."""
    are = list(map(_is_time, cells))
    if all(are):
        return list(cells)
    return list(cells[1:]) if len(cells) > 1 and all(are[1:]) else []


def _unit_of(text: str) -> str:
    return text.strip("()") if text.startswith("(") and _UNIT.search(text) else ""


def _is_short(cell: str) -> bool:
    return len(cell) <= _CELL_CHARS


def _joined(cells: Sequence[str]) -> list[str]:
    """Return cells with signs of currency and brackets put to the figure that they belong to."""
    joined: list[str] = []
    for cell in cells:
        if joined and (cell in _CLOSES or (_CURRENCY.fullmatch(joined[-1]) and joined[-1] not in _STANDS)):
            joined[-1] += cell
        else:
            joined.append(cell)
    return joined or [""]
