"""Long texts in passages: whole, within the model's input, and cut where a reader would cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.passages import TextSpan, split_text
from querymill_workers.text.tokens import estimate


def letters(text: str) -> int:
    """A token for each character that is no blank."""
    return len("".join(text.split()))


def passages(text: str, most: int) -> list[str]:
    return [text[span.start : span.end] for span in split_text(text, max_tokens=most, estimate=letters)]


@pytest.mark.parametrize(
    ("text", "most", "split"),
    [
        ("", 5, []),
        ("short", 5, ["short"]),
        ("One two. Three", 8, ["One two. ", "Three"]),
        ("aa bb\n\ncc dd. ee ff", 8, ["aa bb\n\n", "cc dd. ", "ee ff"]),
        ("aaa bbb\nccc ddd eee", 10, ["aaa bbb\n", "ccc ddd eee"]),
        ("第一句话。第二句话。第三句", 11, ["第一句话。第二句话。", "第三句"]),
        ("版本 3.5 很快，真的", 9, ["版本 3.5 很快，", "真的"]),
        ("aaaa bbbb cccc", 9, ["aaaa bbbb ", "cccc"]),
        ("x" * 7, 3, ["xxx", "xxx", "x"]),
        ("a\n\n" + "b" * 8, 5, ["a\n\nbbbb", "bbbb"]),
    ],
)
def test_a_passage_ends_at_the_best_border_in_its_later_part(text: str, most: int, split: list[str]) -> None:
    assert passages(text, most) == split


@given(st.text(alphabet="ab.。，,!\n \t中", max_size=300), st.integers(1, 40))
def test_passages_are_the_whole_text_and_each_fits(text: str, most: int) -> None:
    spans = split_text(text, max_tokens=most, estimate=estimate)
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(span.start < span.end for span in spans)
    for span in spans:
        assert estimate(text[span.start : span.end]) <= most or span.end - span.start == 1


def test_a_character_beyond_the_input_is_a_passage() -> None:
    assert split_text("ab", max_tokens=3, estimate=lambda text: 5 * len(text)) == [TextSpan(0, 1), TextSpan(1, 2)]


@pytest.mark.parametrize("unit", [" ", "\n", ".", "字", "word ", "a" + " " * 500, "。”"])
def test_the_effort_grows_with_the_text_only(unit: str) -> None:
    read = 0

    def counting(text: str) -> int:
        nonlocal read
        read += len(text)
        return estimate(text)

    text = (unit * (200_000 // len(unit) + 1))[:200_000]
    assert split_text(text, max_tokens=448, estimate=counting)
    assert read <= 60 * len(text)
