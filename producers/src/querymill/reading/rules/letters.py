"""Letters with boxes become words, whatever way the page is turned."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

from querymill.reading.rules.layout import Word

#: A letter: its code, and its box from the lower left corner, in points, ``y`` upwards: left, bottom, right, top.
Letter = tuple[int, float, float, float, float]

#: In heights of a letter: a gap that separates words, and a step up or down that makes a raised or lowered piece.
BLANK: Final = 0.17
RAISED: Final = 0.12
#: One pair of letters in so many is asked which way the lines run.
EVERY: Final = 5
#: Signs that are remembered: those of a page are few.
_SIGNS: Final = 10_000
_HYPHENS: Final = {0x02: "-", 0xAD: "", 0xFFFE: "-"}


def words_of(letters: Sequence[Letter]) -> list[Word]:
    """Join letters, in the order in which they are drawn, to words."""
    turned = _turned(letters)
    words: list[Word] = []
    held: list[str] = []
    start = end = bottom = top = 0.0
    glued = False
    for code, left, low, right, high in turned:
        text = _text(code)
        if not text:
            if code and held:
                _close(words, held, start, end, bottom, top, glued=glued)
                held, glued = [], False
            continue
        if held:
            gap, step, usual = left - end, abs(low - bottom), top - bottom
            if step > RAISED * usual or gap > BLANK * usual or gap < -0.9 * usual:
                _close(words, held, start, end, bottom, top, glued=glued)
                held = []
                near = -0.3 * usual < gap <= BLANK * usual
                glued = near and RAISED * usual < step < usual and high - low < 0.9 * usual
        if not held:
            start, bottom, top = left, low, max(high, low + 0.1)
        held.append(text)
        end = right
    if held:
        _close(words, held, start, end, bottom, top, glued=glued)
    return words


def _close(
    words: list[Word], held: list[str], start: float, end: float, bottom: float, top: float, *, glued: bool
) -> None:
    words.append(Word("".join(held), start, end, -bottom, max(top - bottom, 0.1), glued=glued and bool(words)))


@lru_cache(_SIGNS)
def _text(code: int) -> str:
    """Return what a letter shows; nothing for blanks."""
    if code in _HYPHENS:
        return _HYPHENS[code]
    if code < 0x20 or code > 0x10FFFF or 0xE000 <= code <= 0xF8FF:  # no private signs
        return ""
    return chr(code).strip()


def _turned(letters: Sequence[Letter]) -> Iterator[Letter]:
    """Turn a page whose lines run upwards or downwards, as those of wide tables often do."""
    across = up = down = 0.0
    for one, other in islice(pairwise(letters), 0, None, EVERY):
        right, above = abs(other[1] - one[1]), other[2] - one[2]
        if right + abs(above) > 3 * max(one[4] - one[2], one[3] - one[1]):
            continue  # to another line
        across += right
        up += max(above, 0.0)
        down += max(-above, 0.0)
    if max(up, down) <= 2 * across:
        return iter(letters)
    if up > down:
        return ((code, low, -right, high, -left) for code, left, low, right, high in letters)
    return ((code, -high, left, -low, right) for code, left, low, right, high in letters)
