"""Chinese numerals: 二十五 (25), 两三 (two or three), and the digits of a year, 二〇二四 (2024)."""

from typing import Final

_DIGITS: Final = {
    "零": 0,
    "〇": 0,
    "○": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_TEN: Final = 10


def number(written: str) -> int:
    """Read a number up to 99 in Chinese numerals, or any number in digits.

    Raises:
        ValueError: The text is not a number, or stands for several.
    """
    least, most = between(written)
    if least != most:
        raise ValueError(written)
    return least


def between(written: str) -> tuple[int, int]:
    """Read the lowest and the highest number that numerals stand for.

    Two numerals in a row are an estimate: 两三 is 2 to 3, 十五六 is 15 to 16, and 二三十 is 20 to 30. For an exact
    number both are the same.

    Raises:
        ValueError: The text is not a number.
    """
    if written.isdecimal() and written.isascii():
        return int(written), int(written)
    tens, ten, ones = written.partition("十")
    if not ten:
        return _one_or_two(written)
    least_tens, most_tens = _one_or_two(tens or "一")
    least, most = _one_or_two(ones or "零")
    return _TEN * least_tens + least, _TEN * most_tens + most


def digits(written: str) -> int:
    """Read the digits of a year."""
    return int("".join(str(_DIGITS.get(digit, digit)) for digit in written))


def _one_or_two(numerals: str) -> tuple[int, int]:
    if len(numerals) not in {1, 2} or not set(numerals) <= set(_DIGITS):
        raise ValueError(numerals)
    values = [_DIGITS[numeral] for numeral in numerals]
    return min(values), max(values)
