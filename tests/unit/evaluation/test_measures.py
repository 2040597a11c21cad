"""nDCG, recall and reciprocal rank of a run; percentiles; runs in TREC format."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_evaluation.measures import measure_run, trec_lines
from querymill_shared.calibration import percentile

NUMBERS = st.floats(-1e6, 1e6)


def test_measures_of_a_run_worked_by_hand() -> None:
    # One relevant document at rank 2 of one query, none found for the other: nDCG 1/log2(3)/1 = 0.6309, halved.
    figures = measure_run({"q1": {"a": 0.9, "b": 0.8}, "q2": {}}, {"q1": {"b": 1}, "q2": {"c": 1}, "q3": {"d": 1}})
    assert figures == {"ndcg@10": 0.3155, "recall@10": 0.5, "mrr@10": 0.25}


def test_a_document_at_rank_eleven_counts_for_nothing() -> None:
    run = {"q": {f"d{rank:02}": 1 / rank for rank in range(1, 12)}}
    assert measure_run(run, {"q": {"d11": 1}}) == {"ndcg@10": 0.0, "recall@10": 0.0, "mrr@10": 0.0}
    assert measure_run(run, {"q": {"d10": 1}})["mrr@10"] == 0.1


def test_grades_count_for_ndcg_and_documents_of_grade_nought_are_not_relevant() -> None:
    graded = {"q": {"best": 2, "good": 1, "bad": 0}}
    right = measure_run({"q": {"best": 1.0, "good": 0.5}}, graded)
    swapped = measure_run({"q": {"good": 1.0, "best": 0.5}}, graded)
    assert right == {"ndcg@10": 1.0, "recall@10": 1.0, "mrr@10": 1.0}
    # (1 + 2/log2(3)) / (2 + 1/log2(3)) = 0.8597
    assert (swapped["ndcg@10"], swapped["recall@10"]) == (0.8597, 1.0)
    assert measure_run({"q": {"bad": 1.0}}, graded)["recall@10"] == 0.0


def test_percentiles() -> None:
    assert percentile([5.0], 95) == 5.0
    assert percentile([1.0, 2.0, 3.0], 50) == 2.0
    assert percentile([0.0, 10.0], 95) == pytest.approx(9.5)


@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(1, 99))
def test_percentiles_are_those_of_numpy(values: list[float], percent: int) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), abs=1e-6)


def test_a_run_is_written_in_trec_format_with_ranks_from_one() -> None:
    assert trec_lines({"q": {"a": 0.5, "b": 0.75}}, tag="t") == ["q Q0 b 1 0.750000 t", "q Q0 a 2 0.500000 t"]


def test_documents_with_one_score_are_written_in_the_order_of_their_ids() -> None:
    assert [line.split()[2] for line in trec_lines({"q": {"b": 0.5, "a": 0.5, "c": 0.9}}, tag="t")] == ["c", "a", "b"]
    assert trec_lines({"q": {}}, tag="t") == []
