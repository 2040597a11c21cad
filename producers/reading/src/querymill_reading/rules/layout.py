"""Words on a page become lines of segments; segments are what blanks wider than those between words separate.

Coordinates are in points; ``y`` grows downwards and is that of the bottom of the letters.
"""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, TypeVar

from querymill_reading.rules.directions import in_leftwards_line, in_reading_order, is_leftwards_line

#: Blanks between segments, in heights of a letter; between two numbers less is enough.
GAP: Final = 0.8
GAP_OF_NUMBERS: Final = 0.38
#: Words whose bottoms differ by less, in heights of a letter, are on one line.
SAME_LINE: Final = 0.35
#: Words of another height are on one line, too, if their middles differ by less, and their heights by so many times.
SAME_MIDDLE: Final = 0.25
OTHER_HEIGHT: Final = 1.6
#: A word is set into the line of a larger one if so much of its height is beside that one's, and so near, in heights.
SET_IN: Final = 0.5
NEAR_SET_IN: Final = 0.4
#: Words between which there is less, in heights of a letter, touch each other.
TOUCHING: Final = 0.08
_VALUE: Final = re.compile(r"[$€£¥(+–—-]*[0-9][0-9.,]*[)%]*|[$€£¥]|[–—-]+%?")
_BULLET: Final = re.compile(r"[•·▪▫◦●○■□☐☒➢➤✓–—*-]|\(?(?:[0-9]{1,2}|[a-zA-Z]|[ivx]{1,4})[.)]")
_LETTER: Final = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, or with ``glued`` a piece that follows the one before without a blank (a raised footnote sign)."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    glued: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """Words on one line with ordinary blanks between them, or as ``table`` one whose cells are drawn, in Markdown."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    table: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line that is drawn."""

    x0: float
    x1: float
    y: float


@dataclass(frozen=True, slots=True)
class TextLine:
    """The segments on one height, from left to right."""

    segments: tuple[Segment, ...]

    @property
    def text(self) -> str:
        """The segments in the order in which they are read, with blanks between them."""
        texts = [segment.text for segment in self.segments]
        return " ".join(texts[at] for at in in_reading_order(texts))

    @property
    def y(self) -> float:
        """Where the letters stand."""
        return self.segments[0].y

    @property
    def size(self) -> float:
        """The height of the highest letters."""
        return max(segment.size for segment in self.segments)

    @property
    def x0(self) -> float:
        """Where it begins."""
        return self.segments[0].x0

    @property
    def x1(self) -> float:
        """Where it ends."""
        return self.segments[-1].x1


P = TypeVar("P", Word, Segment)


def segments_of(words: Sequence[Word]) -> list[Segment]:
    """Join words to segments, those of one line from left to right."""
    found: list[Segment] = []
    for row in _rows(_with_signs(words)):
        held: list[Word] = []
        for word in row:
            if held and _is_apart(held[-1], word):
                found.append(_segment(held))
                held = []
            held.append(word)
        found.append(_segment(held))
    return found


def lines_of(segments: Iterable[Segment]) -> list[TextLine]:
    """Join segments to lines, from the top."""
    return [TextLine(tuple(row)) for row in _rows(list(segments))]


def is_list_sign(text: str) -> bool:
    """Return whether a text is what stands before an item of a list."""
    return _BULLET.fullmatch(text) is not None


def joined_bullets(line: TextLine) -> TextLine:
    """Join the sign of a list item with its text."""
    first, *others = line.segments
    if len(others) == 1 and _BULLET.fullmatch(first.text) and _LETTER.search(others[0].text):
        other = others[0]
        text = f"{first.text} {other.text}"
        return TextLine((Segment(text, first.x0, other.x1, first.y, other.size),))
    return line


def widened(line: TextLine, rules: Sequence[Rule]) -> TextLine:
    """Give the names of columns the width of the rules drawn under them, unless a rule is under several of them."""
    if not rules or (len(line.segments) > 1 and any(_VALUE.fullmatch(each.text) for each in line.segments[1:])):
        return line
    return TextLine(tuple(_over_rule(each, line, rules) for each in line.segments))


def _over_rule(segment: Segment, line: TextLine, rules: Sequence[Rule]) -> Segment:
    for rule in rules:
        near = -0.2 * segment.size < rule.y - segment.y < 0.6 * segment.size
        if near and rule.x0 <= (segment.x0 + segment.x1) / 2 <= rule.x1 and rule.x1 - rule.x0 > segment.x1 - segment.x0:
            others = [
                each for each in line.segments if each is not segment and rule.x0 < (each.x0 + each.x1) / 2 < rule.x1
            ]
            if not others:
                return Segment(segment.text, rule.x0, rule.x1, segment.y, segment.size)
    return segment


