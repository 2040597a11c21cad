"""nDCG, recall and reciprocal rank by the field's own library; latency by percentiles."""

import statistics
from collections.abc import Mapping, Sequence

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]


def measure_run(run: Run, qrels: Qrels) -> dict[str, float]:
    """Average nDCG@10, recall@10 and MRR@10 over the queries that were asked.

    A query without hits counts as 0; queries that were not asked do not count.
    """
    # Imported when measuring: it is an extra, and slow to import.
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {nDCG @ 10: "ndcg@10", R @ 10: "recall@10", RR @ 10: "mrr@10"}
    asked = {query: dict(grades) for query, grades in qrels.items() if query in run}
    found = {query: dict(scores) for query, scores in run.items()}
    aggregated = ir_measures.calc_aggregate(list(names), asked, found)
    return {name: round(float(aggregated[measure]), 4) for measure, name in names.items()}


def percentile(values: Sequence[float], percent: int) -> float:
    """Take a percentile, interpolated; of one value, that value."""
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def trec_lines(run: Run, *, tag: str) -> list[str]:
    """Write a run in TREC format: query Q0 document rank score tag; ranks begin at 1."""
    return [
        f"{query} Q0 {document} {rank} {score:.6f} {tag}"
        for query, scores in run.items()
        for rank, (document, score) in enumerate(sorted(scores.items(), key=lambda item: (-item[1], item[0])), start=1)
    ]
