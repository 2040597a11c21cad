"""Score trees: each kind's worked example, and that a tree which does not add up is named."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.presenting.explain.score_trees import score_tree
from querymill.presenting.explain.scores import Balance, ScorePart, adds_up, curve, equation, fold, walk

REPORT: dict[str, Any] = {
    "score": 0.912,
    "explanation": {
        "formula": "inner_factor × max_inner_product × (1 + agreement × (count − 1))", "max_inner_product": 0.76,
        "inner_factor": 1.0, "agreement": 0.2, "count": 2, "agreement_factor": 1.2,
        "queries": ["Margins in 2023 improved because …", "How did margins develop in 2023?"], "passage": 3,
        "score": 0.912, "rounded_to": 4,
    },
}  # fmt: skip


def labels(tree: ScorePart) -> list[str]:
    return [part.label for part in tree.parts]


def test_a_report_is_its_similarity_times_its_factors() -> None:
    tree = score_tree("reports", REPORT)
    assert equation(tree) == "0.912 = similarity 0.760 × inner factor 1.000 × agreement 1.200"
    assert [(query.note, query.is_counted) for query in tree.parts[0].parts] == [
        ("Margins in 2023 improved because …", True), ("How did margins develop in 2023?", False),
    ]  # fmt: skip
    assert adds_up(tree, 0.912).is_even


def test_a_score_that_does_not_add_up_is_named_with_its_difference() -> None:
    balance = adds_up(score_tree("reports", REPORT), 0.9124)
    assert (balance.is_even, round(balance.difference, 4)) == (False, 0.0004)


@pytest.mark.parametrize(
    ("again", "score", "shown"),
    [
        ({"relevance": 0.5}, 0.38, "0.380 = relevance 0.500 × similarity 0.760"),
        ({"relevance": 0.5, "similarity": -0.2}, -0.3, "-0.300 = 2 − relevance 1.500 × similarity -0.200"),
        (
            {"relevance": 0.9, "similarity": 0.8, "relevance_weight": 0.7, "similarity_weight": 0.3}, 0.87,
            "0.870 = relevance 0.630 + similarity 0.240",
        ),
    ],
)  # fmt: skip
def test_a_rerank_is_one_level_above(again: dict[str, float], score: float, shown: str) -> None:
    why = REPORT["explanation"] | {"rerank": {"similarity": 0.76, "score": score, "rank": 2} | again}
    tree = score_tree("reports", {"score": score, "explanation": why})
    assert equation(tree) == shown
    assert adds_up(tree, score).is_even


def test_a_hit_by_words_and_vectors_adds_a_share_for_each_rank() -> None:
    ranks = {
        "words_rank": 1, "vectors_rank": 3, "words_weight": 1.0, "vectors_weight": 0.25, "k": 60, "fusion_score": 0.912,
        "words": None, "score": 0.020362, "rounded_to": 6,
    }  # fmt: skip
    tree = score_tree("reports", {"score": 0.020362, "explanation": REPORT["explanation"] | ranks})
    assert (tree.op, labels(tree)) == ("sum", ["words", "vectors"])
    assert adds_up(tree, 0.020362).is_even


def test_a_message_adds_its_ranks() -> None:
    why = {"rrf_k": 60, "ranks": {"words": 1, "vectors": 3}, "weights": {"words": 1.0, "vectors": 0.25}}
    tree = score_tree("messages", {"score": 1 / 61 + 0.25 / 63, "explanation": why})
    assert equation(tree) == "0.02036 = words 0.01639 + vectors 0.00397"
    assert adds_up(tree, 1 / 61 + 0.25 / 63).is_even


def test_a_message_has_its_cosine_on_the_curve() -> None:
    why = {"cosine": 0.9, "calibration": [[0.7, 0.0], [0.8, 0.4], [1.0, 1.0]]}
    tree = score_tree("messages", {"score": 0.7, "explanation": why})
    assert equation(tree) == "cosine 0.900 → similarity 0.700"
    assert adds_up(tree, 0.7).is_even


def test_a_conversation_multiplies_its_factors_and_opens_each() -> None:
    rank, decay = 0.2 * 1 + 0.3 * 0.5 + 0.1 * math.exp(-9 / 90), math.exp(-9 / 90)
    factors = {"bm25": 0.834, "rank": 1 + 0.2 * (rank - 0.5), "decay": 1 + 0.1 * (decay - 0.5), "context": 1.2}
    why = {
        "factors": factors, "days": 9, "a": 0.2, "b": 0.1, "cap": 1.2,
        "rank": {"rank": rank, "parts": {"base": 1, "depth": 0, "reference": 0.5, "quality": 0, "recency": decay}},
        "bm25": {
            "units": 10, "average": 4, "length": 4, "k1": 1.2, "b": 0.75, "score": 1.992 / 2.2,
            "terms": [{"term": "ship", "times": 1, "tf": 1, "df": 1, "idf": 1.992, "score": 1.992 / 2.2}],
        },
    }  # fmt: skip
    score = math.prod(factors.values())
    tree = score_tree(
        "conversations", {"score": score, "explanation": why, "placed_by": "topic", "placed_for": "ships"}
    )
    assert adds_up(tree, score).is_even
    assert labels(tree) == ["bm25", "rank", "decay", "context"]
    assert tree.note == "placed by topic for ships"
    assert {"base", "reference", "recency", "ship", "idf"} <= {part.label for _, part in walk(tree)}


def test_a_module_adds_its_sub_queries() -> None:
    asked = [{"module": "vtkCone", "rule": "name", "text": "cone", "how": "exact", "name": "vtkCone"}]
    parts = [
        {"description": description, "weight": 1, "normalized_weight": weight, "hits": hits, "modules": asked * hits,
         "asked": ["vtkCone"]}
        for description, weight, hits in (("a cone", 0.769231, 2), ("a plane", 0.230769, 1))
    ]  # fmt: skip
    hit = {"score": 1.769231, "explanation": {"mode": "hits"}, "match_explanation": parts, "channels": {}}
    tree = score_tree("modules", hit)
    assert (tree.op, labels(tree)) == ("sum", ["a cone", "a plane"])
    assert adds_up(tree, 1.769231).is_even


def test_a_file_is_its_evidence_on_the_curve() -> None:
    why = {
        "formula": "bands(Σ weight × evidence)", "weights": {"lexical": 0.5, "covered": 0.5},
        "bands": [[0.0, 0.0], [1.0, 1.0]], "evidence": {"lexical": 0.8, "covered": 0.4, "vector": None},
    }  # fmt: skip
    hit = {"score": 0.6, "relevance": 0.6, "round": 1, "found_by": ["words"], "explanation": why}
    tree = score_tree("files", hit)
    assert equation(tree) == "evidence 0.600 → relevance 0.600"
    assert adds_up(tree, 0.6).is_even


def test_a_hit_of_another_release_has_a_given_score() -> None:
    for kind in ("reports", "messages", "conversations", "modules", "files", "other"):
        tree = score_tree(kind, {"score": 0.5, "explanation": {}})
        assert (tree.op, fold(tree), adds_up(tree, 0.5)) == ("given", 0.5, Balance(True, 0.0))


numbers = st.floats(-10, 10).filter(lambda number: abs(number) > 1e-3)


@given(st.lists(numbers, min_size=1, max_size=5), st.sampled_from(["sum", "product", "min", "max"]))
def test_any_tree_folds_to_what_its_numbers_make(values: list[float], op: Any) -> None:
    parts = tuple(ScorePart(str(place), value) for place, value in enumerate(values))
    makers: dict[str, Callable[[list[float]], float]] = {"sum": math.fsum, "product": math.prod, "min": min, "max": max}
    made = makers[op](values)
    assert adds_up(ScorePart("score", made, op, parts), made).is_even
    assert not adds_up(ScorePart("score", made, op, parts), made + 0.001).is_even


@given(st.floats(0, 1), st.integers(1, 6))
def test_a_rounded_score_is_even_within_half_of_its_last_place(value: float, places: int) -> None:
    tree = ScorePart("score", round(value, places), "product", (ScorePart("one", 1), ScorePart("x", value)), "", places)
    assert adds_up(tree, round(value, places)).is_even


def test_a_curve_is_flat_beyond_its_points() -> None:
    points = ((0.5, 0.1), (0.7, 0.9))
    assert [curve(points, x) for x in (0, 0.5, 0.6, 0.7, 2)] == [0.1, 0.1, pytest.approx(0.5), 0.9, 0.9]
    assert curve((), 0.3) == 0.3
