"""Measure words alone on evaluation sets: ``python -m tests.quality.measure_words FOLDER_OF_SETS``.

First every score on two sets against a library's, then nDCG@10, recall@10 and MRR@10 of every set, through the
store in PostgreSQL; with ``--variants`` what other tokenisers would give, scored in memory.
"""

import argparse
import functools
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import rjieba

from querymill_embedded import StackPart, temporary_stack
from querymill_evaluation import sets
from querymill_evaluation.measures import measure_run
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.text import words as tokeniser
from querymill_workers.text.words import words as words_of
from querymill_workers.words.ports import Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.quality.oracle import Oracle

SPACE, DEPTH = "units", 100
ONCE = "repetition in queries not counted"


@dataclass(frozen=True)
class Baseline:
    """nDCG@10 that others measured, and which field of a query's metadata filters (`group`)."""

    folder: str
    ndcg: float
    group: str = ""
    kind: str = ""


BASELINES = (
    Baseline("vtkjs_examples", 0.630),
    Baseline("vtkjs_examples", 0.598, kind="commit"),
    Baseline("vtkjs_examples", 0.419, kind="class-doc"),
    Baseline("vtkjs_examples", 0.907, kind="weighted"),
    Baseline("locomo", 0.457, group="conversation_id"),
    Baseline("irc_messages", 0.336, group="session_id"),
    Baseline("irc_threads", 0.587),
    Baseline("dev_sessions", 0.501),
    Baseline("qbqtc_zh", 0.815),
    Baseline("cmrc2018_zh", 0.986),
    Baseline("financebench_pages", 0.292, group="doc_name"),
    Baseline("financebench_pages", 0.148),
    Baseline("tatqa", 0.857, group="doc"),
    Baseline("erc2_routing", 0.986),
    Baseline("code_localisation", 0.706, group="repo"),
    Baseline("cosqa", 0.635),
    Baseline("cranfield", 0.341),
    Baseline("cisi", 0.393),
)


@dataclass(frozen=True)
class WordSet:
    """A set of units and queries."""

    units: Sequence[WordUnit]
    queries: Sequence[sets.SetQuery]
    qrels: Mapping[str, Mapping[str, int]]


def main() -> int:
    """Print the figures as Markdown; 1 when a score differs from the library's."""
    options = _options()
    with temporary_stack(parts={StackPart.POSTGRES}) as stack:
        url = stack.environment()["DATABASE_URL"]
        migrate(url)
        with open_pool(url) as pool:
            words = PostgresWords(pool)
            worst = max(difference(words, options.sets / name) for name in ("cranfield", "cmrc2018_zh"))
            table(words, options.sets)
    if options.variants:
        variants(options.sets)
    return 0 if worst <= 1e-6 else 1


def difference(words: Words, folder: Path) -> float:
    """Compare every score of every query with the library's; return the greatest difference."""
    read = read_set(folder, "")
    put(words, f"golden/{folder.name}", read.units)
    oracle = Oracle({unit.id: words_of(unit.text) for unit in read.units})
    worst, scores = 0.0, 0
    for query in read.queries:
        expected = oracle.scores(words_of(query.text))
        hits = words.search(f"golden/{folder.name}", SPACE, query.text, limit=len(read.units))
        head = words.search(f"golden/{folder.name}", SPACE, query.text, limit=10)
        if {hit.id for hit in hits} != expected.keys() or head != hits[:10]:
            raise SystemExit(f"{folder.name}, query {query.query_id}: other units than the library's, or another head")
        worst = max([worst, *(abs(hit.score - expected[hit.id]) for hit in hits)])
        scores += len(hits)
    print(f"{folder.name}: {len(read.queries)} queries, {scores} scores, greatest difference {worst:.1e}", flush=True)
    return worst


def table(words: Words, folder: Path) -> None:
    """Print a line for every baseline."""
    columns = ("set", "filter", "queries", "nDCG@10", "Recall@10", "MRR@10", "baseline", "difference")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for baseline in BASELINES:
        read = read_set(folder / baseline.folder, baseline.group, kind=baseline.kind)
        collection = f"{baseline.folder}/{baseline.group}"
        put(words, collection, read.units)
        figures = evaluated(read, baseline.group, functools.partial(_searched, words, collection))
        name = f"{baseline.folder}{f', {baseline.kind}' if baseline.kind else ''}"
        shown = " | ".join(f"{figures[measure]:.3f}" for measure in ("ndcg@10", "recall@10", "mrr@10"))
        print(
            f"| {name} | {baseline.group or '–'} | {len(read.queries)} | {shown} | {baseline.ndcg:.3f}"
            f" | {figures['ndcg@10'] - baseline.ndcg:+.3f} |",
            flush=True,
        )


