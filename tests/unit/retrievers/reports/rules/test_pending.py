from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.fusion import FusedPassage, HitKey
from querymill_workers.retrievers.reports.rules.pending import (
    PendingHit,
    explain_pending,
    has_rare_word,
    kept_places,
    with_pending,
)
from querymill_workers.text import bm25


def key(number: int) -> HitKey:
    return HitKey("a", "chunk", number)


def ranked(*numbers: int) -> list[FusedPassage]:
    return [FusedPassage(key(number), 1 - number / 100, 1 - number / 100, 1, ("q",), number) for number in numbers]


def pending(*numbers: int, is_rare: bool = True) -> list[PendingHit]:
    return [PendingHit(key(number), number, 100.0 - number, is_rare) for number in numbers]


def numbers(ranking: list[FusedPassage], waiting: list[PendingHit], top_n: int) -> list[int]:
    return [hit.key.number for hit in with_pending(ranking, waiting, query="q", top_n=top_n)]


def test_the_worked_example() -> None:
    assert numbers(ranked(*range(9)), pending(20, 21, 22), 5) == [0, 1, 2, 3, 20]
    assert numbers(ranked(0, 1, 2), pending(20, 21, 22), 5) == [0, 1, 2, 20, 21]


def test_a_fifth_of_the_places_is_kept_and_at_least_one() -> None:
    assert [kept_places(top_n) for top_n in (1, 5, 6, 10, 11, 200)] == [1, 1, 2, 2, 3, 40]


def test_common_words_keep_no_place_but_fill_what_is_empty() -> None:
    common = pending(20, 21, is_rare=False)
    assert numbers(ranked(*range(9)), common, 5) == [0, 1, 2, 3, 4]
    assert numbers(ranked(0, 1, 2), common, 4) == [0, 1, 2, 20]


def test_a_kept_place_goes_to_rare_words_though_common_ones_score_more() -> None:
    assert numbers(ranked(*range(9)), [*pending(20, is_rare=False), *pending(21)], 5) == [0, 1, 2, 3, 21]


def test_what_a_vector_found_too_is_shown_once() -> None:
    assert numbers(ranked(0, 1), pending(1, 20), 5) == [0, 1, 20]
    assert numbers(ranked(0, 1), [*pending(20), PendingHit(key(20), 7, 1.0, is_rare=True)], 5) == [0, 1, 20]


def test_a_rare_word_is_one_that_at_most_half_of_the_passages_have() -> None:
    def scored(df: int) -> bm25.Scored:
        return bm25.score(
            {"ships": 1}, 4, terms=[bm25.QueryTerm("ships", 1, df)], statistics=bm25.IndexStatistics(10, 40)
        )

    assert (has_rare_word(scored(5)), has_rare_word(scored(6)), has_rare_word(None)) == (True, False, False)


def test_an_explanation_has_the_names_that_screens_show() -> None:
    why = explain_pending(pending(3)[0], query="q")
    assert why["bm25"] == 97.0
    assert {"max_inner_product", "inner_factor", "agreement", "agreement_factor", "count", "queries"} <= why.keys()


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=12),
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=12, unique_by=lambda pair: pair[0]),
    st.integers(1, 12),
)
def test_the_head_is_the_ranking_and_no_place_stays_empty(
    by_vector: list[int], by_words: list[tuple[int, bool]], top_n: int
) -> None:
    ranking = ranked(*by_vector)
    waiting = [hit for number, is_rare in by_words for hit in pending(number, is_rare=is_rare)]
    found = numbers(ranking, waiting, top_n)
    assert len(found) == len(set(found)) == min(top_n, len({*by_vector, *(number for number, _ in by_words)}))
    of_vectors = [number for number in found if number in by_vector]
    assert of_vectors == by_vector[: len(of_vectors)]
    assert len(of_vectors) >= min(len(by_vector), top_n - kept_places(top_n))
    assert found[: len(of_vectors)] == of_vectors
