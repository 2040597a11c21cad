"""How pages write values."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from querymill.gateway.console import forms, hits, job_list, reading, rendering, trees, wording
from querymill.gateway.console.wording import age, breakable, count, language, marked, plain, score, short, size


@pytest.mark.parametrize("module", [forms, hits, job_list, reading, rendering, trees, wording])
def test_the_examples_hold(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]  # a module


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.912, "0.912"), (0.02036, "0.02036"), (1.0, "1"), (12.4, "12.4"), (0.0, "0"), (None, "–"), (-0.5, "-0.5")],
)
def test_a_score_has_no_more_digits_than_it_has(value: float | None, written: str) -> None:
    assert score(value) == written


def test_numbers_are_written_for_people() -> None:
    assert (count(1284), count(None), size(999), size(4_100_000)) == ("1,284", "–", "999 B", "4.1 MB")
    assert (age(3.4), age(41), age(130.2), age(9_000)) == ("3 s", "41 s", "2 min", "2 h")
    assert (short("a\n b", 10), short("abcdef", 4)) == ("a b", "abc…")
    assert (language("毛利率"), language("margin")) == ("zh", "")


@given(st.text(), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=4))
def test_marks_change_no_text(text: str, places: list[tuple[int, int]]) -> None:
    made = marked(text, tuple(places))
    assert made.striptags() == marked(text, ()).striptags()
    assert str(made).count("<") == 2 * str(made).count("<mark")


@given(st.text())
def test_no_character_hides(text: str) -> None:
    assert not set(plain(text)) & set("\x00\x1b\x7f\x85\u200b\u200f\u2028\u202e\u2066\ufeff")


def test_a_mark_is_at_characters_not_at_units_of_another_encoding() -> None:
    assert str(marked("🙂 margin", ((2, 8),))) == "🙂 <mark>margin</mark>"


def test_only_the_first_mark_of_a_page_is_the_target_of_links() -> None:
    made = str(marked("nine ships, nine", ((0, 4), (12, 16)), is_target=True))
    assert made == '<mark id="mark">nine</mark> ships, <mark>nine</mark>'


@given(st.text())
def test_breaks_change_no_name(name: str) -> None:
    assert str(breakable(name)).replace("<wbr>", "") == str(escape(plain(name)))


def test_a_name_breaks_after_its_signs_and_where_it_is_long() -> None:
    assert breakable("quarterly-filings") == "quarterly-<wbr>filings"
    assert breakable("a" * 20) == f"{'a' * 14}<wbr>{'a' * 6}"
    assert breakable("<b>") == "&lt;b&gt;"


def test_metadata_by_which_a_file_is_found_again_is_not_shown() -> None:
    stored = {"author": "Ada", "source": "/a/b.pdf", "source_root": "/a", "source_stamp": "12:34:ab", "subject": ""}
    assert wording.shown_metadata(stored) == {"author": "Ada", "source": "/a/b.pdf"}
