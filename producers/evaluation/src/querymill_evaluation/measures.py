"""Measures of a ranking (nDCG, recall, reciprocal rank) by ir-measures, and percentiles."""

from collections.abc import Mapping

Run = Mapping[str, Mapping[str, float]]
Qrels = Mapping[str, Mapping[str, int]]


def measure_run(run: Run, qrels: Qrels, *, digits: int = 4) -> dict[str, float]:
    """Average nDCG@10, recall@10 and MRR@10 over the queries of a run, rounded to ``digits``.

    A query without hits counts as 0. A judged query that is not in the run does not count.
    """
    # Imported here because it is slow to import, and every command line imports this module.
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {nDCG @ 10: "ndcg@10", R @ 10: "recall@10", RR @ 10: "mrr@10"}
    asked = {query: dict(grades) for query, grades in qrels.items() if query in run}
    found = {query: dict(scores) for query, scores in run.items()}
    aggregated = ir_measures.calc_aggregate(list(names), asked, found)
    return {name: round(float(aggregated[measure]), digits) for measure, name in names.items()}


def trec_lines(run: Run, *, tag: str) -> list[str]:
    """Return the lines of a run in TREC format: query Q0 document rank score tag. Ranks begin at 1."""
    return [
        f"{query} Q0 {document} {rank} {score:.6f} {tag}"
        for query, scores in run.items()
        for rank, (document, score) in enumerate(sorted(scores.items(), key=lambda item: (-item[1], item[0])), start=1)
    ]
