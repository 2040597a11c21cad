"""The final score: the numbers of the specification, and factors that multiply to it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.rank import RankParts, rank, recency
from querymill_workers.retrievers.conversations.rules.scores import (
    Context,
    ScoreBounds,
    Scoring,
    Worth,
    context_of,
    final_score,
)

NO_BOUNDS = ScoreBounds(0.2, 0.2, 1.2)


def test_under_the_product_an_old_perfect_hit_loses_to_a_near_irrelevant_one_of_today() -> None:
    full, least = RankParts(1, 1, 1, 1), RankParts(0, 0, 0, 0.5)
    old = Worth(1.0, rank(full, 365), recency(365), "other")
    fresh = Worth(0.05, rank(least, 0), recency(0), "current")
    assert final_score(old, scoring="product", bounds=NO_BOUNDS).score == pytest.approx(0.0156, abs=5e-5)
    assert final_score(fresh, scoring="product", bounds=NO_BOUNDS).score == pytest.approx(0.0200, abs=1e-12)


def test_bounded_keeps_them_in_order() -> None:
    full, least = RankParts(1, 1, 1, 1), RankParts(0, 0, 0, 0.5)
    old = Worth(1.0, rank(full, 365), recency(365), "other")
    fresh = Worth(0.05, rank(least, 0), recency(0), "current")
    # 1 × (1 + 0.2 × 0.4017) × (1 − 0.2 × 0.4827) × 1, and 0.05 × (1 − 0.2 × 0.3) × (1 + 0.2 × 0.5) × 1.2
    assert final_score(old, scoring="bounded", bounds=NO_BOUNDS).score == pytest.approx(0.97605, abs=1e-4)
    assert final_score(fresh, scoring="bounded", bounds=NO_BOUNDS).score == pytest.approx(0.06204, abs=1e-9)


def test_a_factor_of_zero_sends_a_hit_to_the_end() -> None:
    worth = Worth(1.0, 0.0, 1.0, "current")
    assert final_score(worth, scoring="product", bounds=NO_BOUNDS).score == 0


def test_relevance_alone() -> None:
    assert final_score(Worth(0.7, 0.1, 0.1, "current"), scoring="bm25", bounds=NO_BOUNDS).score == 0.7


@pytest.mark.parametrize(
    ("session_id", "expected"), [("now", "current"), ("then", "recent"), ("both", "current"), ("else", "other")]
)
def test_the_current_session_counts_2_a_recent_one_1_and_a_half(session_id: str, expected: Context) -> None:
    current = "both" if session_id == "both" else "now"
    assert context_of(session_id, current=current, recent=frozenset({"then", "both"})) == expected
    boost = {"current": 2.0, "recent": 1.5, "other": 1.0}[expected]
    assert final_score(Worth(1, 1, 1, expected), scoring="product", bounds=NO_BOUNDS).score == boost


share = st.floats(0, 1)


worths = st.builds(Worth, share, share, share, st.sampled_from(["current", "recent", "other"]))
bounds = st.builds(ScoreBounds, st.floats(0, 2), st.floats(0, 2), st.floats(1, 2))


@given(worths, st.sampled_from(["product", "bounded", "bm25"]), bounds)
def test_the_factors_multiply_to_the_score_exactly(worth: Worth, scoring: Scoring, bounds: ScoreBounds) -> None:
    found = final_score(worth, scoring=scoring, bounds=bounds)
    assert found.score == math.prod(found.factors.values())
    assert found.score >= 0
