"""nDCG, recall and reciprocal rank of a run; percentiles; runs in TREC format."""

from querymill_evaluation.measures import measure_run, percentile, trec_lines


def test_measures_of_a_run_worked_by_hand() -> None:
    # One relevant document at rank 2 of one query, none found for the other: nDCG 1/log2(3)/1 = 0.6309, halved.
    figures = measure_run({"q1": {"a": 0.9, "b": 0.8}, "q2": {}}, {"q1": {"b": 1}, "q2": {"c": 1}, "q3": {"d": 1}})
    assert figures == {"ndcg@10": 0.3155, "recall@10": 0.5, "mrr@10": 0.25}


def test_percentiles() -> None:
    assert percentile([5.0], 95) == 5.0
    assert percentile([1.0, 2.0, 3.0], 50) == 2.0


def test_a_run_is_written_in_trec_format_with_ranks_from_one() -> None:
    assert trec_lines({"q": {"a": 0.5, "b": 0.75}}, tag="t") == ["q Q0 b 1 0.750000 t", "q Q0 a 2 0.500000 t"]
