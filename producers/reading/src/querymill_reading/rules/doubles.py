"""Letters that are drawn again at nearly the same place, for boldness, a shadow or by a careless program, count once.

PDFium leaves out a letter that is drawn again a few letters later, and gives the rest of its word behind the word.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

#: A letter as in `letters`: its code, and its box.
_Letter = tuple[int, float, float, float, float]

#: The least share of their boxes that two drawings of one letter have in common. Equal letters beside each other have a
#: third at most, and that only where a font makes its boxes too wide.
SAME_PLACE: Final = 0.6
#: The side in points of the squares in which another drawing is looked for.
SQUARE: Final = 2.0
#: The width in points above which the next of two equal letters in a word begins in another square.
WIDE: Final = 4.0
#: Letters of one kind in one square that are compared at most.
COMPARED: Final = 8
#: Letters among which one that steps back finds its place, and the largest gap before it, in heights of a letter.
RECENT: Final = 12
TOUCHING: Final = 0.06
_BLANK: Final = 0x20


def drawn_once(letters: Sequence[_Letter]) -> Sequence[_Letter]:
    """Leave out letters that are drawn again, and put what is left of their words in order.

    Of two drawings of a word, the one with more letters stays: of "C" and "Corn" upon it, "Corn".
    """
    wide = [(code, left // SQUARE, low // SQUARE) for code, left, low, right, _ in letters if right - left > WIDE]
    if len(set(wide)) == len(wide):  # nearly every page
        return letters
    again = _drawn_again(letters)
    return _in_order(letter for at, letter in enumerate(letters) if at not in again) if again else letters


def _drawn_again(letters: Sequence[_Letter]) -> set[int]:
    """Return which letters are left out, by their places in the sequence."""
    left_out: set[int] = set()
    squares: dict[tuple[int, int, int], list[int]] = {}
    for is_blank, run in groupby(range(len(letters)), key=lambda at: letters[at][0] <= _BLANK):
        if not is_blank:
            _compare_word(letters, list(run), squares, left_out)
    for at in range(1, len(letters)):  # the letters of one sign, such as a ligature, have one box
        if at - 1 in left_out and letters[at][1:] == letters[at - 1][1:]:
            left_out.add(at)
    return left_out


def _compare_word(
    letters: Sequence[_Letter], word: Sequence[int], squares: dict[tuple[int, int, int], list[int]], left_out: set[int]
) -> None:
    """Add to ``left_out`` what a word has twice, and the word or what it was drawn upon. ``squares`` get the word."""
    twins: dict[int, int] = {}
    is_new = False
    for at in word:
        if at > word[0] and letters[at][1:] == letters[at - 1][1:]:
            continue
        near = (other for other in _near(letters[at], squares) if other not in left_out)
        twin = max((other for other in near if is_same_place(letters[at], letters[other])), default=-1)
        if twin >= word[0]:
            left_out.add(at)
            continue
        if twin < 0:
            is_new = True
        else:
            twins[at] = twin
        squares.setdefault(_square(letters[at]), []).append(at)
    left_out.update(twins.values() if is_new else twins)


def _square(letter: _Letter) -> tuple[int, int, int]:
    code, left, low, _, _ = letter
    return code, int(left // SQUARE), int(low // SQUARE)


def _near(letter: _Letter, squares: Mapping[tuple[int, int, int], Sequence[int]]) -> Iterable[int]:
    """Yield the letters of the same kind in the square of a letter, and in those around it."""
    code, column, row = _square(letter)
    for x in (column - 1, column, column + 1):
        for y in (row - 1, row, row + 1):
            yield from squares.get((code, x, y), ())[-COMPARED:]


def is_same_place(one: _Letter, other: _Letter) -> bool:
    """Return whether the boxes of two letters lie upon each other: they share 60 % of the larger one."""
    width = min(one[3], other[3]) - max(one[1], other[1])
    height = min(one[4], other[4]) - max(one[2], other[2])
    if width <= 0 or height <= 0:
        return False
    larger = max((box[3] - box[1]) * (box[4] - box[2]) for box in (one, other))
    return width * height >= SAME_PLACE * larger


def _in_order(letters: Iterable[_Letter]) -> list[_Letter]:
    """Put letters that step back into their word: "1", "9" and "." become "1.9" if the "." stands between them."""
    placed: list[_Letter] = []
    at = 0
    for letter in letters:
        if at < len(placed) and not _touches(placed[at - 1], letter):
            at = len(placed)
        if placed and letter[0] > _BLANK and letter[1] < placed[-1][1]:
            at = _place(letter, placed, at)
        placed.insert(at, letter)
        at += 1
        if len(placed) > at + 1 and placed[at][0] <= _BLANK and _touches(letter, placed[at + 1]):
            del placed[at]  # PDFium's blank for the gap, which is filled now
    return placed


def _place(letter: _Letter, placed: Sequence[_Letter], otherwise: int) -> int:
    """Return where a letter belongs among the last ones: behind one that it touches, if it ends before the next."""
    slack = TOUCHING * (letter[4] - letter[2])
    for at in range(len(placed) - 1, max(len(placed) - RECENT, 0), -1):
        after = placed[at + 1] if placed[at][0] <= _BLANK and at + 1 < len(placed) else placed[at]
        if _touches(placed[at - 1], letter) and letter[3] <= after[1] + slack:
            return at
    return otherwise


def _touches(before: _Letter, letter: _Letter) -> bool:
    """Return whether a letter begins on the same line where the one before it ends."""
    slack = TOUCHING * (before[4] - before[2])
    return abs(letter[1] - before[3]) <= slack and abs(letter[2] - before[2]) <= slack
