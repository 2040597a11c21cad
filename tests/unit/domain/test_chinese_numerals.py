"""Numbers in Chinese numerals: exact, a guess between two, and the digits of a year."""

import pytest

from querymill_workers.retrievers.conversations.rules.times.chinese_numerals import between, digits, number


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("三", 3),
        ("两", 2),
        ("十", 10),
        ("十二", 12),
        ("二十", 20),
        ("三十一", 31),
        ("九十九", 99),
        ("7", 7),
        ("120", 120),
    ],
)
def test_a_number_is_read(written: str, value: int) -> None:
    assert number(written) == value
    assert between(written) == (value, value)


@pytest.mark.parametrize(
    ("written", "least", "most"),
    [("两三", 2, 3), ("三五", 3, 5), ("三两", 2, 3), ("二三十", 20, 30), ("十五六", 15, 16), ("二十三四", 23, 24)],
)
def test_two_numerals_that_stand_together_are_a_guess_between_them(written: str, least: int, most: int) -> None:
    assert between(written) == (least, most)
    with pytest.raises(ValueError, match=written):
        number(written)


@pytest.mark.parametrize("written", ["", "十十", "一二三", "二十三四五", "百", "x", "１"])
def test_what_is_no_number_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"^.*$"):
        number(written)


@pytest.mark.parametrize(("written", "year"), [("二〇二四", 2024), ("二零二四", 2024), ("2024", 2024), ("二四", 24)])
def test_a_year_is_read_digit_by_digit(written: str, year: int) -> None:
    assert digits(written) == year
