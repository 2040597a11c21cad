"""Letters that are drawn twice: what counts as the same letter again, and what is left of a word."""

import pytest

from querymill_reading.rules.doubles import drawn_once, is_same_place
from querymill_reading.rules.letters import Letter


def letters(text: str, x: float = 0, y: float = 0) -> list[Letter]:
    return [(ord(letter), x + 5 * at, y, x + 5 * at + 5, y + 10) for at, letter in enumerate(text)]


def text(found: list[Letter]) -> str:
    return "".join(chr(letter[0]) for letter in drawn_once(found))


def test_two_equal_letters_upon_each_other_are_one_and_beside_each_other_two() -> None:
    """Boxes of 5 by 10 points, one 1 point to the right and 1 higher: they share 4 by 9, 72 % of a box."""
    first: Letter = (ord("e"), 0, 0, 5, 10)
    assert is_same_place(first, (ord("e"), 1, 1, 6, 11))
    assert not is_same_place(first, (ord("e"), 5, 0, 10, 10))
    assert not is_same_place(first, (ord("e"), 3.4, 0, 8.4, 10))  # boxes that are too wide: 32 %


@pytest.mark.parametrize("shift", [0.0, 0.3, 0.9])
def test_a_line_that_is_drawn_again_is_read_once(shift: float) -> None:
    line = "of all feet sees"
    assert text([*letters(line), *letters(f"\n{line}", x=shift - 5), *letters("\nnext")]).split() == [
        *line.split(),
        "next",
    ]


def test_letters_that_are_drawn_twice_one_after_the_other() -> None:
    twice = [drawn for one in letters("Feet") for drawn in (one, (one[0], one[1] + 0.8, one[2], one[3] + 0.8, one[4]))]
    assert text(twice) == "Feet"


def test_of_two_drawings_the_one_with_more_letters_stays() -> None:
    assert text([*letters("C"), *letters(" Corn", x=-4.9)]).split() == ["Corn"]
    assert text([*letters("Corn"), *letters(" C", x=-4.9)]).split() == ["Corn"]
    assert text([*letters("122 921"), *letters(" 122,921", x=-4.9)]).split() == ["122,921"]


def test_the_letters_of_one_sign_are_no_doubles_of_each_other() -> None:
    """A ligature "ff" gives two letters with one box. Drawn again, both are left out."""
    off: list[Letter] = [*letters("o"), (ord("f"), 5, 0, 10, 10), (ord("f"), 5, 0, 10, 10)]
    assert text(off) == "off"
    again = [(code, left + 0.2, low, right + 0.2, high) for code, left, low, right, high in off]
    assert text([*off, *letters(" ", x=10), *again]).strip() == "off"


def test_what_is_left_of_a_word_goes_back_into_it() -> None:
    """The engine leaves out the second "1" and "9" of "1.9", and gives its "." behind the first ones."""
    bold = [*letters("Mat."), *letters(" Mat.", x=-4.9)]
    assert (
        text([*bold, *letters(" 1", x=35), *letters("9", x=50), *letters(".", x=45), *letters(" R", x=55)])
        == "Mat.  1.9 R"
    )
