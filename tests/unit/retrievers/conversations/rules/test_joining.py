"""Joining the order by words with that by vectors."""

import pytest

from querymill_workers.retrievers.conversations.rules.joining import join_orders


def test_words_count_four_times_as_much_as_vectors() -> None:
    joined = join_orders(["a", "b"], ["b", "c"])
    assert [(hit.key, round(hit.score, 4)) for hit in joined] == [("b", 0.1061), ("a", 0.0909), ("c", 0.0208)]
    assert joined[0].score == pytest.approx(1 / 12 + 0.25 / 11)
    assert joined[0].ranks == {"words": 2, "vectors": 1}
    assert [hit.key for hit in join_orders(["a"], ["b", "c", "d"])] == ["a", "b", "c", "d"]


def test_ties_break_on_the_id() -> None:
    assert [hit.key for hit in join_orders([], ["b", "a"])] == ["b", "a"]
    assert join_orders([], []) == []
