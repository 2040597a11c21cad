"""The layout of a page: its paragraphs and tables, and the sentences of a line."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from querymill_shared.values import value

# A run of blanks between columns, but not the two blanks that some put after a sentence.
_COLUMN_GAP: Final = re.compile(r"(?<![.!?\s])(?:[ ]{2,}|\t)|(?<=[.!?])(?:[ ]{2,}|\t)(?![A-Z \t])")
_RULE_MARKS: Final = frozenset("|:-+= \t")
_FULL_STOP: Final = re.compile(r"(?<![.!?。！？；])([.!?。！？；]++)[”’」』）)\"']*+(\s*+)")
_LATIN_STOPS: Final = ".!?"
_BRIDGE_LINES: Final = 2
_BRIDGE_LENGTH: Final = 80


@value
class LineBlock:
    """A paragraph or a table: consecutive lines that are not blank, without trailing blanks."""

    lines: tuple[str, ...]
    table: bool


def blocks(text: str) -> Iterator[LineBlock]:
    """Yield the paragraphs and tables of a page, in order.

    A table is two or more consecutive rows, in Markdown (with ``|``) or in columns (with runs of two or more
    blanks, as ``pdftotext -layout`` writes them). In columns, up to two short or blank lines between rows belong
    to the table: they are group headings.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    kinds = [_row_kind(line) for line in lines]
    paragraph: list[str] = []
    position = 0
    while position < len(lines):
        end = _table_end(lines, kinds, position)
        if (end or not lines[position]) and paragraph:
            yield LineBlock(tuple(paragraph), table=False)
            paragraph = []
        if end:
            yield LineBlock(tuple(line for line in lines[position:end] if line), table=True)
        elif lines[position]:
            paragraph.append(lines[position])
        position = end or position + 1
    if paragraph:
        yield LineBlock(tuple(paragraph), table=False)


def header_rows(rows: Sequence[str]) -> int:
    """Return the number of rows in the header of a table: the first row, and the rule under it if there is one."""
    ruled = len(rows) > 1 and "-" in rows[1] and _RULE_MARKS.issuperset(rows[1])
    return 2 if ruled else 1


def sentences(text: str) -> list[str]:
    """Cut a text after every sentence, English (a stop and a blank) or Chinese. Joined, the pieces are the text."""
    ends = [stop.end() for stop in _FULL_STOP.finditer(text) if stop.group(2) or stop.group(1).strip(_LATIN_STOPS)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def _row_kind(line: str) -> str:
    """Return the kind of table that a line may be a row of, or an empty text for prose."""
    if "|" in line:
        return "|"
    return "columns" if _COLUMN_GAP.search(line.lstrip()) else ""


def _table_end(lines: Sequence[str], kinds: Sequence[str], start: int) -> int:
    """Return the line after the table that starts on a line, or 0 if no table starts there."""
    kind = kinds[start]
    if not kind:
        return 0
    end, rows = start + 1, 1
    while (step := _next_row(lines, kinds, end, kind)) is not None:
        end, rows = step + 1, rows + 1
    return end if rows > 1 else 0


def _next_row(lines: Sequence[str], kinds: Sequence[str], position: int, kind: str) -> int | None:
    reach = 1 if kind == "|" else 1 + _BRIDGE_LINES
    for row in range(position, min(position + reach, len(lines))):
        if kinds[row] == kind:
            return row
        if kinds[row] or len(lines[row]) > _BRIDGE_LENGTH:
            return None
    return None