def columns(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the columns of a page in the order in which they are read.

    Where text stands in columns, a line that crosses the gutter (a title, a wide table) ends them: first what is above
    it is read, column by column. Tables are no columns of text; they stay whole.
    """
    gutter = _gutter(segments)
    if gutter is None:
        yield list(segments)
        return
    left: list[Segment] = []
    right: list[Segment] = []
    across: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: (segment.y, segment.x0)):
        if segment.x0 < gutter < segment.x1:
            if left or right:
                yield from _sides(left, right)
                left, right = [], []
            across.append(segment)
        else:
            if across:
                yield across
                across = []
            (left if segment.x1 <= gutter else right).append(segment)
    if across:
        yield across
    yield from _sides(left, right)


def _sides(left: list[Segment], right: list[Segment]) -> Iterator[list[Segment]]:
    if not (_is_prose(left) or _is_prose(right)):
        yield [*left, *right]  # a table between columns of text
        return
    for side in (left, right):
        if side:
            yield from columns(side)


#: Lines on each side of a gutter, at least; and the share of lines that may cross it.
_LEAST_LINES: Final = 6
_MOST_CROSSING: Final = 0.4
#: The share of a column, by width, that is running text.
_LEAST_RUNNING: Final = 0.65
_STEP: Final = 3.0


def _gutter(segments: Sequence[Segment]) -> float | None:
    """Return where a page of text in columns may be cut, or None."""
    if len(segments) < 2 * _LEAST_LINES:
        return None
    starts, ends = sorted(each.x0 for each in segments), sorted(each.x1 for each in segments)
    start, end = starts[0], ends[-1]
    width = end - start
    best: tuple[int, float, float] | None = None
    steps = int(width * 0.6 / _STEP)
    for step in range(steps + 1):
        x = start + width * 0.2 + step * _STEP
        crossing = bisect_left(starts, x) - bisect_right(ends, x)
        rank = (crossing, abs(x - (start + end) / 2), x)
        if best is None or rank < best:
            best = rank
    if best is None or best[0] > len(segments) * _MOST_CROSSING:
        return None
    gutter = best[2]
    left = [each for each in segments if each.x1 <= gutter]
    right = [each for each in segments if each.x0 >= gutter]
    if min(len(left), len(right)) < _LEAST_LINES or not (_is_prose(left) and _is_prose(right)):
        return None
    return gutter


def _is_prose(side: Sequence[Segment]) -> bool:
    """Return whether most of a side is running text that fills its column, or columns of such text.

    What is not running text counts by its width: headings, formulas and what stands above the columns are short.
    """
    if not side:
        return False
    width = max(each.x1 for each in side) - min(each.x0 for each in side)
    texts = [each for each in side if is_running(each.text)]
    if not texts or _width_of(texts) < _LEAST_RUNNING * _width_of(side):
        return False
    return median(each.x1 - each.x0 for each in texts) >= 0.55 * width or _gutter(side) is not None


def _width_of(segments: Sequence[Segment]) -> float:
    return sum(each.x1 - each.x0 for each in segments)


def is_running(text: str) -> bool:
    """Return whether a text is made of words, and is no name or figure."""
    letters = len(_LETTER.findall(text))
    return letters >= 14 and letters >= 0.6 * len(text)


def _rows(placed: Sequence[P]) -> list[list[P]]:
    """Group what stands on one height; a glued word goes with the word before it."""
    rows: list[list[P]] = []
    heights: list[float] = []
    row_of: dict[int, int] = {}
    order = sorted(range(len(placed)), key=lambda at: (placed[at].y, placed[at].x0))
    glued = [at for at in order if getattr(placed[at], "glued", False) or _is_set_in(placed, at)]
    behind = set(glued)
    for at in order:
        each = placed[at]
        if at in behind:
            continue
        if rows and _is_level(each, rows[-1][0], heights[-1]):
            rows[-1].append(each)
        else:
            rows.append([each])
            heights.append(each.y)
        row_of[at] = len(rows) - 1
    for at in sorted(glued):
        row = row_of.get(at - 1)
        if row is None:
            continue
        row_of[at] = row
        rows[row].append(placed[at])
    for row_list in rows:
        row_list.sort(key=lambda each: each.x0)
    return rows


def _is_set_in(placed: Sequence[P], at: int) -> bool:
    """Return whether a word is raised or lowered behind a larger one, as a piece of its line."""
    if not at or not isinstance(placed[at], Word):
        return False
    before, word = placed[at - 1], placed[at]
    if word.size > 0.8 * before.size or not 0 <= word.x0 - before.x1 <= NEAR_SET_IN * before.size:
        return False
    beside = min(word.y, before.y) - max(word.y - word.size, before.y - before.size)
    return beside >= SET_IN * word.size


def _is_level(each: P, first: P, y: float) -> bool:
    """Return whether a word stands on the line of another, by its foot, or by its middle beside one of another font."""
    least, most = sorted((each.size, first.size))
    if abs(each.y - y) <= SAME_LINE * least:
        return True
    middle = abs((each.y - each.size / 2) - (first.y - first.size / 2))
    is_beside = each.x0 >= first.x1 or each.x1 <= first.x0
    return is_beside and middle <= SAME_MIDDLE * least and 1 < most / least <= OTHER_HEIGHT


def _with_signs(words: Sequence[Word]) -> list[Word]:
    """Glue small raised footnote signs to the words that they stand behind, wherever they were drawn."""
    by_end = sorted(range(len(words)), key=lambda at: words[at].x1)
    ends = [words[at].x1 for at in by_end]
    signs_of: dict[int, list[Word]] = {}
    moved: set[int] = set()
    for number, sign in enumerate(words):
        if sign.glued or not _FOOTNOTE.fullmatch(sign.text):
            continue
        first, last = bisect_left(ends, sign.x0 - sign.size), bisect_right(ends, sign.x0 + sign.size)
        before = next((at for at in by_end[first:last] if at != number and _is_raised(sign, words[at])), None)
        if before is not None:
            signs_of.setdefault(before, []).append(sign)
            moved.add(number)
    placed: list[Word] = []
    for at, word in enumerate(words):
        if at not in moved:
            placed.append(word)
            placed.extend(replace(sign, glued=True) for sign in signs_of.get(at, ()))
    return placed


def _is_raised(sign: Word, word: Word) -> bool:
    """Return whether a sign is smaller than a word, above its foot, and right behind it."""
    is_small = sign.size < 0.9 * word.size and 0.15 * word.size < word.y - sign.y < 0.9 * word.size
    return is_small and -0.1 * word.size < sign.x0 - word.x1 < 0.25 * word.size


def _is_apart(before: Word, word: Word) -> bool:
    if word.glued:
        return False
    size = max(min(before.size, word.size), 1.0)
    gap = (word.x0 - before.x1) / size
    if gap > GAP:
        return True
    return gap > GAP_OF_NUMBERS and bool(_VALUE.fullmatch(before.text) and _VALUE.fullmatch(word.text))


def _segment(words: Sequence[Word]) -> Segment:
    texts = [word.text for word in words]
    is_leftwards = is_leftwards_line(texts)
    read = [words[at] for at in in_reading_order(texts)]
    shown = [in_leftwards_line(word.text) if is_leftwards else word.text for word in read]
    text = shown[0]
    for (before, word), own in zip(itertools.pairwise(read), shown[1:], strict=True):
        if word.glued:
            text += glued_on(before.text, own)
        else:
            text += own if is_leftwards and _touch(before, word) else f" {own}"
    main = max(words, key=lambda word: word.size)
    return Segment(text, words[0].x0, max(word.x1 for word in words), main.y, main.size)


def _touch(one: Word, other: Word) -> bool:
    """Return whether nothing is between two words."""
    gap = max(one.x0, other.x0) - min(one.x1, other.x1)
    return abs(gap) < TOUCHING * min(one.size, other.size)


_FOOTNOTE: Final = re.compile(r"\(?[0-9]{1,2}(?:,[0-9]{1,2})*\)?|[*†‡]+|\([a-z]\)")
_UNIT: Final = re.compile(r"(?:^|.*[^A-Za-z])[A-Za-z]{1,3}")


def glued_on(before: str, raised: str) -> str:
    """Return a small raised or lowered piece as it stands behind a word.

    A footnote sign must not become part of a figure: 2,557.2 with a raised 8 is "2,557.2 [8]", EBITDA with a raised 1
    "EBITDA [1]". After a unit or a symbol the digits stay: "km2".
    """
    if _FOOTNOTE.fullmatch(raised) and not _UNIT.fullmatch(before):
        return f" [{raised.strip('()')}]"
    return raised