def _searched(words: Words, collection: str, text: str, groups: Sequence[str] | None) -> dict[str, float]:
    return {hit.id: hit.score for hit in words.search(collection, SPACE, text, limit=DEPTH, groups=groups)}


def evaluated(
    read: WordSet, group: str, search: Callable[[str, Sequence[str] | None], dict[str, float]]
) -> dict[str, float]:
    """Ask every query under its filter and measure."""
    run = {}
    for query in read.queries:
        found = search(query.text, [query.metadata[group]] if group else None)
        found.pop(query.metadata.get("exclude_message_id", ""), None)
        run[query.query_id] = found
    return measure_run(run, read.qrels)


def variants(folder: Path) -> None:
    """Print nDCG@10 of other tokenisers on every set."""
    none = re.compile("(?!)")
    choices: dict[str, dict[str, Any]] = {
        "ours": {},
        ONCE: {},
        "no stems": {"stem": lambda word: word},
        "function words kept": {"_FUNCTION_WORDS": frozenset()},
        "neither": {"stem": lambda word: word, "_FUNCTION_WORDS": frozenset()},
        "identifiers not split": {"_parts": lambda name: [name], "_JOINT": none},
        "rjieba": {"_pairs": rjieba.cut},
        "rjieba, for search": {"_pairs": rjieba.cut_for_search},
        "pairs and single characters": {"_pairs": lambda run: [*run, *map("".join, pairwise(run))]},
    }
    print(f"\n| set | {' | '.join(choices)} |\n|---|{'---|' * len(choices)}")
    for baseline in BASELINES:
        chinese = baseline.folder.endswith("_zh")
        if baseline.kind or (baseline.folder == "financebench_pages" and not baseline.group):
            continue
        read = read_set(folder / baseline.folder, baseline.group)
        cells = []
        for name, changes in choices.items():
            apart = name not in ("ours", ONCE) and chinese != ("rjieba" in name or "pairs" in name)
            cells.append("" if apart else f"{_variant(read, baseline.group, changes, once=name == ONCE):.3f}")
        print(f"| {baseline.folder} | {' | '.join(cells)} |", flush=True)


def _variant(read: WordSet, group: str, changes: Mapping[str, Any], *, once: bool) -> float:
    with pytest.MonkeyPatch.context() as patch:
        for name, change in changes.items():
            patch.setattr(tokeniser, name, change)
        tokeniser._of_short.cache_clear()
        oracle = Oracle({unit.id: words_of(unit.text) for unit in read.units})
        groups = {unit.id: unit.group for unit in read.units}

        def search(text: str, wanted: Sequence[str] | None) -> dict[str, float]:
            asked = words_of(text)
            scores = oracle.scores(list(dict.fromkeys(asked)) if once else asked).items()
            kept = [(id_, score) for id_, score in scores if wanted is None or groups[id_] in wanted]
            return dict(sorted(kept, key=lambda item: (-item[1], item[0]))[:DEPTH])

        return evaluated(read, group, search)["ndcg@10"]


def put(words: Words, collection: str, units: Sequence[WordUnit]) -> None:
    """Index units, some at a time."""
    for start in range(0, len(units), 200):
        words.put(collection, SPACE, units[start : start + 200])


def read_set(folder: Path, group: str, *, kind: str = "") -> WordSet:
    """Read a set: title and text of every document, the judged queries (of one kind)."""
    qrels = sets.read_qrels(folder / "qrels.tsv")
    units = [
        WordUnit(
            line["_id"], f"{line.get('title') or ''} {line['text']}", str(line["metadata"][group]) if group else ""
        )
        for _, line in sets.read_lines(folder, "corpus")
    ]
    queries = [
        sets.SetQuery(line["_id"], line["text"], line.get("metadata") or {})
        for _, line in sets.read_lines(folder, "queries")
        if line["_id"] in qrels and kind in ("", (line.get("metadata") or {}).get("kind"))
    ]
    return WordSet(units, queries, qrels)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", type=Path, help="the folder of the evaluation sets")
    parser.add_argument("--variants", action="store_true", help="measure other tokenisers too")
    return parser.parse_args()


if __name__ == "__main__":
    started = time.perf_counter()
    code = main()
    print(f"\n{time.perf_counter() - started:.0f} s")
    sys.exit(code)
