"""Rows that look like those of a table and are none: text beside text, wide blanks in justified lines, ticks of charts.

What is told here is written as text. Where it is in doubt, it stays a table.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from querymill_reading.rules.layout import Segment, TextLine, is_list_sign, is_running, lines_of
from querymill_reading.rules.tables import is_value

#: Points by which the beginnings of lines of one column differ.
NEAR: Final = 3.0
#: Lines of a column of text, at least; the share of its lines that fill it and run on, and what of its width is filled.
LEAST_LINES: Final = 4
RUN_ON: Final = 0.4
FILLED: Final = 0.85
#: The width of a column of text beside headings, as a share of both, and lines that may cross its border.
LEAST_WIDTH: Final = 0.4
CROSSING: Final = 0.1
#: Of the lines in a margin, the share that goes on at the next line, and a gap that begins another heading, in usual
#: gaps.
WRAPPED: Final = 0.4
APART: Final = 1.5
#: The widest blank in a justified line, in heights of a letter, and the share of the rows that are such lines.
WIDEST_BLANK: Final = 2.2
WIDEST_IN_SENTENCES: Final = 6.0
JUSTIFIED: Final = 0.6
#: The share of the cells of a column that stand below each other by chance.
BELOW: Final = 0.35
#: Numbers of a row of ticks, at least.
LEAST_TICKS: Final = 4
_NUMBER: Final = re.compile(r"[-–−]?\d+(?:[.,]\d+)?%?")
_ENDS: Final = re.compile(r"[.!?:;]['”\")\]]*$")


def running_text(rows: Sequence[TextLine]) -> list[list[TextLine]] | None:
    """Return the lines of rows in the order in which they are read as text, in runs; None if the rows are a table."""
    several = [row for row in rows if len(row.segments) > 1]
    if _are_ticks(several) or _are_scattered(several):
        return [[row] for row in rows]
    if _is_justified(rows, several) or _has_blanks_in_sentences(rows, several):
        return [list(rows)]
    return _beside(rows)


def _are_ticks(rows: Sequence[TextLine]) -> bool:
    """Return whether rows are a row of numbers at equal steps, over and over: the axis of charts."""
    texts = {" ".join(segment.text for segment in row.segments) for row in rows}
    return 0 < len(texts) <= max(1, len(rows) // 2) and all(_is_scale(text.split()) for text in texts)


def _is_scale(numbers: Sequence[str]) -> bool:
    if len(numbers) < LEAST_TICKS or not all(map(_NUMBER.fullmatch, numbers)):
        return False
    values = [float(number.strip("%").replace(",", ".").translate(_MINUS)) for number in numbers]
    steps = [after - before for before, after in pairwise(values)]
    return all(abs(step - steps[0]) < 0.01 * abs(steps[0]) for step in steps)


_MINUS: Final = str.maketrans("–−", "--")


def _are_scattered(rows: Sequence[TextLine]) -> bool:
    """Return whether rows are words of which hardly two stand below each other: the labels of a drawing."""
    if len(rows) < LEAST_LINES or any(is_value(segment.text) for row in rows for segment in row.segments):
        return False
    return all(_is_at_no_place([row.segments[at] for row in rows]) for at in (0, -1))


def _is_at_no_place(cells: Sequence[Segment]) -> bool:
    """Return whether few of the cells of a column begin, end or have their middle at one place."""
    edges = (
        [cell.x0 for cell in cells],
        [cell.x1 for cell in cells],
        [(cell.x0 + cell.x1) / 2 for cell in cells],
    )
    most = max(Counter(round(place / NEAR) for place in places).most_common(1)[0][1] for places in edges)
    return most <= BELOW * len(cells)


def _is_justified(rows: Sequence[TextLine], several: Sequence[TextLine]) -> bool:
    """Return whether most rows are lines of text from one edge to the other whose blanks are wide, at no one place."""
    right = max(row.x1 for row in rows)
    left = min(row.x0 for row in rows)
    starts = Counter(round(segment.x0 / NEAR) for row in several for segment in row.segments[1:])
    found = sum(_fills(row, left, right) and _is_one_line(row) and _has_own_blanks(row, starts) for row in several)
    return bool(several) and found >= JUSTIFIED * len(several)


def _has_blanks_in_sentences(rows: Sequence[TextLine], several: Sequence[TextLine]) -> bool:
    """Return whether rows are lines of text with a blank between sentences or before a link, at no one place."""
    left = min(row.x0 for row in rows)
    places = Counter(round(edge / NEAR) for row in several for each in row.segments[1:] for edge in (each.x0, each.x1))
    starts = Counter(round(each.x0 / NEAR) for row in several for each in row.segments[1:])
    return all(
        row.x0 <= left + NEAR
        and all(map(is_running, (row.segments[0].text, row.segments[-1].text)))
        and max(after.x0 - before.x1 for before, after in pairwise(row.segments)) < WIDEST_IN_SENTENCES * row.size
        and _has_own_blanks(row, starts)
        for row in several
    ) and (len(several) > 1 and max(places.values()) == 1)


def _fills(row: TextLine, left: float, right: float) -> bool:
    return row.x1 >= right - 2 * NEAR and row.x1 - row.x0 >= FILLED * (right - left)


def _is_one_line(row: TextLine) -> bool:
    text = " ".join(segment.text for segment in row.segments)
    blanks = [after.x0 - before.x1 for before, after in pairwise(row.segments)]
    words = [segment.text for segment in row.segments[1:]]
    return is_running(text) and max(blanks) < WIDEST_BLANK * row.size and not any(map(is_value, words))


def _has_own_blanks(row: TextLine, starts: Counter[int]) -> bool:
    """Return whether what stands behind the blanks of a row begins where nothing of another row does."""
    places = [round(segment.x0 / NEAR) for segment in row.segments[1:]]
    return all(starts[place - 1] + starts[place] + starts[place + 1] == 1 for place in places)


def _beside(rows: Sequence[TextLine]) -> list[list[TextLine]] | None:
    """Return text that stands beside headings or other text; None if one of both is no text."""
    start = _start_of_text(rows)
    if start is None:
        return None
    segments = [segment for row in rows for segment in row.segments]
    left = [segment for segment in segments if segment.x1 <= start + NEAR and segment.x0 < start - NEAR]
    right = [segment for segment in segments if segment.x0 >= start - NEAR]
    if len(segments) - len(left) - len(right) > CROSSING * len(rows):
        return None
    edge = min((segment.x0 for segment in left), default=0.0)
    signs = [segment for segment in left if is_list_sign(segment.text) and segment.x0 > edge + NEAR]
    labels = [segment for segment in left if segment not in signs]
    columns = lines_of(labels), lines_of([*right, *signs])
    is_parted = labels and all(len(line.segments) == 1 for line in columns[0])
    if not is_parted or any(len(_without_sign(line)) != 1 for line in columns[1]) or not _runs_on(columns[1]):
        return None
    width = max(line.x1 for line in columns[1]) - start
    if width < LEAST_WIDTH * (max(row.x1 for row in rows) - min(row.x0 for row in rows)):
        return None
    if _runs_on(columns[0]):
        return [*columns]
    return _under_headings(*columns)


def _start_of_text(rows: Sequence[TextLine]) -> float | None:
    """Return where most of the last cells begin that are text."""
    starts = Counter(
        round(row.segments[-1].x0 / NEAR) for row in rows if len(row.segments) > 1 and is_running(row.segments[-1].text)
    )
    if not starts:
        return None
    place, times = starts.most_common(1)[0]
    return place * NEAR if times > 1 else None


def _without_sign(line: TextLine) -> tuple[Segment, ...]:
    return line.segments[1:] if is_list_sign(line.segments[0].text) and len(line.segments) > 1 else line.segments


def _runs_on(lines: Sequence[TextLine]) -> bool:
    """Return whether lines fill the width of their column, and go on in the next."""
    if len(lines) < LEAST_LINES or 2 * sum(is_running(line.text) for line in lines) < len(lines):
        return False
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    run_on = sum(
        above.x1 >= left + FILLED * (right - left) and line.text[:1].islower() and not _ENDS.search(above.text)
        for above, line in pairwise(lines)
    )
    return run_on >= RUN_ON * (len(lines) - 1)


def _under_headings(margin: Sequence[TextLine], text: Sequence[TextLine]) -> list[list[TextLine]] | None:
    """Return each heading of a margin before the text that begins beside it; None if they are names of rows."""
    gaps = sorted(below.y - above.y for above, below in pairwise(text))
    usual = gaps[len(gaps) // 4]
    headings: list[list[TextLine]] = []
    for above, line in pairwise([margin[0], *margin]):
        if not headings or line.y - above.y > APART * usual:
            headings.append([])
        headings[-1].append(line)
    if sum(len(heading) > 1 for heading in headings) < WRAPPED * len(headings):
        return None
    found: list[list[TextLine]] = []
    ends = [heading[0].y - NEAR for heading in headings[1:]]
    before = [line for line in text if line.y < headings[0][0].y - NEAR]
    found.extend([before] if before else ())
    for heading, end in zip(headings, [*ends, float("inf")], strict=True):
        own = [line for line in text if heading[0].y - NEAR <= line.y < end]
        found.extend([heading, own] if own else [heading])
    return found
