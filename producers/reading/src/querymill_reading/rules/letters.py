"""Letters with boxes become words, whatever way a page is turned, and whether they run to the right or to the left."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final

from querymill_reading.rules.directions import runs_leftwards, straightened
from querymill_reading.rules.layout import Word

#: A letter: its code, and its box from the lower left corner, in points, ``y`` upwards: left, bottom, right, top.
Letter = tuple[int, float, float, float, float]

#: In heights of a letter: a gap that separates words, and a step up or down that makes a raised or lowered piece.
BLANK: Final = 0.17
RAISED: Final = 0.12
#: One pair of letters in so many is asked which way the lines run; on a page of few letters every pair.
EVERY: Final = 5
FEW: Final = 500
#: Line breaks, which the engine puts between letters that are drawn one at a time, too.
_BREAKS: Final = (0x0A, 0x0D)
#: Signs that are remembered: those of a page are few.
_SIGNS: Final = 10_000
#: What the engine makes of one sign of a font.
LIGATURES: Final = frozenset(("ff", "fi", "fl", "ffi", "ffl", "ft", "st"))
_LAM: Final = 0x644
_ALEFS: Final = frozenset((0x622, 0x623, 0x625, 0x627))
#: The last code that is a character, and one that is none: a letter with it ends a word, and is not read.
LAST_CHARACTER: Final = 0x10FFFF
NO_CHARACTER: Final = 0xE000
_HYPHENS: Final = {0x02: "-", 0xAD: "", 0xFFFE: "-"}
#: Codes that show nothing: a blank, and what controls lines.
BLANKS: Final = frozenset(range(0x21)) - _HYPHENS.keys()


def with_parted_ligatures(letters: Sequence[Letter]) -> list[Letter]:
    """Give each letter of a ligature its part of the box that the engine gives to all of them."""
    done = list(letters)
    at = 0
    while at < len(done) - 1:
        end = at + 1
        while end < len(done) and done[end][1:] == done[at][1:]:
            end += 1
        if end - at > 1 and "".join(chr(code) for code, *_ in done[at:end]) in LIGATURES:
            _, left, low, right, high = done[at]
            width = (right - left) / (end - at)
            for number in range(end - at):
                start = left + number * width
                done[at + number] = (done[at + number][0], start, low, start + width, high)
        at = end
    return done


def words_of(letters: Sequence[Letter]) -> list[Word]:
    """Join letters, in the order in which they are drawn, to words."""
    words: list[Word] = []
    held: list[str] = []
    start = end = bottom = top = 0.0
    glued = is_leftwards = is_broken = False
    for code, left, low, right, high in forwards(_turned(list(_whole(letters)))):
        text = _text(code)
        if not text:
            is_broken = is_broken or code in _BREAKS
            if code and held and code not in _BREAKS:
                _close(words, held, start, end, bottom, top, glued=glued)
                held, glued = [], False
            continue
        if held:
            step, usual = abs(low - bottom), top - bottom
            gap = start - right if is_leftwards else left - end
            stands_out = step > RAISED * usual and not _is_as_high((low, high), (bottom, top), step)
            near = -0.3 * usual < gap <= BLANK * usual
            if stands_out or gap > BLANK * usual or gap < -0.9 * usual or (is_broken and not near):
                _close(words, held, start, end, bottom, top, glued=glued)
                held = []
                glued = near and not is_broken and RAISED * usual < step < usual and high - low < 0.9 * usual
        if not held:
            start, end, bottom, top = left, right, low, max(high, low + 0.1)
            is_leftwards = runs_leftwards(text)
        held.append(text)
        is_broken = False
        start, end = (left, end) if is_leftwards else (start, right)
    if held:
        _close(words, held, start, end, bottom, top, glued=glued)
    return words


def _is_as_high(letter: tuple[float, float], word: tuple[float, float], step: float) -> bool:
    """Return whether a letter whose foot is lower is no lowered sign: its top is that of a letter of the word.

    Where a font does not say how high its letters are, a box is that of the ink: p, g and y reach below the others.
    """
    (low, high), (bottom, top) = letter, word
    return low < bottom < high <= top + 0.05 * step and step < 0.6 * (top - bottom)


def _close(
    words: list[Word], held: list[str], start: float, end: float, bottom: float, top: float, *, glued: bool
) -> None:
    x0, x1 = sorted((start, end))
    words.append(Word("".join(held), x0, x1, -bottom, max(top - bottom, 0.1), glued=glued and bool(words)))


def forwards(letters: Sequence[Letter]) -> Iterator[Letter]:
    """Yield letters of scripts that run to the right in that order, where a line or a word is drawn from its end.

    For example, ``yauq`` whose last letter stands leftmost is ``quay``. Letters that run to the left stay as they are,
    and so does a sign between them.
    """
    run: list[Letter] = []
    beside_leftwards = False
    for letter in letters:
        text = _text(letter[0])
        if runs_leftwards(text):
            yield from _read(run, within_leftwards=True)
            yield letter
            run, beside_leftwards = [], True
            continue
        if run and not _is_before(letter, run[-1]):
            yield from _read(run, within_leftwards=beside_leftwards)
            run, beside_leftwards = [], beside_leftwards and not text
        run.append(letter)
    yield from _read(run, within_leftwards=beside_leftwards)


def _is_before(letter: Letter, drawn: Letter) -> bool:
    """Return whether a letter ends where the one that was drawn before it begins, on the same height."""
    size = max(drawn[4] - drawn[2], letter[4] - letter[2])
    is_level = abs(letter[2] - drawn[2]) <= RAISED * size
    return is_level and letter[1] < drawn[1] and abs(drawn[1] - letter[3]) <= BLANK * size


def _read(run: list[Letter], *, within_leftwards: bool) -> list[Letter]:
    """Turn a run that was drawn from its end. Signs alone are no such run, nor is a letter among another script's."""
    signs = sum(_text(code).isalnum() for code, *_ in run)
    return run[::-1] if signs > within_leftwards else run


