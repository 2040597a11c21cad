"""The scores of Dify's records: from 0 to 1, and in the order of the ranks."""

from types import SimpleNamespace
from typing import Any

from querymill.gateway.dify.records import relevances_of


def hit(score: float, **more: Any) -> Any:
    return SimpleNamespace(score=score, **more)


def test_a_hit_is_worth_as_much_as_the_best_below_it() -> None:
    assert relevances_of([hit(3, similarity=0.5), hit(2, similarity=0.8), hit(1, similarity=0.4)]) == [0.8, 0.8, 0.4]


def test_what_a_model_judged_counts_before_the_similarity() -> None:
    assert relevances_of([hit(2, similarity=0.5, relevance=0.9), hit(1, similarity=0.5, relevance=None)]) == [0.9, 0.5]


def test_a_kind_without_similarity_has_shares_of_its_best_score() -> None:
    assert relevances_of([hit(0.04), hit(0.01)]) == [1.0, 0.25]
    assert relevances_of([hit(0.0)]) == [0.0]
    assert relevances_of([]) == []


def test_a_score_beyond_the_range_is_at_its_end() -> None:
    assert relevances_of([hit(2, similarity=1.0000001), hit(1, similarity=-0.2)]) == [1.0, 0.0]
