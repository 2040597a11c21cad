import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.services.rules.reranking import Combine, GivenHit, Reranked, combined_score, explain, rerank
from querymill_workers.text.judgements import accepted

COMBINES: list[Combine] = ["product", "weighted", "relevance"]
IDS = "abcdef"
similarities = st.sampled_from([-1.0, -0.5, 0.0, 0.3, 0.8]) | st.floats(-1e9, 1e9)
relevances = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)
candidate_lists = st.lists(
    st.builds(GivenHit, st.sampled_from(IDS), similarities), max_size=6, unique_by=lambda candidate: candidate.id
)
judgement_lists = st.lists(st.tuples(st.sampled_from(IDS + "xyz"), relevances | st.floats()), max_size=12)
combines = st.sampled_from(COMBINES)


def hits(**similarity_of: float) -> list[GivenHit]:
    return [GivenHit(hit_id, similarity) for hit_id, similarity in similarity_of.items()]


def order(reranked: list[Reranked]) -> list[str]:
    return [hit.id for hit in reranked]


@pytest.mark.parametrize(
    ("combine", "relevance", "similarity", "score"),
    [
        ("product", 0.9, 0.8, 0.72),
        ("product", 0.0, 0.8, 0.0),
        ("product", 1.0, 0.8, 0.8),
        ("weighted", 0.9, 0.8, 0.87),
        ("weighted", 1.0, 0.0, 0.7),
        ("weighted", 0.0, 1.0, 0.3),
        ("weighted", 0.5, -0.5, 0.2),
        ("product", 1.0, -0.5, -0.5),
        ("product", 0.5, -0.5, -0.75),
        ("product", 0.0, -0.5, -1.0),
        ("relevance", 0.9, -0.5, 0.9),
    ],
)
def test_the_worked_examples(combine: Combine, relevance: float, similarity: float, score: float) -> None:
    assert combined_score(relevance=relevance, similarity=similarity, combine=combine) == pytest.approx(score)


def test_relevance_times_similarity_decides_the_order() -> None:
    reranked = rerank(hits(a=0.9, b=0.8, c=0.5), [("a", 0.5), ("b", 0.9), ("c", 1.0)])
    assert [(hit.id, round(hit.score, 4)) for hit in reranked] == [("b", 0.72), ("c", 0.5), ("a", 0.45)]
    assert [hit.rank for hit in reranked] == [2, 3, 1]


def test_the_weighted_sum_can_order_otherwise_than_the_product() -> None:
    judged = [("near", 0.4), ("relevant", 1.0)]
    assert order(rerank(hits(near=0.9, relevant=0.3), judged)) == ["near", "relevant"]
    assert order(rerank(hits(near=0.9, relevant=0.3), judged, combine="weighted")) == ["relevant", "near"]


def test_among_negative_similarities_the_relevant_comes_first() -> None:
    assert order(rerank(hits(a=-0.5, b=-0.5), [("a", 0.0), ("b", 1.0)])) == ["b", "a"]


def test_a_hit_that_was_not_judged_keeps_its_order_below_the_judged() -> None:
    reranked = rerank(hits(z=0.99, a=0.98, low=0.01), [("low", 0.0)])
    assert order(reranked) == ["low", "z", "a"]
    assert [hit.relevance for hit in reranked] == [0.0, None, None]
    assert "not judged" in str(explain(reranked[1])["reason"])


def test_without_any_judgement_the_order_is_the_callers() -> None:
    assert order(rerank(hits(b=0.1, c=0.9, a=0.5), [])) == ["b", "c", "a"]


@pytest.mark.parametrize("relevance", [100.0, 1.0000001, -0.0001, math.nan, math.inf, -math.inf])
def test_what_is_no_relevance_is_no_judgement(relevance: float) -> None:
    (hit,) = rerank(hits(a=0.5), [("a", relevance)])
    assert hit.relevance is None
    assert hit.score == 0.5


def test_the_first_judgement_of_an_id_counts_and_unknown_ids_are_dropped() -> None:
    said = [("x", 1.0), ("a", 7.0), ("a", 0.25), ("a", 0.75)]
    assert accepted(said, known={"a", "b"}) == {"a": 0.25}


