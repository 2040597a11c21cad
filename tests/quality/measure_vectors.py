"""Measure what vectors gain through the whole product: ``python -m tests.quality.measure_vectors SET KIND FOLDER``.

A set is ingested once, into FOLDER, and every passage is embedded. Its questions are asked by words (vectors weigh 0),
with no weight named, so that the estimate of the collection holds, and by vectors (1,000 beside 1 of the words). The
model is that of the environment (``EMBEDDING_BASE_URL``), or else the bundled one.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from querymill import Querymill
from querymill.cli.stack import services
from querymill.cli.terminal import Console
from querymill.client.transport import RETRIEVERS
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.measuring import ask_set, head_of, ingest_set, prepared
from querymill_evaluation.runs import SavedRun, read_run
from querymill_evaluation.significance import paired_difference
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.vectors import WeighVectors, WeighVectorsResult

WORDS, JOINED, VECTORS = "words", "joined", "vectors"
WAYS: Final[Mapping[str, Mapping[str, Any]]] = {
    WORDS: {"vectors_weight": 0}, JOINED: {}, VECTORS: {"vectors_weight": 1_000},
}  # fmt: skip
#: A large code base is embedded only if somebody asks for it.
ASKING: Final[Mapping[str, Mapping[str, Any]]] = {"files": {"channels": ["words", "vectors"]}}
#: What is measured is the ranking, so a busy machine may take its time.
DEADLINE_S: Final = 60
MEASURE: Final = "ndcg@10"


def main() -> None:
    """Print the row of a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("kind")
    parser.add_argument("folder", type=Path, help="keeps the stack and the runs: one for each set and model")
    parser.add_argument("--questions", type=int, help="ask at most so many, the same each time")
    asked = parser.parse_args()
    say, sample = Console(stderr=True), Sample(queries=asked.questions)
    with services(asked.folder / "stack", say), Querymill() as mill:
        ingested = prepared(asked.set, asked.kind, ASKING.get(asked.kind, {}), sample)
        ingest_set(mill, ingested, asked.kind, say)
        weighed = weigh(mill, asked.kind, ingested)
        for name, weight in WAYS.items():
            options = {**weight, "deadline": DEADLINE_S}
            way = prepared(asked.set, asked.kind, options, sample)
            head = head_of(way, asked.kind, options, sample)
            ask_set(mill, way, say, head=head, save=asked.folder / "runs" / name)
    runs = {name: read_run(asked.folder / "runs" / name) for name in WAYS}
    lacking = sum(outcome.degraded for run in runs.values() for outcome in run.outcomes.values())
    if lacking:
        say.print(f"{lacking} results were not complete", style="red")
    print(row_of(asked.set.name, asked.kind, weighed, runs))


def weigh(mill: Querymill, kind: str, ingested: Evaluation) -> list[WeighVectorsResult]:
    """Return what the vectors of each collection are estimated to be worth; small collections are left out.

    They were weighed once before: the same passages are drawn again, and their vectors are still cached.
    """
    retriever = next(each for each in RETRIEVERS if each == kind)
    weighed = []
    for collection in sorted({request.collection for _, request in ingested.requests}):
        try:
            weighed.append(mill.submit(WeighVectors(collection=collection, retriever=retriever)).result(timeout=600))
        except JobFailed:
            continue  # it has no vectors
    return weighed


def row_of(name: str, kind: str, weighed: Sequence[WeighVectorsResult], runs: Mapping[str, SavedRun]) -> str:
    """Return the row of a set: nDCG@10 of each way, the weights, and what joining gains on the better of both."""
    values = {way: run.values(MEASURE) for way, run in runs.items()}
    means = {way: sum(each) / len(each) for way, each in values.items()}
    better = WORDS if means[WORDS] >= means[VECTORS] else VECTORS
    gain = paired_difference(values[better], values[JOINED])
    models = ", ".join(sorted({each.model for each in weighed})) or "none"
    return (
        f"| {name} | {kind} | {models} | {len(values[JOINED])} | {means[WORDS]:.3f} | {means[VECTORS]:.3f}"
        f" | {said(weighed)} | {means[JOINED]:.3f} | {gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) |"
    )


def said(weighed: Sequence[WeighVectorsResult]) -> str:
    """Say the weights of the collections: those that were estimated, from least to most, and how many were not."""
    known = sorted(each.weight for each in weighed if each.weight is not None)
    unknown = len(weighed) - len(known)
    parts = [f"{known[0]:g}" if known[0] == known[-1] else f"{known[0]:g} to {known[-1]:g}"] if known else []
    parts += [f"{unknown} of {len(weighed)} not estimated"] if unknown else []
    return ", ".join(parts) or "no vectors"


if __name__ == "__main__":
    main()
