"""Measure `messages` on evaluation sets: ``python -m tests.quality.measure_messages FOLDER_OF_SETS --data DIR``.

Every variant on the same ingested sessions, through jobs and real workers; then how many unanswerable questions
get an empty answer at the default threshold, with raw cosine and with calibrated similarity. Sets as the
baselines' samples: two conversations of locomo, seven logs of irc_messages.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querymill import MessageResult, MessageSearch, Querymill
from querymill.cli.progress import with_bar
from querymill.cli.stack import services
from querymill.cli.terminal import Console
from querymill.ingesting.jsonl import GoodLine
from querymill.ingesting.kinds.messages import LINES
from querymill.ingesting.submitting import pack
from querymill_evaluation.measures import measure_run
from querymill_evaluation.message_sets import MessageSet, filter_fields, read_message_set

SETS = {"locomo": 2, "irc_messages": 7}
DEFAULT_THRESHOLD = 0.7
NO_THRESHOLD: dict[str, Any] = {"similarity_threshold": None, "limit": 20}
#: Words alone are the hybrid search whose vectors weigh next to nothing.
VARIANTS: Mapping[str, dict[str, Any]] = {
    "vectors": {},
    "words": {"hybrid": True, "vectors_weight": 1e-9},
    "hybrid": {"hybrid": True},
    "hybrid, words twice": {"hybrid": True, "words_weight": 2.0},
    "vectors, contexts alone": {"vector_type": "context"},
    "vectors, with contexts": {"include_context": True},
    "words, with contexts": {"hybrid": True, "include_context": True, "vectors_weight": 1e-9},
    "hybrid, with contexts": {"hybrid": True, "include_context": True},
    "hybrid, with contexts, words twice": {"hybrid": True, "include_context": True, "words_weight": 2.0},
}

#: What a request gets that names nothing: the default threshold, five hits.
DEFAULTS: Mapping[str, dict[str, Any]] = {
    "vectors, at the defaults": {},
    "hybrid, at the defaults": {"hybrid": True},
    "hybrid with contexts, at the defaults": {"hybrid": True, "include_context": True},
}


@dataclass(frozen=True)
class Threshold:
    """How often a question finds nothing, by the raw cosine and by the calibrated similarity."""

    questions: int
    empty_raw: float
    empty_calibrated: float


def asked(mill: Querymill, chosen: MessageSet, fields: Mapping[str, Any]) -> dict[str, MessageResult]:
    """Ask every query of a set, eight at a time."""
    requests = {
        query.query_id: MessageSearch.model_validate(
            {"collection": chosen.name, "query": query.text, "deadline": 120} | filter_fields(query) | dict(fields)
        )
        for query in chosen.queries
    }
    results: dict[str, MessageResult] = {}
    names = list(requests)
    for start in range(0, len(names), 8):
        jobs = {name: mill.submit(requests[name]) for name in names[start : start + 8]}
        results |= {name: job.result(timeout=130) for name, job in jobs.items()}
    return results


def ranking(result: MessageResult) -> dict[str, float]:
    """Score judged ids by their first rank."""
    ids = dict.fromkeys(hit.message_id for hit in result.results if hit.message_id is not None)
    return {message_id: 1 / rank for rank, message_id in enumerate(ids, start=1)}


def ingest(mill: Querymill, chosen: MessageSet, say: Console) -> None:
    """Load a set's sessions; what is there already costs nothing."""
    lines = [GoodLine(number, len(one.model_dump_json()), one) for number, one in enumerate(chosen.sessions, start=1)]
    jobs = pack(lines, LINES.asking(chosen.name))
    failed = [one.reason for one in with_bar(mill, jobs, say, size=sum(line.size for line in lines)) if not one.result]
    assert not failed, failed


def thresholds(mill: Querymill, chosen: MessageSet) -> Threshold:
    """Count empty answers at the default threshold, from the best cosine and the best similarity of each question."""
    best = [result.results[0] for result in asked(mill, chosen, {"similarity_threshold": None, "limit": 1}).values()]
    raw = sum((hit.raw_similarity or 0) < DEFAULT_THRESHOLD for hit in best)
    calibrated = sum(hit.similarity < DEFAULT_THRESHOLD for hit in best)
    return Threshold(len(best), raw / len(best), calibrated / len(best))


def measure(mill: Querymill, folder: Path, name: str, say: Console, *, loaded: bool, variants: Sequence[str]) -> None:
    """Print a set's table."""
    chosen = read_message_set(folder / name, max_sessions=SETS[name])
    if not loaded:
        ingest(mill, chosen, say)
    print(f"{name}: {len(chosen.sessions)} sessions, {len(chosen.queries)} queries", flush=True)
    every = {variant: NO_THRESHOLD | VARIANTS[variant] for variant in variants} | dict(DEFAULTS)
    for variant, fields in every.items():
        results = asked(mill, chosen, fields)
        degraded = sum(not result.complete for result in results.values())
        figures = measure_run({query: ranking(result) for query, result in results.items()}, chosen.qrels)
        print(f"  {variant:<38}{figures} degraded {degraded}", flush=True)
    print(f"  answerable {thresholds(mill, chosen)}", flush=True)
    if (folder / name / "queries_unanswerable.jsonl").exists():
        nothing = read_message_set(folder / name, max_sessions=SETS[name], queries="queries_unanswerable")
        print(f"  unanswerable {thresholds(mill, nothing)}", flush=True)


def main() -> None:
    """Measure every set of the folder."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--data", type=Path, help="keep the embedded stack's data here")
    arguments.add_argument("--set", dest="names", nargs="*", default=list(SETS))
    arguments.add_argument("--variant", nargs="*", default=list(VARIANTS))
    arguments.add_argument("--loaded", action="store_true", help="the sessions are there already")
    chosen = arguments.parse_args()
    say = Console(stderr=True, highlight=False)
    with services(chosen.data, say), Querymill() as mill:
        for name in chosen.names:
            measure(mill, chosen.folder, name, say, loaded=chosen.loaded, variants=chosen.variant)


if __name__ == "__main__":
    main()
