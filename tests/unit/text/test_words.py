"""The words of a text, as BM25 counts them."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.lexicon import listed
from querymill_workers.text.words import WORDS_VERSION, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nine ships sail", ["nine", "ship", "sail"]),
        ("ＮＩＮＥ　ｓｈｉｐｓ", ["nine", "ship"]),
        ("Straße STRASSE", ["strass", "strass"]),
        ("the fleet of the harbour", ["fleet", "harbour"]),
        ("it doesn't, they've", []),
        ("Корабль в море", ["корабль", "в", "море"]),
        ("Μέγας Όμηρος", ["μέγασ", "όμηροσ"]),
        ("Café déjàVu", ["café", "déjàvu", "déjà", "vu"]),
        ("جملة، أخرى؟", ["جملة", "أخرى"]),
        ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया"]),
        ("\ud800broken\0 \ue000", ["broken"]),
        ("plan B, class C", ["plan", "b", "class", "c"]),
        ("", []),
        ("…！— \n\t", []),
    ],
)
def test_text_gives_folded_words_without_function_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vtkConeSource", ["vtkconesource", "vtk", "cone", "sourc"]),
        ("read_json_lines", ["read_json_lines", "read", "json", "line"]),
        ("__init__", ["init"]),
        ("MAX_SIZE", ["max_size", "max", "size"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("vtk.Core.vtkActor", ["vtk.core.vtkactor", "vtk", "core", "vtkactor", "vtk", "actor"]),
        ("sha256", ["sha256", "sha", "256"]),
        ("FY2019", ["fy2019", "fy", "2019"]),
        ("x_1", ["x_1"]),
        ("is_valid", ["is_valid", "valid"]),
        ("end.", ["end"]),
        ("wait...what_now", ["wait", "what_now"]),
    ],
)  # fmt: skip
def test_an_identifier_counts_whole_and_in_parts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2022", ["2022"]),
        ("3.14 and 2.0.1", ["3.14", "2.0.1"]),
        ("1,452.4", ["1", "452.4"]),
        ("10%", ["10"]),
        ("２０２２年", ["2022", "年"]),
    ],
)
def test_a_number_is_one_word(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("渲染器", ["渲染", "染器"]),
        ("猫", ["猫"]),
        ("请用vtkActor渲染", ["请用", "vtkactor", "vtk", "actor", "渲染"]),
        ("Python里的list怎么排序", ["python", "里的", "list", "怎么", "么排", "排序"]),
        ("你好，世界", ["你好", "世界"]),
        ("カタカナ", ["カタ", "タカ", "カナ"]),
        ("한국어", ["한국", "국어"]),
        ("𠮷野家", ["𠮷野", "野家"]),
    ],
)
def test_scripts_without_blanks_give_neighbouring_characters(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_very_long_word_is_cut_and_still_found_by_itself() -> None:
    (word,) = words("q" * 5_000)
    assert word == "q" * 64
    assert words("1" * 5_000) == ["1" * 64]


@given(st.text())
def test_any_text_gives_short_words_of_letters_and_digits(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= 64
        assert "\0" not in word
        assert not any(character.isspace() for character in word)


@given(st.text(), st.text())
def test_a_blank_separates(left: str, right: str) -> None:
    assert words(f"{left} {right}") == words(left) + words(right)


@given(st.from_regex("[A-Za-z]{3,12}", fullmatch=True))
def test_a_word_in_capitals_is_the_same_word(word: str) -> None:
    assert words(word.upper()) == words(word.lower())


def test_other_function_words_in_the_index_are_another_version() -> None:
    """A change of the table raises `WORDS_VERSION`, and adds a line here."""
    left_out = {*listed("function_words", "stop", "*"), *listed("function_words", "blank", "conversations")}
    assert {1: "b540acd9f8b4c2a9"}[WORDS_VERSION] == sha256("\n".join(sorted(left_out)).encode()).hexdigest()[:16]
