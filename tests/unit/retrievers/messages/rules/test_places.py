"""Places that are kept for messages without a vector."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.messages.rules.places import cut_with_kept, holds_rare_word, kept_places
from querymill_workers.text import bm25


@pytest.mark.parametrize(("df", "is_rare"), [(1, True), (5, True), (6, False), (25, False)])
def test_the_worked_example_of_a_rare_word(df: int, is_rare: bool) -> None:
    scored = bm25.score(
        {"ships": 1}, 4, terms=[bm25.QueryTerm("ships", 1, df)], statistics=bm25.IndexStatistics(25, 100)
    )  # fmt: skip
    assert holds_rare_word(scored) is is_rare


@pytest.mark.parametrize(("limit", "kept"), [(1, 0), (2, 1), (5, 1), (6, 2), (10, 2), (200, 40)])
def test_a_fifth_of_the_places_is_kept_but_never_the_first(limit: int, kept: int) -> None:
    assert kept_places(limit) == kept


def test_the_worked_example_of_a_cut() -> None:
    assert cut_with_kept("abcdef", "f", limit=5) == list("abcdf")
    assert cut_with_kept("abcdef", "c", limit=5) == list("abcde")
    assert cut_with_kept("abcdef", "ef", limit=5) == list("abcde")
    assert cut_with_kept("abcdefgh", "gh", limit=5) == list("abcdg")
    assert cut_with_kept("ab", "", limit=5) == list("ab")


@given(st.lists(st.integers(0, 40), unique=True), st.integers(1, 20), st.data())
def test_nothing_is_twice_and_no_more_places_are_taken(ranked: list[int], limit: int, data: st.DataObject) -> None:
    waiting = [one for one in ranked if data.draw(st.booleans())]
    cut = cut_with_kept(ranked, waiting, limit=limit)
    assert len(cut) == len(set(cut)) == min(limit, len(ranked))
    assert cut[:1] == ranked[:1]
    lost = set(ranked[:limit]) - set(cut)
    assert len(lost) <= kept_places(limit)
