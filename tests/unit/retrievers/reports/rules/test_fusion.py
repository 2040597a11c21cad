import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.fusion import HitKey, QueryHit, decode_key, explain, fuse

PAGE = HitKey("a1b2", "page", 12)

keys = st.builds(HitKey, st.text(max_size=6), st.sampled_from(["page", "chunk"]), st.integers(0, 10**9))
few_keys = st.builds(HitKey, st.sampled_from("ab"), st.sampled_from(["page", "chunk"]), st.integers(0, 2))
hit_lists = st.lists(
    st.builds(
        QueryHit,
        query=st.sampled_from(["original", "hyde", "synonym", "variant"]),
        key=few_keys,
        passage=st.integers(0, 4),
        inner_product=st.sampled_from([-0.5, -0.1, 0.0, 0.3, 0.30001, 0.8, 0.96]) | st.floats(-1, 1),
    ),
    max_size=30,
)


def hits_by(*queries: str, inner_product: float = 0.8, key: HitKey = PAGE) -> list[QueryHit]:
    return [QueryHit(query, key, 3, inner_product) for query in queries]


@pytest.mark.parametrize(
    ("queries", "score"), [(["original"], 0.8), (["original", "hyde"], 0.96), (["original", "hyde", "variant"], 1.12)]
)
def test_an_inner_product_of_08_hit_by_1_2_3_queries_scores_08_096_112(queries: list[str], score: float) -> None:
    (fused,) = fuse(hits_by(*queries), top_n=10)
    assert fused.score == score
    assert fused.similarity == 0.8
    assert fused.query_count == len(queries)


def test_many_passages_of_one_page_found_by_one_query_count_once() -> None:
    (fused,) = fuse([QueryHit("original", PAGE, number, 0.5 + number / 10) for number in range(3)], top_n=1)
    assert (fused.query_count, fused.score, fused.passage) == (1, 0.7, 2)


def test_a_negative_maximum_is_not_multiplied() -> None:
    (fused,) = fuse(hits_by("original", "hyde", inner_product=-0.5), top_n=1)
    assert (fused.score, fused.query_count) == (-0.5, 2)


def test_the_inner_factor_multiplies_the_inner_product() -> None:
    (fused,) = fuse(hits_by("original", "hyde"), top_n=1, inner_factor=0.5, agreement=0.1)
    assert fused.score == 0.44


def test_queries_stand_by_their_nearest_passage_which_is_the_one_reported() -> None:
    hits = [QueryHit("far", PAGE, 1, 0.2), QueryHit("near", PAGE, 2, 0.9), QueryHit("far", PAGE, 3, 0.4)]
    (fused,) = fuse(hits, top_n=1)
    assert fused.queries == ("near", "far")
    assert fused.passage == 2


def test_queries_with_one_inner_product_stand_in_the_order_of_the_alphabet() -> None:
    assert fuse(hits_by("b", "a"), top_n=1) == fuse(hits_by("a", "b"), top_n=1)


def test_ties_break_on_document_then_unit_then_number() -> None:
    tied = [HitKey("b", "page", 1), HitKey("a", "page", 10), HitKey("a", "page", 9), HitKey("a", "chunk", 99)]
    fused = fuse([hit for key in tied for hit in hits_by("original", key=key)], top_n=9)
    assert [hit.key for hit in fused] == tied[::-1]


def test_the_order_is_that_of_the_unrounded_scores() -> None:
    hits = hits_by("original", inner_product=0.30001, key=HitKey("b", "page", 1))
    hits += hits_by("original", inner_product=0.30000, key=HitKey("a", "page", 1))
    fused = fuse(hits, top_n=2)
    assert [(hit.key.document, hit.score) for hit in fused] == [("b", 0.3), ("a", 0.3)]


@given(hit_lists, st.randoms(use_true_random=False))
def test_order_and_repetition_of_the_hits_change_nothing(hits: list[QueryHit], chance: object) -> None:
    shuffled = hits + hits[: len(hits) // 2]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # a random.Random
    assert fuse(shuffled, top_n=100) == fuse(hits, top_n=100)


@given(hit_lists, st.integers(0, 12))
def test_a_smaller_top_n_gives_a_prefix(hits: list[QueryHit], top_n: int) -> None:
    assert fuse(hits, top_n=top_n) == fuse(hits, top_n=100)[:top_n]


@given(hit_lists, st.floats(0.1, 3), st.floats(0, 1))
def test_a_score_can_be_recomputed_from_its_explanation(
    hits: list[QueryHit], inner_factor: float, agreement: float
) -> None:
    for hit in fuse(hits, top_n=100, inner_factor=inner_factor, agreement=agreement):
        told = explain(hit, inner_factor=inner_factor, agreement=agreement)
        number = {name: value for name, value in told.items() if isinstance(value, (int, float))}
        score = number["inner_factor"] * number["max_inner_product"]
        if "agreement" in str(told["formula"]):
            score *= 1 + number["agreement"] * (number["count"] - 1)
        assert math.isclose(round(score, 4), hit.score, abs_tol=1.01e-4)
        assert told["queries"] == list(hit.queries)


def test_the_explanation_of_a_negative_maximum_names_no_agreement() -> None:
    (fused,) = fuse(hits_by("original", "hyde", inner_product=-0.5), top_n=1)
    assert explain(fused)["formula"] == "inner_factor × max_inner_product"
    assert explain(fused)["agreement_factor"] == 1.0


@given(keys)
def test_a_key_survives_being_written_and_read(key: HitKey) -> None:
    assert decode_key(key.encoded()) == key


def test_the_written_form_of_a_key_is_stable() -> None:
    assert HitKey("2fd4e1c6", "page", 12).encoded() == "2fd4e1c6/page/12"
    assert decode_key("a/b/chunk/0") == HitKey("a/b", "chunk", 0)


@pytest.mark.parametrize("text", ["", "a", "a/page", "a/pages/1", "a/page/", "a/page/x", "a/page/01", "a/page/１"])
def test_what_is_not_a_key_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a key"):
        decode_key(text)


@pytest.mark.parametrize("inner_product", [math.nan, math.inf])
def test_an_inner_product_that_is_no_finite_number_is_refused(inner_product: float) -> None:
    with pytest.raises(ValueError, match="a1b2/page/12"):
        fuse(hits_by("original", inner_product=inner_product), top_n=1)


@pytest.mark.parametrize("option", [{"top_n": -1}, {"inner_factor": 0.0}, {"agreement": -0.1}])
def test_a_parameter_out_of_range_is_refused(option: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        fuse([], **({"top_n": 1} | option))  # type: ignore[arg-type]  # top_n is whole in every case
