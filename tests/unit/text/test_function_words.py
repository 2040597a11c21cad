"""Chinese function words are blanked in place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.function_words import CHINESE_FUNCTION_WORDS, without_function_words


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("我们的船队在港口", "   " + "船队" + " " + "港口"),
        ("什么是渲染器", "  " + " " + "渲染器"),
        ("the fleet of 港口", "the fleet of 港口"),
        ("vtkActor和vtkMapper", "vtkActor vtkMapper"),
        ("的", " "),
        ("", ""),
    ],
)
def test_function_words_become_blanks_and_the_rest_stays_where_it_was(text: str, left: str) -> None:
    assert without_function_words(text) == left


def test_a_character_of_a_longer_word_is_no_function_word() -> None:
    assert "在" in CHINESE_FUNCTION_WORDS
    assert "在线" in without_function_words("在线文档")


@given(st.text(alphabet="我们的船在港口 aB1。\n", max_size=40))
def test_offsets_never_change(text: str) -> None:
    left = without_function_words(text)
    assert len(left) == len(text)
    assert all(now in (before, " ") for before, now in zip(text, left, strict=True))


@given(st.text(max_size=60))
def test_other_scripts_are_left_alone(text: str) -> None:
    left = without_function_words(text)
    assert [now for before, now in zip(text, left, strict=True) if before.isascii()] == [
        before for before in text if before.isascii()
    ]