def test_of_equal_scores_the_first_so_far_is_the_first() -> None:
    assert order(rerank(hits(c=0.5, a=0.5, b=0.5), [("a", 0.5), ("b", 0.5), ("c", 0.5)])) == ["c", "a", "b"]


def test_by_relevance_alone_scores_that_are_no_similarities_count_for_nothing() -> None:
    """Of ranks joined at 0.091, 0.083 and 0.077, judged 0.2, 0.9 and 0.9: the second, the third, the first."""
    judged = [("a", 0.2), ("b", 0.9), ("c", 0.9)]
    reranked = rerank(hits(a=0.091, b=0.083, c=0.077), judged, combine="relevance")
    assert [(hit.id, hit.score, hit.rank) for hit in reranked] == [("b", 0.9, 2), ("c", 0.9, 3), ("a", 0.2, 1)]
    assert explain(reranked[0], combine="relevance") == {
        "formula": "relevance", "score_before": 0.083, "score": 0.9, "rank": 2, "relevance": 0.9,
    }  # fmt: skip
    unjudged = rerank(hits(a=0.091), [], combine="relevance")[0]
    assert (explain(unjudged, combine="relevance")["formula"], unjudged.score) == ("score_before", 0.091)


@given(candidate_lists, judgement_lists, combines)
def test_no_hit_is_lost_doubled_or_invented(
    candidates: list[GivenHit], judgements: list[tuple[str, float]], combine: Combine
) -> None:
    reranked = rerank(candidates, judgements, combine=combine)
    assert sorted(order(reranked)) == sorted(candidate.id for candidate in candidates)
    assert sorted(hit.rank for hit in reranked) == list(range(1, len(candidates) + 1))
    assert all(math.isfinite(hit.score) for hit in reranked)


@given(candidate_lists, judgement_lists, combines)
def test_judged_hits_descend_and_the_others_follow_in_their_order(
    candidates: list[GivenHit], judgements: list[tuple[str, float]], combine: Combine
) -> None:
    reranked = rerank(candidates, judgements, combine=combine)
    judged = [hit for hit in reranked if hit.relevance is not None]
    left = reranked[len(judged) :]
    assert [(-hit.score, hit.id) for hit in judged] == sorted((-hit.score, hit.id) for hit in judged)
    assert all(hit.relevance is None for hit in left)
    assert [hit.rank for hit in left] == sorted(hit.rank for hit in left)


@given(candidate_lists, judgement_lists, st.randoms(use_true_random=False))
def test_the_order_of_judged_hits_does_not_depend_on_the_order_they_came_in(
    candidates: list[GivenHit], judgements: list[tuple[str, float]], chance: object
) -> None:
    shuffled = list(candidates)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    first, second = (rerank(given_so, judgements) for given_so in (candidates, shuffled))
    assert [hit.id for hit in first if hit.relevance is not None] == [
        hit.id for hit in second if hit.relevance is not None
    ]


@given(relevances, relevances, similarities, combines)
def test_more_relevance_never_lowers_a_score(one: float, other: float, similarity: float, combine: Combine) -> None:
    low, high = sorted((one, other))
    assert combined_score(relevance=low, similarity=similarity, combine=combine) <= combined_score(
        relevance=high, similarity=similarity, combine=combine
    )


@given(relevances, similarities)
def test_no_relevance_lifts_a_product_above_the_hits_own_similarity(relevance: float, similarity: float) -> None:
    assert combined_score(relevance=relevance, similarity=similarity) <= similarity


@given(candidate_lists, judgement_lists, combines)
def test_a_score_can_be_recomputed_from_its_explanation(
    candidates: list[GivenHit], judgements: list[tuple[str, float]], combine: Combine
) -> None:
    for hit in rerank(candidates, judgements, combine=combine):
        told = explain(hit, combine=combine)
        formula = str(told["formula"]).replace("×", "*").replace("−", "-")
        numbers = {name: value for name, value in told.items() if isinstance(value, (int, float))}
        assert eval(formula, {}, numbers) == hit.score
        assert told["rank"] == hit.rank
