"""Which relevances of a judge count."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.judgements import accepted


@pytest.mark.parametrize("relevance", [-0.1, 1.1, 100.0, math.nan, math.inf, -math.inf])
def test_what_is_out_of_range_is_no_judgement_and_is_not_clamped(relevance: float) -> None:
    assert accepted([("a", relevance)], known={"a"}) == {}


@pytest.mark.parametrize("relevance", [0, 0.0, 0.5, 1])
def test_the_ends_of_the_range_are_judgements(relevance: float) -> None:
    assert accepted([("a", relevance)], known={"a"}) == {"a": relevance}


def test_the_first_valid_judgement_of_an_id_counts() -> None:
    assert accepted([("a", 7), ("a", 0.2), ("a", 0.9)], known={"a"}) == {"a": 0.2}


def test_ids_that_were_not_shown_are_dropped() -> None:
    assert accepted([("invented", 1.0), ("b", 0.3)], known={"a", "b"}) == {"b": 0.3}


@given(
    st.lists(st.tuples(st.sampled_from("abcx"), st.floats(allow_nan=True, allow_infinity=True))),
    st.sets(st.sampled_from("abc")),
)
def test_whatever_a_judge_says_only_known_ids_from_0_to_1_are_left(
    said: list[tuple[str, float]], known: set[str]
) -> None:
    left = accepted(said, known=known)
    assert left.keys() <= known
    assert all(0 <= relevance <= 1 for relevance in left.values())
    assert all((id_, relevance) in said for id_, relevance in left.items())
