import pytest

from querymill_workers.text.rank_fusion import reciprocal_rank_fusion

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
