"""How pages write values."""

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from querymill.gateway.console import day, forms, hits, job_list, reading, rendering, tables, trees, wording
from querymill.gateway.console.wording import (
    age,
    breakable,
    count,
    language,
    marked,
    passage,
    plain,
    score,
    short,
    size,
)


@pytest.mark.parametrize("module", [day, forms, hits, job_list, reading, rendering, tables, trees, wording])
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


TABLE = "Revenue:\n| EUR million | 2025 |\n| --- | --- |\n| Sales | 41 <3> |\nIt grew."


def test_a_table_is_one_and_what_is_marked_in_a_cell_stays_marked() -> None:
    start = TABLE.index("41")
    made = passage(TABLE, ((start, start + 2),), is_target=True)
    assert "<th>EUR million</th><th>2025</th></tr><tr><td>Sales</td>" in made
    assert '<td><mark id="mark">41</mark> &lt;3&gt;</td>' in made
    assert made.startswith("Revenue:<div")
    assert made.endswith("</div>It grew.")
    assert "---" not in made
    assert "|" not in made


def test_a_row_that_is_marked_as_a_whole_is_marked_in_each_cell_and_named_once() -> None:
    row = "| Sales | 41 <3> |"
    start = TABLE.index(row)
    made = passage(TABLE, ((start, start + len(row)),), is_target=True)
    assert '<td><mark id="mark">Sales</mark></td><td><mark>41 &lt;3&gt;</mark></td>' in made


def test_rows_at_the_ends_of_an_excerpt_are_rows_and_a_line_between_bars_is_text() -> None:
    assert str(passage("… | Sales | 41 |\n| Costs | 7 | …")).count("<tr>") == 2
    for text in ("a | b", "|x|", "||", "| |"):
        assert passage(text) == escape(text)


@given(
    st.text(alphabet="ab|- \n<", max_size=80), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=3)
)
def test_a_passage_loses_nothing_but_bars_and_rules(text: str, places: list[tuple[int, int]]) -> None:
    made = passage(text, tuple(places), is_target=True)
    kept = re.sub(r"<[^>]+>", "", str(made)).replace("&lt;", "<")
    assert re.sub(r"[|\-\s]", "", kept) == re.sub(r"[|\-\s]", "", text)
    assert str(made).count('id="mark"') <= 1


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
