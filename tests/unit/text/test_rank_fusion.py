import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.rank_fusion import join, ranks_by_score, reciprocal_rank_fusion

RANKINGS = {"vector": ["a", "b", "c"], "words": ["b", "d"]}


def scores(**weights: float) -> dict[str, float]:
    fused = reciprocal_rank_fusion(RANKINGS, weights={"vector": 1.0, "words": 1.0} | weights)
    return {hit.key: hit.score for hit in fused}


def test_a_key_of_two_rankings_comes_before_the_first_of_one() -> None:
    found = scores()
    assert list(found) == ["b", "a", "d", "c"]
    assert found["b"] == pytest.approx(1 / 62 + 1 / 61)
    assert (found["a"], found["d"], found["c"]) == (1 / 61, 1 / 62, 1 / 63)


def test_weights_count_each_ranking() -> None:
    assert list(scores(words=0.1)) == ["b", "a", "c", "d"]
    assert scores(words=0.5)["b"] == pytest.approx(1 / 62 + 0.5 / 61)


def test_k_is_how_little_the_first_ranks_stand_out() -> None:
    fused = reciprocal_rank_fusion(RANKINGS, weights={"vector": 1, "words": 1}, k=1)
    assert {hit.key: hit.score for hit in fused}["b"] == pytest.approx(1 / 3 + 1 / 2)


def test_equal_scores_are_in_the_order_of_keys_and_ranks_are_told() -> None:
    fused = reciprocal_rank_fusion({"vector": ["z", "y"], "words": ["y", "z"]}, weights={"vector": 1, "words": 1})
    assert [(hit.key, dict(hit.ranks)) for hit in fused] == [
        ("y", {"vector": 2, "words": 1}),
        ("z", {"vector": 1, "words": 2}),
    ]


def test_the_better_rank_of_a_key_that_is_there_twice_counts() -> None:
    (hit,) = reciprocal_rank_fusion({"vector": ["a", "a"]}, weights={"vector": 1})
    assert hit.score == 1 / 61


def test_hits_that_tie_share_a_rank_and_the_next_rank_is_skipped() -> None:
    assert ranks_by_score([("a", 2.0), ("b", 1.0), ("c", 2.0), ("d", 0.5)]) == {"a": 1, "c": 1, "b": 3, "d": 4}


def test_channels_join_by_weighted_reciprocal_rank_worked_by_hand() -> None:
    joined = {
        hit.key: hit for hit in join({"one": {"a": 1, "b": 2}, "two": {"b": 1}}, weights={"one": 2, "two": 1}, k=60)
    }
    assert joined["a"].score == pytest.approx(2 / 61)
    assert joined["b"].score == pytest.approx(2 / 62 + 1 / 61)
    assert joined["b"].ranks == {"one": 2, "two": 1}


@given(st.lists(st.tuples(st.integers(), st.floats(-5, 5)), max_size=12, unique_by=lambda pair: pair[0]))
def test_a_rank_is_one_more_than_the_number_of_better_scores(scores: list[tuple[int, float]]) -> None:
    ranks = ranks_by_score(scores)
    for key, score in scores:
        assert ranks[key] == 1 + sum(other > score for _, other in scores)


@given(st.dictionaries(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdef"), unique=True)), st.integers(1, 100))
def test_fusing_keeps_every_key_and_never_demotes_one_for_being_found_again(
    rankings: dict[str, list[str]], k: int
) -> None:
    weights = dict.fromkeys(rankings, 1.0)
    fused = reciprocal_rank_fusion(rankings, weights=weights, k=k)
    assert {hit.key for hit in fused} == {key for ranking in rankings.values() for key in ranking}
    more = reciprocal_rank_fusion(rankings | {"w": ["a"]}, weights=weights | {"w": 1.0}, k=k)
    before, after = ({hit.key: hit.score for hit in hits} for hits in (fused, more))
    assert after["a"] > before.get("a", 0)
    assert {key: score for key, score in after.items() if key != "a"} == {
        key: score for key, score in before.items() if key != "a"
    }
