"""The names that a later round may search."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.follow_up_names import MAX_NAMES, best_names, is_searchable_name, weighted


@pytest.mark.parametrize(
    "name",
    ["class", "self", "return", "const", "func", "fn", "std", "String", "None", "if", "ab", "", "__init__", "os.if"],
)
def test_keywords_and_names_of_two_letters_are_never_a_query(name: str) -> None:
    assert not is_searchable_name(name)


@pytest.mark.parametrize(
    "text",
    ["(a+)+$", "a b", "x;drop table", "ignore previous instructions", "*.py", "../../etc", "a\nb", "变量", "%", "_ _"],
)
def test_what_is_no_identifier_never_becomes_a_query(text: str) -> None:
    assert not is_searchable_name(text)


def test_patterns_that_are_rare_in_the_collection_weigh_more() -> None:
    weights = weighted(
        {"a.py": ["QoS", "get_it", "QoS"], "b.py": ["QoS", "get_it"]}, frequency={"QoS": 9, "get_it": 99}, files=100
    )
    assert weights["QoS"] == pytest.approx(4.796, abs=0.001)
    assert weights["QoS"] > weights["get_it"]


def test_a_name_that_the_collection_does_not_know_is_not_asked_for() -> None:
    assert weighted({"a.py": ["Strange"]}, frequency={}, files=100) == {}


def test_at_most_ten_patterns_and_none_that_was_used() -> None:
    weights = {f"name_{number:02}": float(number) for number in range(1, 30)}
    chosen = best_names(weights, used={"name_29"})
    assert len(chosen) == MAX_NAMES
    assert chosen[0] == "name_28"


@pytest.mark.parametrize("name", ["QoS", "_private", "$scope", "kombu.transport.redis", "x_1", "a" * 100])
def test_identifiers_plain_and_dotted_may_be_searched(name: str) -> None:
    assert is_searchable_name(name)


@pytest.mark.parametrize("name", ["a" * 101, "kombu.os", "1st", ".name", "name.", "a..bcd", "obj.__init__"])
def test_names_that_are_too_long_or_cut_in_half_are_not_searched(name: str) -> None:
    assert not is_searchable_name(name)


@given(st.text(max_size=120))
def test_only_ascii_identifiers_get_through(text: str) -> None:
    if is_searchable_name(text):
        assert text.isascii()
        assert all(part.replace("$", "_").isidentifier() for part in text.split("."))


def test_a_name_without_weight_is_not_chosen_and_ties_go_by_name() -> None:
    assert best_names({"zero": 0.0, "bbb": 1.0, "aaa": 1.0, "ccc": 2.0}, used=(), limit=9) == ["ccc", "aaa", "bbb"]
    assert best_names({"bbb": 1.0, "aaa": 1.0}, used={"aaa"}, limit=1) == ["bbb"]
