"""The candidates of a round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.files.rules.candidates import FileCandidate, candidates, shards


def test_a_file_that_many_queries_find_is_one_candidate_and_keeps_where_it_came_from() -> None:
    found = candidates({"words": ["a", "b", "a"], "name QoS": ["b", "a"]}, evaluated=(), weights=None)
    assert [candidate.path for candidate in found] == ["a", "b"]
    assert found[0].found_by == ("words", "name QoS")


@pytest.mark.parametrize("relevance", [0.95, 0.6, 0.3, 0.01])
def test_a_file_once_evaluated_is_never_read_again_whatever_it_was_worth(relevance: float) -> None:
    found = candidates({"name QoS": ["a", "b"]}, evaluated={"a": relevance}, weights=None)
    assert [candidate.path for candidate in found] == ["b"]


@given(st.lists(st.lists(st.integers(0, 80).map(str), max_size=60), max_size=6), st.sets(st.integers(0, 80).map(str)))
def test_candidates_are_distinct_and_new(rankings: list[list[str]], evaluated: set[str]) -> None:
    asked = {str(number): ranking for number, ranking in enumerate(rankings)}
    paths = [candidate.path for candidate in candidates(asked, evaluated=evaluated, weights=None)]
    assert len(paths) == len(set(paths))
    assert evaluated.isdisjoint(paths)


def test_shards_hold_every_candidate_once() -> None:
    found = candidates({"words": [f"{n:02}" for n in range(25)]}, evaluated=(), weights=None)
    cut = shards(found, size=10)
    assert [len(shard) for shard in cut] == [10, 10, 5]
    assert [candidate for shard in cut for candidate in shard] == found


def test_a_query_that_weighs_less_puts_its_files_behind() -> None:
    rankings = {"words": ["a"], "pattern x": ["b"]}
    weights = {"words": 1.0, "pattern x": 0.5}
    assert [found.path for found in candidates(rankings, evaluated=(), weights=weights)] == ["a", "b"]
    alike = candidates({"words": ["b"], "pattern x": ["a"]}, evaluated=(), weights=None)
    assert [found.path for found in alike] == ["a", "b"]  # a tie, by path


def test_a_file_evaluated_before_does_not_hold_a_rank() -> None:
    with_known = candidates({"words": ["known", "a"]}, evaluated={"known"}, weights=None)
    assert with_known == candidates({"words": ["a"]}, evaluated=(), weights=None)


def test_queries_without_a_file_have_no_candidate() -> None:
    assert candidates({}, evaluated=(), weights=None) == []
    assert candidates({"words": [], "vectors": []}, evaluated=(), weights=None) == []


@given(st.integers(0, 120), st.integers(1, 30))
def test_shards_are_full_but_for_the_last(count: int, size: int) -> None:
    found = [FileCandidate(str(number), 1.0, ("words",)) for number in range(count)]
    cut = shards(found, size=size)
    assert [candidate for shard in cut for candidate in shard] == found
    assert all(len(shard) == size for shard in cut[:-1])
    assert all(1 <= len(shard) <= size for shard in cut)
