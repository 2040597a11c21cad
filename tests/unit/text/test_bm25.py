"""BM25: the formula, by hand."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.bm25 import IndexStatistics, QueryTerm, explain, idf, saturation, score

TEN = IndexStatistics(units=10, length=40)
SHIPS, SOUP = QueryTerm("ships", 1, df=1), QueryTerm("soup", 1, df=3)


def test_the_worked_example() -> None:
    assert idf(10, 1) == pytest.approx(1.992, abs=5e-4)
    assert idf(10, 3) == pytest.approx(1.145, abs=5e-4)
    assert saturation(1, 4, 4.0) == pytest.approx(1 / 2.2)
    assert saturation(2, 4, 4.0) == pytest.approx(2 / 3.2)
    terms = [SHIPS, SOUP]
    assert score({"ships": 1, "sail": 3}, 4, terms=terms, statistics=TEN).score == pytest.approx(0.906, abs=5e-4)
    assert score({"ships": 1, "soup": 2}, 4, terms=terms, statistics=TEN).score == pytest.approx(1.621, abs=5e-4)


@given(st.integers(1, 10**7), st.data())
def test_a_term_that_every_unit_has_still_weighs_something(units: int, data: st.DataObject) -> None:
    df = data.draw(st.integers(1, units))
    assert 0 < idf(units, units) <= idf(units, df)


def test_longer_units_score_less_and_repetition_adds_ever_less() -> None:
    assert saturation(1, 8, 4.0) < saturation(1, 4, 4.0) < saturation(1, 2, 4.0)
    first, second, third = (saturation(tf, 4, 4.0) for tf in (1, 2, 3))
    assert first > second - first > third - second > 0
    assert saturation(10**9, 4, 4.0) < 1


def test_k1_and_b_can_be_others() -> None:
    assert saturation(1, 400, 4.0, b=0) == pytest.approx(1 / 2.2)
    assert saturation(5, 4, 4.0, k1=0) == 1


def test_terms_the_unit_lacks_add_nothing_and_are_not_listed() -> None:
    scored = score({"soup": 1}, 4, terms=[SHIPS, SOUP], statistics=TEN)
    assert [term.term for term in scored.terms] == ["soup"]
    assert score({"sail": 1}, 4, terms=[SOUP], statistics=TEN).score == 0


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_the_order_of_the_terms_does_not_change_the_score(order: list[str]) -> None:
    dfs = {"a": 1, "b": 2, "c": 3, "d": 5, "e": 7}
    counts = Counter("aabcddde")
    in_order, sorted_ = ([QueryTerm(term, 1, dfs[term]) for term in terms] for terms in (order, dfs))
    shuffled = score(counts, 8, terms=in_order, statistics=TEN)
    assert shuffled.score == score(counts, 8, terms=sorted_, statistics=TEN).score


def test_an_explanation_lets_the_score_be_recomputed() -> None:
    said: dict[str, Any] = explain(score({"ships": 1, "soup": 2}, 5, terms=[SHIPS, SOUP], statistics=TEN))
    total = 0.0
    for term in said["terms"]:
        weight = math.log(1 + (said["units"] - term["df"] + 0.5) / (term["df"] + 0.5))
        length = 1 - said["b"] + said["b"] * said["length"] / said["average"]
        total += term["times"] * weight * term["tf"] / (term["tf"] + said["k1"] * length)
    assert said["score"] == pytest.approx(total)


def test_the_average_of_nothing_is_zero() -> None:
    assert IndexStatistics(0, 0).average == 0
    assert TEN.average == 4


def test_a_word_that_the_query_repeats_counts_as_often() -> None:
    once, thrice = (score({"soup": 2}, 4, terms=[QueryTerm("soup", times, 3)], statistics=TEN) for times in (1, 3))
    assert thrice.score == pytest.approx(3 * once.score)
