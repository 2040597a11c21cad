"""What the lines of a page are: paragraphs and tables, and where a line has sentences."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

# A run of blanks between columns, not the two blanks a typist puts after a sentence.
_COLUMN_GAP: Final = re.compile(r"(?<![.!?\s])(?:[ ]{2,}|\t)|(?<=[.!?])(?:[ ]{2,}|\t)(?![A-Z \t])")
_RULE_MARKS: Final = frozenset("|:-+= \t")
_FULL_STOP: Final = re.compile(r"(?<![.!?。！？；])([.!?。！？；]++)[”’」』）)\"']*+(\s*+)")
_LATIN_STOPS: Final = ".!?"
_BRIDGE_LINES: Final = 2
_BRIDGE_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive lines without blank ones, trailing blanks cut: a paragraph or a table."""

    lines: tuple[str, ...]
    table: bool


def blocks(text: str) -> Iterator[Block]:
    """Read a page as paragraphs and tables, in order.

    A table is two or more consecutive rows, in Markdown (with ``|``) or in columns (runs of two or more
    blanks, as ``pdftotext -layout`` writes). In columns, up to two short or blank lines between rows belong
    to the table: they are its group headings.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    kinds = [_row_kind(line) for line in lines]
    paragraph: list[str] = []
    position = 0
    while position < len(lines):
        end = _table_end(lines, kinds, position)
        if (end or not lines[position]) and paragraph:
            yield Block(tuple(paragraph), table=False)
            paragraph = []
        if end:
            yield Block(tuple(line for line in lines[position:end] if line), table=True)
        elif lines[position]:
            paragraph.append(lines[position])
        position = end or position + 1
    if paragraph:
        yield Block(tuple(paragraph), table=False)


def header_rows(rows: Sequence[str]) -> int:
    """Count the rows that head a table: the first, and the rule under it if there is one."""
    ruled = len(rows) > 1 and "-" in rows[1] and _RULE_MARKS.issuperset(rows[1])
    return 2 if ruled else 1


def sentences(text: str) -> list[str]:
    """Cut a text behind every sentence, in English (a stop and a blank) or Chinese; joined it is the text."""
    ends = [stop.end() for stop in _FULL_STOP.finditer(text) if stop.group(2) or stop.group(1).strip(_LATIN_STOPS)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)]) if start < end]


def _row_kind(line: str) -> str:
    """Name the kind of table a line could be a row of; nothing for a line of prose."""
    if "|" in line:
        return "|"
    return "columns" if _COLUMN_GAP.search(line.lstrip()) else ""


def _table_end(lines: Sequence[str], kinds: Sequence[str], start: int) -> int:
    """Find where the table that starts on a line ends; 0 when none does."""
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
