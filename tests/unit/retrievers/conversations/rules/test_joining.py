"""Joining the order by words with that by vectors."""

import pytest

from querymill_workers.retrievers.conversations.rules.joining import UNKNOWN_LENGTH, join_orders, join_weights


@pytest.mark.parametrize(
    ("entry_words", "vectors"), [(0, 0.9), (12, 0.9), (40, 0.9), (80, 0.45), (144, 0.25), (400, 0.25)]
)
def test_vectors_weigh_the_more_the_shorter_entries_are(entry_words: float, vectors: float) -> None:
    weights = join_weights(entry_words)
    assert (weights.words, weights.entry_words) == (1.0, entry_words)
    assert weights.vectors.weight == pytest.approx(vectors)


def test_among_long_entries_words_count_four_times_as_much_as_vectors() -> None:
    weights = join_weights(400)
    joined = join_orders(["a", "b"], ["b", "c"], weights)
    assert [(hit.key, round(hit.score, 4)) for hit in joined] == [("b", 0.1061), ("a", 0.0909), ("c", 0.0208)]
    assert joined[0].score == pytest.approx(1 / 12 + 0.25 / 11)
    assert joined[0].ranks == {"words": 2, "vectors": 1}
    assert [hit.key for hit in join_orders(["a"], ["b", "c", "d"], weights)] == ["a", "b", "c", "d"]


def test_words_decide_where_the_orders_of_short_entries_swap_places() -> None:
    weights = join_weights(12)
    assert [hit.key for hit in join_orders(["b", "a"], ["a", "b"], weights)] == ["b", "a"]
    # Two places more among the vectors outweigh one among the words.
    assert [hit.key for hit in join_orders(["b", "a"], ["a", "c", "b"], weights)] == ["a", "b", "c"]


def test_ties_break_on_the_id() -> None:
    assert [hit.key for hit in join_orders([], ["b", "a"], UNKNOWN_LENGTH)] == ["b", "a"]
    assert join_orders([], [], UNKNOWN_LENGTH) == []
