import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.duplicates import Print, Unlike

PAGE = "We keep to the rules of the exchange. " + " ".join(
    f"Rule {name} binds all staff." for name in "abcdefghijklmnop"
)


def test_a_page_with_another_page_number_says_the_same() -> None:
    assert Print(f"{PAGE} 12").is_near(Print(f"{PAGE} 13"))


def test_a_table_with_other_figures_does_not() -> None:
    assert not Print(f"{PAGE} 1,234.5").is_near(Print(f"{PAGE} 1,234.6"))


@given(st.lists(st.sampled_from(["1.5", "21.55", "7 %", "12345", "3", "profit"]), max_size=6), st.data())
def test_pages_with_other_figures_never_say_the_same(parts: list[str], drawn: st.DataObject) -> None:
    other = drawn.draw(st.permutations(parts)) + drawn.draw(st.lists(st.sampled_from(["1.5", "5.5", "8"]), max_size=1))
    one, two = Print(f"{PAGE} {' and '.join(parts)}"), Print(f"{PAGE} {' and '.join(other)}")
    if one.is_near(two):
        assert one.figures == two.figures
    if one.runs == two.runs:
        assert one.is_near(two) == (one.figures == two.figures)


def test_the_first_of_texts_that_say_the_same_is_kept() -> None:
    sorted_out: Unlike[str] = Unlike.of([("a", PAGE), ("b", "Revenue rose."), ("c", PAGE + " 7")])
    assert list(sorted_out.kept) == ["a", "b"]
    assert sorted_out.alike == {"a": ["c"]}


def test_short_texts_are_the_same_only_if_they_are_equal() -> None:
    assert Print("ships").is_near(Print("ships"))
    assert not Print("ships").is_near(Print("soup"))


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("1,234.5 in 2021", {"1,234.5"}),
        ("12 % of 45% and 7 percent", {"12", "45"}),
        ("10000 and 9999", {"10000"}),
        ("1234567 of 1.5", {"1234567", "1.5"}),
        ("12. In 2020, 2021", set()),
    ],
)
def test_figures_have_a_separator_a_percent_sign_or_five_digits(text: str, figures: set[str]) -> None:
    assert Print(text).figures == figures
