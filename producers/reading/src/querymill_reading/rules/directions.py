"""The directions in which lines run: Hebrew and Arabic to the left, labels and watermarks upwards or aslant."""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

#: A letter as in `letters`: its code, and its box.
_Letter = tuple[int, float, float, float, float]

#: Degrees by which a line may be off and still be straight, and by which lines aslant are told apart.
STRAIGHT: Final = 10
ASLANT: Final = 5
#: Of a letter aslant: the share of its width and height together that is the height.
_HEIGHT: Final = 0.62
#: The first letter of those that run to the left.
_FIRST_LEFTWARDS: Final = "\u0590"
#: A figure with signs at its edges: those of money, percent and degrees are a part of it.
_FIGURE: Final = re.compile(
    r"(?P<left>[^\w%‰$€£¥₪°#]*)(?P<figure>[%‰$€£¥₪°#]*\d(?:\S*\d)?[%‰$€£¥₪°#]*)(?P<right>[^\w%‰$€£¥₪°#]*)"
)
_MIRRORED: Final = str.maketrans("()[]{}<>«»", ")(][}{><»«")
#: A sign on the left that people who write to the left put before a figure as others do.
_MINUS: Final = ("-", "−", "–", "+")


def runs_leftwards(text: str) -> bool:
    """Return whether a text begins with a letter that is written to the left."""
    return text[:1] >= _FIRST_LEFTWARDS and unicodedata.bidirectional(text[0]) in ("R", "AL")


def in_reading_order(words: Sequence[str]) -> list[int]:
    """Return the numbers of words in the order in which they are read, given from left to right.

    Where most are written to the left, the line is: words that are written to the right stay together in it.
    """
    if not any(map(runs_leftwards, words)):
        return list(range(len(words)))
    is_line = is_leftwards_line(words)
    runs = [list(run) for _, run in groupby(range(len(words)), key=lambda at: _side(words[at], to_left=is_line))]
    ordered = reversed(runs) if is_line else runs
    return [at for run in ordered for at in (reversed(run) if _side(words[run[0]], to_left=is_line) else run)]


def is_leftwards_line(words: Sequence[str]) -> bool:
    """Return whether most of the words of a line are written to the left."""
    leftwards = sum(map(runs_leftwards, words))
    return leftwards > 0 and 2 * leftwards >= sum(word[:1].isalpha() for word in words)


def in_leftwards_line(word: str) -> str:
    """Return a figure as it is read in a line to the left: there a sign on its right stands before it.

    >>> in_leftwards_line("11:"), in_leftwards_line("(5)"), in_leftwards_line("-7%")
    (':11', '(5)', '-7%')
    """
    found = _FIGURE.fullmatch(word)
    if found is None or (found["left"] in _MINUS and not found["right"]):
        return word
    left, right = (found[side][::-1].translate(_MIRRORED) for side in ("left", "right"))
    return f"{right}{found['figure']}{left}"


def _side(word: str, *, to_left: bool) -> bool:
    """Return whether a word is in a run to the left. A sign goes with its line, a figure is a run to the right."""
    return runs_leftwards(word) or (to_left and not any(letter.isalnum() for letter in word))


def apart(letters: Sequence[_Letter], angles: Sequence[float]) -> list[list[_Letter]]:
    """Return the letters of each direction, straightened, those of most letters first.

    ``angles`` are those by which the letters are turned, in degrees clockwise. A blank goes with the letter before it.
    """
    groups: dict[int, list[_Letter]] = {}
    held = 0
    for letter, angle in zip(letters, angles, strict=True):
        if letter[0] > 0x20:
            held = _direction(angle)
        groups.setdefault(held, []).append(letter)
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [straightened(angle, group) for angle, group in largest]


def count_aslant(angles: Sequence[float]) -> int:
    """Return how many letters stand neither straight nor upwards, downwards or upside down."""
    return sum(_direction(angle) % 90 != 0 for angle in angles)


def _direction(angle: float) -> int:
    quarter = round(angle / 90) * 90
    if abs(angle - quarter) <= STRAIGHT:
        return quarter % 360
    return round(angle / ASLANT) * ASLANT % 360


def straightened(angle: int, letters: Sequence[_Letter]) -> list[_Letter]:
    """Turn letters back that are turned by an angle, in degrees clockwise."""
    match angle:
        case 0:
            return list(letters)
        case 90:
            return [(code, -high, left, -low, right) for code, left, low, right, high in letters]
        case 180:
            return [(code, -right, -high, -left, -low) for code, left, low, right, high in letters]
        case 270:
            return [(code, low, -right, high, -left) for code, left, low, right, high in letters]
        case _:
            return list(_aslant(math.radians(angle), letters))


def _aslant(angle: float, letters: Sequence[_Letter]) -> Iterator[_Letter]:
    """Straighten letters of which only the upright boxes around them are known: each reaches to the next."""
    cosine, sine = math.cos(angle), math.sin(angle)
    boxes: list[_Letter] = []
    for code, left, low, right, high in letters:
        x, y = (left + right) / 2, (low + high) / 2
        both = (right - left + high - low) / (abs(cosine) + abs(sine))
        across, up = x * cosine - y * sine, x * sine + y * cosine
        width, height = (1 - _HEIGHT) * both, _HEIGHT * both
        boxes.append((code, across - width / 2, up - height / 2, across + width / 2, up + height / 2))
    for one, other in pairwise(boxes):
        size = one[4] - one[2]
        is_next = abs(other[2] - one[2]) < 0.5 * size and 0 < other[1] - one[1] < 1.5 * size
        yield (*one[:3], max(other[1], one[1]) if is_next and other[0] > 0x20 else one[3], one[4])
    yield from boxes[-1:]
