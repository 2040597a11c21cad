"""Which of two runs over the same questions is better, by how much, and how sure that is: in plain words."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from querymill_evaluation.runs import MEASURES, BadRun, SavedRun
from querymill_evaluation.significance import Difference, paired_difference
from querymill_shared.calibration import percentile

#: The measure that decides.
DECIDES: Final = "ndcg@10"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side: their means, and the difference of B to A, by measure."""

    a: SavedRun
    b: SavedRun
    differences: dict[str, Difference]

    def means(self, run: SavedRun) -> dict[str, float]:
        """Return the mean of every measure."""
        return {measure: statistics.fmean(run.values(measure)) for measure in MEASURES}


def compare_runs(a: SavedRun, b: SavedRun) -> Comparison:
    """Compare two finished runs.

    Raises:
        BadRun: A run is not finished, or the two were over different questions or documents.
    """
    for run in (a, b):
        if not run.finished:
            raise BadRun(
                f"{run.folder}: must be finished, {len(run.outcomes)} of {run.head.asked} questions are answered;"
                " run it again, and it is continued"
            )
    _refuse_unlike(a, b)
    return Comparison(a, b, {measure: paired_difference(a.values(measure), b.values(measure)) for measure in MEASURES})


def _refuse_unlike(a: SavedRun, b: SavedRun) -> None:
    if a.head.kind != b.head.kind:
        raise BadRun(f"kind: must be the same, is {a.head.kind!r} and {b.head.kind!r}")
    if a.outcomes.keys() != b.outcomes.keys():
        only = len(a.outcomes.keys() - b.outcomes.keys()), len(b.outcomes.keys() - a.outcomes.keys())
        raise BadRun(f"questions: must be the same; only A asked {only[0]} of them, and only B {only[1]}")
    if a.head.questions != b.head.questions:
        raise BadRun("questions: must be the same; their ids are, but a text or a judgement differs")
    corpora = [{name: run.head.sampled.get(name) for name in ("distractors", "sessions")} for run in (a, b)]
    if corpora[0] != corpora[1]:
        raise BadRun(f"documents: must be the same, are cut by {corpora[0]} and {corpora[1]}")


def in_words(comparison: Comparison) -> Iterator[str]:
    """Say in sentences what a comparison shows."""
    found = comparison.differences[DECIDES]
    yield _verdict(found)
    yield _how_sure(found)
    a, b = comparison.means(comparison.a), comparison.means(comparison.b)
    for measure in MEASURES:
        difference = comparison.differences[measure]
        yield (
            f"{measure:<10} A {a[measure]:.3f}   B {b[measure]:.3f}   difference {difference.mean:+.3f}"
            f"   95 % interval {difference.low:+.3f} to {difference.high:+.3f}"
        )
    yield _cost(comparison)
    yield _won_and_lost(comparison)


def _verdict(found: Difference) -> str:
    by = f"by {abs(found.mean):.3f} nDCG@10 on the average of {found.pairs} questions"
    match found.verdict:
        case "better":
            return f"B is better than A, {by}."
        case "worse":
            return f"A is better than B, {by}."
        case "probably better":
            return f"B is probably better than A, {by}, but it is not sure."
        case "probably worse":
            return f"A is probably better than B, {by}, but it is not sure."
        case "no difference shown":
            return f"These {found.pairs} questions do not show which is better."


def _how_sure(found: Difference) -> str:
    if found.low == found.high == 0:
        return "Both rank the judged documents alike for every question."
    in_favour = found.above if found.mean >= 0 else 1 - found.above
    side = "B" if found.mean >= 0 else "A"
    sure = (
        f"How sure: other questions of the same sort would give a difference between {found.low:+.3f} and"
        f" {found.high:+.3f} (95 % interval); {side} wins in {in_favour:.1%} of 10,000 redraws of the questions."
    )
    if found.verdict in ("better", "worse"):
        return sure
    return f"{sure} The interval holds 0, so it may be chance: ask more questions."


def _cost(comparison: Comparison) -> str:
    parts = []
    for name, run in (("A", comparison.a), ("B", comparison.b)):
        outcomes = run.outcomes.values()
        p50 = percentile([outcome.ms for outcome in outcomes], 50)
        calls = sum(outcome.calls for outcome in outcomes) / len(outcomes)
        tokens = sum(outcome.tokens for outcome in outcomes) / len(outcomes)
        parts.append(f"{name} {p50:.0f} ms (median), {calls:.2f} provider calls and {tokens:.0f} tokens a question")
    return "Cost: " + "; ".join(parts) + "."


def _won_and_lost(comparison: Comparison) -> str:
    pairs = [
        (query_id, comparison.b.measured[query_id][DECIDES] - comparison.a.measured[query_id][DECIDES])
        for query_id in sorted(comparison.a.measured)
    ]
    won = [pair for pair in pairs if pair[1] > 0]
    lost = [pair for pair in pairs if pair[1] < 0]
    said = (
        f"B is better for {len(won)} questions, worse for {len(lost)}, equal for {len(pairs) - len(won) - len(lost)}."
    )
    worst = sorted(lost, key=lambda one: (one[1], one[0]))[:3]
    return said + (" It loses most on: " + ", ".join(query_id for query_id, _ in worst) + "." if worst else "")


def as_figures(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as an object of JSON."""
    return {
        "questions": comparison.differences[DECIDES].pairs,
        "a": {"options": dict(comparison.a.head.options), **comparison.means(comparison.a)},
        "b": {"options": dict(comparison.b.head.options), **comparison.means(comparison.b)},
        "differences": {
            measure: {
                "mean": found.mean, "low": found.low, "high": found.high, "share_above_0": found.above,
                "verdict": found.verdict,
            }
            for measure, found in comparison.differences.items()
        },
        "verdict": comparison.differences[DECIDES].verdict,
        "in_words": list(in_words(comparison)),
    }  # fmt: skip
