"""Packing messages into passages, and the soft maximum of their scores."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules.passages import EMPTY, fill_up, packed, soft_maximum

lengths = st.lists(st.integers(0, 5_000), max_size=12)


def test_messages_go_together_until_a_passage_is_full() -> None:
    assert [number for number, _ in fill_up([2_000, 1_000, 500, 9_000])] == [0, 0, 1, 2]
    assert packed(["a" * 3_000, "b" * 200, "c"]) == [["a" * 3_000, "b" * 200], ["c"]]


def test_a_session_without_messages_is_one_passage() -> None:
    assert packed([]) == [[]]


@given(lengths, lengths)
def test_messages_that_come_later_go_where_they_would_have_gone_at_once(first: list[int], later: list[int]) -> None:
    before = fill_up(first)
    assert before + fill_up(later, before[-1] if before else EMPTY) == fill_up(first + later)


def test_one_score_is_itself_and_several_are_a_little_more_than_the_best() -> None:
    assert soft_maximum([7.3]) == 7.3
    assert soft_maximum([10, 9]) == pytest.approx(2 * math.log(math.e**5 + math.e**4.5 - 1))
    assert (round(soft_maximum([10, 9]), 2), round(soft_maximum([10, 2]), 2)) == (10.94, 10.02)
    assert soft_maximum([]) == 0.0
