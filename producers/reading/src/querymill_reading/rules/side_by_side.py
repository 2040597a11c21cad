"""Texts that stand side by side and are no table: the order in which they are drawn, and lines at other heights, tell.

A program draws a table row by row, or column by column with its lines at the same heights. Text that is drawn whole
beside other text whose lines stand at other heights is a block of its own: an address beside the fields of an invoice,
the label of a box beside those of others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from querymill_reading.rules.layout import Word
from querymill_reading.rules.tables import is_value

#: Steps upwards, and downwards, in heights of a letter, with which another text begins.
UPWARDS: Final = 0.4
DOWNWARDS: Final = 3.0
#: The least gap between blocks beside each other, in heights of a letter.
GAP: Final = 0.8
#: Lines of blocks, at least, whose heights are compared closely; how far apart equal heights may be, and in few lines.
LEAST_LINES: Final = 3
LEVEL: Final = 0.12
LEVEL_OF_FEW: Final = 0.4
OFF_LEVEL_OF_FEW: Final = 0.3
#: The share of the lines that stand at other heights, and the widest step between lines of a label, in heights.
OFF_LEVEL: Final = 0.4
TIGHT: Final = 1.6
#: Words of a line alone that is no row of what is so far beside it, in heights of a letter.
LEAST_WORDS: Final = 3
FAR: Final = 5.0
#: Blocks of a page that are compared; a drawing may have more.
MAX_BLOCKS: Final = 400


@dataclass(frozen=True, slots=True)
class _Block:
    """Words that are drawn one after the other, downwards, with their sides and the heights of their lines."""

    words: tuple[Word, ...]
    x0: float
    x1: float
    heights: tuple[float, ...]
    size: float


def side_by_side(words: Sequence[Word]) -> list[list[Word]]:
    """Part the words of a page, in the order in which they are drawn: each block of its own, and what is around them.

    What stands above blocks beside each other comes before them, all else after them.
    """
    blocks = list(_blocks(words))
    if not 1 < len(blocks) <= MAX_BLOCKS:
        return [list(words)]
    own = [at for at, block in enumerate(blocks) if _is_apart(block, [*blocks[:at], *blocks[at + 1 :]])]
    parts: list[list[Word]] = []
    rest = [block for at, block in enumerate(blocks) if at not in set(own)]
    for group in _groups([blocks[at] for at in own]):
        top = min(block.heights[0] for block in group)
        above = [word for block in rest for word in block.words if block.heights[0] < top]
        rest = [block for block in rest if block.heights[0] >= top]
        parts.extend([above] if above else ())
        parts.extend(list(block.words) for block in group)
    left = [word for block in rest for word in block.words]
    return [*parts, left] if left else parts


def _blocks(words: Sequence[Word]) -> Iterator[_Block]:
    held: list[Word] = []
    lowest, sides = 0.0, (0.0, 0.0)
    for word in words:
        if held and not word.glued and _begins(word, lowest, sides):
            yield _block(held)
            held = []
        sides = (min(sides[0], word.x0), max(sides[1], word.x1)) if held else (word.x0, word.x1)
        lowest = word.y if not held else lowest if word.glued else max(lowest, word.y)
        held.append(word)
    if held:
        yield _block(held)


def _begins(word: Word, lowest: float, sides: tuple[float, float]) -> bool:
    """Return whether a word begins a block: it is drawn above the one before, far below, or below and beside it."""
    step = word.y - lowest
    is_beside = word.x0 > sides[1] or word.x1 < sides[0]
    return not -UPWARDS * word.size <= step <= (TIGHT if is_beside else DOWNWARDS) * word.size


def _block(words: Sequence[Word]) -> _Block:
    size = sorted(word.size for word in words)[len(words) // 2]
    heights: list[float] = []
    for y in sorted(word.y for word in words if not word.glued) or [words[0].y]:
        if not heights or y - heights[-1] > LEVEL_OF_FEW * size:
            heights.append(y)
    return _Block(
        tuple(words), min(word.x0 for word in words), max(word.x1 for word in words), tuple(heights), size
    )  # fmt: skip


def _is_apart(block: _Block, others: Sequence[_Block]) -> bool:
    """Return whether a block stands beside others whose lines are at other heights, and in rows with none."""
    beside = [other for other in others if _is_level_with(block, other)]
    return any(_are_no_rows(block, other) for other in beside) and not any(
        _are_rows(block, other) for other in beside
    )  # fmt: skip


def _is_level_with(one: _Block, other: _Block) -> bool:
    """Return whether lines of two blocks lie between the same heights."""
    slack = LEVEL_OF_FEW * min(one.size, other.size)
    return one.heights[0] <= other.heights[-1] + slack and other.heights[0] <= one.heights[-1] + slack


def _are_rows(one: _Block, other: _Block) -> bool:
    """Return whether two blocks may be columns of one table, or lie upon each other."""
    size = min(one.size, other.size)
    if max(one.x0, other.x0) - min(one.x1, other.x1) < GAP * size or _is_of_values(one) or _is_of_values(other):
        return True
    fewer, off = _off_level(one, other, size)
    return off < OFF_LEVEL * fewer


def _are_no_rows(one: _Block, other: _Block) -> bool:
    """Return whether the lines of two blocks are surely at other heights."""
    fewer, off = _off_level(one, other, min(one.size, other.size))
    if fewer >= LEAST_LINES:
        return off >= OFF_LEVEL * fewer
    label, beside = (one, other) if len(one.heights) > len(other.heights) else (other, one)
    away = max(one.x0, other.x0) - min(one.x1, other.x1)
    if len(beside.heights) == 1 and len(beside.words) >= LEAST_WORDS and away >= FAR * label.size:
        return all(abs(beside.heights[0] - y) > LEVEL * label.size for y in label.heights)
    steps = [below - above for above, below in pairwise(label.heights)]
    if not steps or max(steps) > TIGHT * label.size:
        return False
    slack = OFF_LEVEL_OF_FEW * min(one.size, other.size)
    return all(min(abs(y - line) for line in label.heights) > slack for y in beside.heights)


def _off_level(one: _Block, other: _Block, size: float) -> tuple[int, int]:
    """Return how many lines the block has that has fewer beside the other, and how many of them at other heights."""
    top, end = max(one.heights[0], other.heights[0]), min(one.heights[-1], other.heights[-1])
    fewer, more = sorted((_between(one, top, end, size), _between(other, top, end, size)), key=len)
    return len(fewer), sum(min(abs(y - line) for line in more) > LEVEL * size for y in fewer)


def _between(block: _Block, top: float, end: float, size: float) -> list[float]:
    return [y for y in block.heights if top - size <= y <= end + size]


def _is_of_values(block: _Block) -> bool:
    return 2 * sum(is_value(word.text) for word in block.words) > len(block.words)


def _groups(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Yield the blocks that stand beside each other, from the top, each group in the order in which it is drawn."""
    order = sorted(range(len(blocks)), key=lambda at: blocks[at].heights[0])
    number, end = 0, float("-inf")
    numbered: list[tuple[int, int]] = []
    for at in order:
        if blocks[at].heights[0] > end:
            number += 1
        end = max(end, blocks[at].heights[-1])
        numbered.append((number, at))
    for _, few in groupby(sorted(numbered), key=lambda each: each[0]):
        yield [blocks[at] for _, at in few]