def character(code: int) -> int:
    """Return a code that a file gives for a letter, `NO_CHARACTER` if Unicode has none of it, such as bytes of UTF-8.

    >>> character(0x41), hex(character(0xE38081))
    (65, '0xe000')
    """
    return code if code <= LAST_CHARACTER else NO_CHARACTER


@lru_cache(_SIGNS)
def _text(code: int) -> str:
    """Return what a letter shows; nothing for blanks."""
    if code in _HYPHENS:
        return _HYPHENS[code]
    if code < 0x20 or code > LAST_CHARACTER or 0xD800 <= code <= 0xF8FF:  # no half letters, no private signs
        return ""
    text = chr(code).strip()
    # The shapes of Hebrew and Arabic letters within words; a question has the letters themselves.
    return unicodedata.normalize("NFKC", text) if 0xFB1D <= code <= 0xFEFC else text


def _whole(letters: Iterable[Letter]) -> Iterator[Letter]:
    """Join what the engine gives in two halves, and put in order what one sign shows: Arabic lam with an alef."""
    held: Letter | None = None
    for letter in letters:
        code = letter[0]
        if held is not None and 0xD800 <= held[0] < 0xDC00 <= code < 0xE000:
            held = (0x10000 + (held[0] - 0xD800) * 0x400 + code - 0xDC00, *letter[1:])
        elif held is not None and code == _LAM and held[0] in _ALEFS and held[1:] == letter[1:]:
            yield letter
        else:
            if held is not None:
                yield held
            held = letter
    if held is not None:
        yield held


def is_turned(letters: Sequence[Letter]) -> bool:
    """Return whether the lines of a page run upwards or downwards, so that places in them are others."""
    return _turn(list(_whole(letters))) != 0


def _turned(letters: Sequence[Letter]) -> Sequence[Letter]:
    """Turn a page whose lines run upwards or downwards, as those of wide tables often do."""
    return straightened(_turn(letters), letters)


def _turn(letters: Sequence[Letter]) -> int:
    """Return by how many degrees a page is to be turned."""
    across = up = down = 0.0
    for one, other in islice(pairwise(letters), 0, None, EVERY if len(letters) > FEW else 1):
        right, above = other[1] - one[1], other[2] - one[2]
        if abs(right) + abs(above) > 3 * max(one[4] - one[2], one[3] - one[1]):
            continue  # to another line
        across += abs(right)
        up += max(above, 0.0)
        down += max(-above, 0.0)
    if max(up, down) > 2 * across:
        return 270 if up > down else 90
    return 0
