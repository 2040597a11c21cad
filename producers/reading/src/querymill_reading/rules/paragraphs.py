"""Lines of a column become paragraphs and tables."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import Final

from querymill_reading.rules.layout import Rule, TextLine, joined_bullets, widened
from querymill_reading.rules.running_rows import running_text
from querymill_reading.rules.tables import Cell, tables
from querymill_reading.rules.wrapping import NO_WORDS, is_cut, joined, with_whole_names

#: Lines without a second cell that may stand between two rows of a table, and so many if they end before the values.
BETWEEN_ROWS: Final = 3
NAMES_BETWEEN_ROWS: Final = 8
#: Lines above that tell what is usual in a table.
LOOKED_BACK: Final = 20
#: A gap between rows, in heights of a letter, that ends a table, and one that ends a paragraph.
ENDS_TABLE: Final = 4.5
#: How many usual gaps between rows end a table, and how much the letters of another text differ in height.
FAR: Final = 3.0
OTHER_SIZE: Final = 0.08
ENDS_PARAGRAPH: Final = 0.5
#: The largest gap between lines that follow each other, in heights of a letter: text with a blank line after each.
MAX_GAP: Final = 2.25
#: Lines of a cell of the last row, at most.
MAX_WRAPPED: Final = 3
#: Characters of a line that is surely running text.
RUNNING: Final = 90
_STARTS_ITEM: Final = re.compile(r"[•·▪▫◦●○■□☐☒➢➤✓–—*]\s|\(?(?:[0-9]{1,2}|[a-z])[.)]\s")
_HYPHEN: Final = "- "
_DOTS: Final = re.compile(r"(?:\s*\.){4,}\s*")
_ENDS: Final = re.compile(r"[.!?:;。！？：；]['”\")]*$")


def blocks(lines: Sequence[TextLine], rules: Sequence[Rule] = (), known: frozenset[str] = NO_WORDS) -> Iterator[str]:
    """Yield paragraphs, each without line ends, and tables in Markdown, from the top.

    ``rules`` are horizontal lines that are drawn: one under a name shows which columns it is the name of. ``known`` are
    the words of the document: see `joined`.
    """
    for is_drawn, few in groupby(_apart(lines), lambda line: bool(line.segments[0].table)):
        if is_drawn:
            yield from (line.segments[0].table for line in few)
        else:
            yield from _blocks(list(few), rules, known)


def _apart(lines: Sequence[TextLine]) -> Iterator[TextLine]:
    """Yield tables that are drawn as lines of their own, each before what stands beside it."""
    for line in lines:
        others = tuple(segment for segment in line.segments if not segment.table)
        yield from (TextLine((segment,)) for segment in line.segments if segment.table)
        if others:
            yield TextLine(others)


def _blocks(lines: Sequence[TextLine], rules: Sequence[Rule], known: frozenset[str]) -> Iterator[str]:
    narrow = [joined_bullets(line) for line in lines]
    lines = [widened(line, rules) for line in narrow]
    at = 0
    prose: list[TextLine] = []
    while at < len(lines):
        end = _table_end(lines, at)
        if end and (runs := running_text(narrow[at:end])) is not None:
            if len(runs) == 1:
                prose.extend(*runs)
            else:
                yield from paragraphs(prose, known)
                yield from (text for run in runs for text in paragraphs(run, known))
                prose = []
            at = end
        elif end and (written := _written(narrow[at:end], rules, known)):
            yield from paragraphs(prose, known)
            yield from written
            prose, at = [], end
        else:  # where no columns were found, most of what was looked at has none
            passed = max((end - at) // 2, 1)
            prose.extend(lines[at : at + passed])
            at += passed
    yield from paragraphs(prose, known)


def paragraphs(lines: Sequence[TextLine], known: frozenset[str] = NO_WORDS) -> Iterator[str]:
    """Join wrapped lines to paragraphs. ``known`` are the words of the document: see `joined`."""
    if not lines:
        return
    gaps = [below.y - above.y for above, below in pairwise(lines) if below.y > above.y]
    largest = MAX_GAP * median(line.size for line in lines)
    usual = min(median(gaps), largest) if gaps else 0.0
    right = max(line.x1 for line in lines)
    held = lines[0].text
    for above, line in pairwise(lines):
        if _begins(above, line, usual, right):
            yield held
            held = line.text
        else:
            held = joined(held, line.text, known)
    yield held


def _begins(above: TextLine, line: TextLine, usual: float, right: float) -> bool:
    """Return whether a line begins a paragraph."""
    size = max(min(above.size, line.size), 1.0)
    if line.y - above.y > usual + ENDS_PARAGRAPH * size or line.y < above.y:
        return True
    if is_cut(above.text, line.text):
        return False
    if abs(above.size - line.size) > 0.2 * size or _STARTS_ITEM.match(line.text):
        return True
    if line.text.startswith(_HYPHEN) and _may_end_before_item(above, line, right - 2 * size):
        return True
    is_short = above.x1 < right - 6 * size
    return is_short and (_ENDS.search(above.text) is not None or above.x1 - above.x0 < 0.6 * (right - line.x0))


def _may_end_before_item(above: TextLine, line: TextLine, full: float) -> bool:
    """Return whether a hyphen under a line is the sign of an item, and not a dash within a sentence."""
    is_over = above.x1 < full or _ENDS.search(above.text) is not None
    return is_over or above.text.startswith(_HYPHEN) or above.x0 > line.x0 + OTHER_SIZE * line.size


def _table_end(lines: Sequence[TextLine], start: int) -> int:
    """Return the line after the table that begins on a line, or 0 if none does."""
    if not _is_row(lines[start]) and not _heads(lines, start):
        return 0
    end, rows, between = start + 1, int(_is_row(lines[start])), 0
    for at in range(start + 1, len(lines)):
        line, above = lines[at], lines[at - 1]
        near = lines[max(start, at - LOOKED_BACK) : at]
        if _is_far(above, line, near):
            break
        if _is_row(line):
            end, rows, between = at + 1, rows + 1, 0
        elif _is_other(line, near) or between == _may_follow(line, near):
            break
        else:
            between += 1
    return _with_wrapped(lines, end) if rows > 1 else 0


def _with_wrapped(lines: Sequence[TextLine], end: int) -> int:
    """Return the line after what is wrapped below the last row of a table; text that goes on below that is no part."""
    row, last = lines[end - 1], end
    if end < len(lines) and _continues_name(row, lines[end]):
        return end + 1
    while last < len(lines) and _is_under_cell(row, lines[last - 1], lines[last]):
        last += 1
    return last if last - end <= MAX_WRAPPED and all(line.text[:1].islower() for line in lines[end:last]) else end


def _is_far(above: TextLine, line: TextLine, table: Sequence[TextLine]) -> bool:
    """Return whether a line is too far below a table to be a part of it."""
    gap = line.y - above.y
    gaps = [two.y - one.y for one, two in pairwise(table)]
    usual = median(gaps) if len(gaps) > 1 else line.size * ENDS_TABLE
    return gap < 0 or gap > ENDS_TABLE * line.size or gap > max(FAR * usual, 2 * line.size)


def _is_other(line: TextLine, table: Sequence[TextLine]) -> bool:
    """Return whether a line is text between tables: of another size, or running beyond the names of rows."""
    size = median(row.size for row in table)
    is_long = len(line.text) > RUNNING and not _ends_before_values(line, table)
    return is_long or (abs(line.size - size) > OTHER_SIZE * size and len(line.text) > RUNNING // 3)


def _may_follow(line: TextLine, table: Sequence[TextLine]) -> int:
    return NAMES_BETWEEN_ROWS if _ends_before_values(line, table) else BETWEEN_ROWS


def _ends_before_values(line: TextLine, table: Sequence[TextLine]) -> bool:
    second = [row.segments[1].x0 for row in table if _is_row(row)]
    return bool(second) and line.x1 <= median(second)


def _is_row(line: TextLine) -> bool:
    return len(line.segments) > 1


def _heads(lines: Sequence[TextLine], at: int) -> bool:
    """Return whether a single name stands over the columns of the rows that follow, and not over their names."""
    line = lines[at]
    following = next((below for below in lines[at + 1 : at + 3] if _is_row(below)), None)
    if following is None or len(line.text) > RUNNING or following.y - line.y > 3 * line.size:
        return False
    return line.x0 > following.segments[0].x1 or (
        len(following.segments) > 1
        and line.x0 >= following.segments[0].x0 + 4 * line.size
        and len(line.text) < RUNNING // 2
    )


def _continues_name(row: TextLine, line: TextLine) -> bool:
    """Return whether a line is the rest of the name of the last row."""
    near = line.y - row.y < 1.6 * line.size
    return (
        near and line.text[:1].islower() and len(line.text) < RUNNING // 2 and line.x1 < row.segments[0].x1 + line.size
    )


def _is_under_cell(row: TextLine, above: TextLine, line: TextLine) -> bool:
    """Return whether a line stands right under a cell of a row, or under what stands there."""
    return 0 < line.y - above.y < 1.6 * line.size and any(
        abs(line.x0 - cell.x0) < 0.3 * line.size for cell in row.segments[1:]
    )


def _written(narrow: Sequence[TextLine], rules: Sequence[Rule], known: frozenset[str]) -> list[str]:
    lines = [widened(line, rules) for line in with_whole_names(narrow, known)]
    rows = [[Cell(_DOTS.sub(" ", part.text).strip(), part.x0, part.x1) for part in line.segments] for line in lines]
    rows = [[cell for cell in row if cell.text] for row in rows]
    size = median(line.size for line in lines)
    return [table.markdown() for table in tables([row for row in rows if row], least_gap=0.2 * size)]
