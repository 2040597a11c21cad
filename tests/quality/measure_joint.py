"""One question over everything, without saying which: ``python -m tests.quality.measure_joint FOLDER_OF_SETS``.

One set of each kind is ingested into one embedded stack, cut to some questions as `make eval` cuts its samples. Each
question is asked of its own retriever alone, as the search of everything would ask it; of everything, as a caller asks
who names nothing; and of everything at once, without a choice of what is asked first. Of the questions whose own
retriever has the gold among its first ten, the share is counted for which the search of everything has it there, too.

The reported half is that of `search.md`: by a hash, so that a rule can be chosen on the other half. ``--data`` keeps
the stack for another run, and ``--out`` a line of JSON for each question. How long a search takes is measured by
`querymill bench joint`.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from querymill import Querymill, Search, SearchResult
from querymill.cli.stack import services
from querymill.cli.terminal import Console
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.measuring import ingest_set, prepared
from querymill_shared.contracts.kinds import RESULTS
from tests.quality.samples import sampled
from tests.quality.stages import SETS

#: The set of each kind.
UNITED: Final = ("vtkjs_examples", "code_localisation", "irc_threads", "tatqa", "locomo")
DEPTH: Final = 10
DEADLINE_S: Final = 60.0
Row = dict[str, Any]


def main() -> None:
    """Ingest, ask, and print the shares and the medians."""
    options = _options()
    say = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder, services(options.data, say), Querymill() as mill:
        made = {kind: prepared(cut, kind, {}, Sample()) for kind, cut in _cut(options, Path(folder))}
        held = mill.collections()
        for kind, chosen in made.items():
            if not all(kind in held.get(name, ()) for name in chosen.documents):
                ingest_set(mill, chosen, kind, say)
        rows = list[Row]()
        with suppress(KeyboardInterrupt):  # what was measured until then is reported
            for row in _asked(mill, made, say):
                rows.append(row)
                if options.out is not None:
                    with options.out.open("a", encoding="utf-8") as lines:
                        lines.write(json.dumps(row) + "\n")
    print("\n".join(report(rows)))


def _cut(options: argparse.Namespace, target: Path) -> Iterator[tuple[str, Path]]:
    for name in UNITED:
        chosen = next(each for each in SETS if each.folder == name)
        yield chosen.kind, sampled(chosen, options.sets / name, target, options.questions)


def _asked(mill: Querymill, made: Mapping[str, Evaluation], say: Console) -> Iterator[Row]:
    """Ask one question of each set in turn, so that what was measured of an interrupted run is of all of them."""
    for place in range(max(len(chosen.requests) for chosen in made.values())):
        for kind, chosen in made.items():
            for query_id, request in chosen.requests[place : place + 1]:
                gold = {id_ for id_, grade in chosen.qrels[query_id].items() if grade > 0}
                yield ask(mill, f"{kind}/{request.collection}", request.query, chosen, gold) | {"query_id": query_id}
        say.print(f"{place + 1} questions of each set")


def ask(mill: Querymill, own: str, query: str, chosen: Evaluation, gold: set[str]) -> Row:
    """Ask its own retriever, everything, and everything at once."""
    every = sorted(f"{kind}/{name}" for name, kinds in mill.collections().items() for kind in kinds)
    alone: Any = answered(mill, _search(query, own).search_of(own))
    routed, whole = answered(mill, _search(query)), answered(mill, _search(query, *every))
    return {
        "own": own.partition("/")[0],
        "query": query,
        "is_found_alone": bool(gold & set(chosen.scores(alone))),
        "is_found": bool(gold & _judged(routed, own, chosen)),
        "is_found_at_once": bool(gold & _judged(whole, own, chosen)),
        "branches": len(routed.branches),
        "asked": sum(branch.state != "spared" for branch in routed.branches),
        "is_routed": routed.routing is not None,
        "lacks": [part.stage for result in (alone, routed, whole) for part in result.degraded],
    }


def _search(query: str, *branches: str) -> Search:
    return Search(query=query, branches=branches, top_k=DEPTH, deadline=DEADLINE_S)


def answered(mill: Querymill, request: Any) -> Any:
    """Return the result of a search."""
    return mill.submit(request).result(timeout=DEADLINE_S + 10)


def _judged(result: SearchResult, own: str, chosen: Evaluation) -> set[str]:
    """Return the judged ids of the first hits that are of its own retriever."""
    kind, _, name = own.partition("/")
    hits = tuple(hit.hit for hit in result.results[:DEPTH] if (hit.kind, hit.collection) == (kind, name))
    return set(chosen.scores(RESULTS[kind].model_construct(collection=name, results=hits)))


def report(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table: the shares of each kind on both halves, and what was saved."""
    yield "| questions of | chosen on | at once | reported | at once |\n|---|---|---|---|---|"
    for own in (*dict.fromkeys(row["own"] for row in rows), "all"):
        cells = []
        for half in (0, 1):
            counted = [
                row for row in rows
                if row["is_found_alone"] and own in (row["own"], "all") and half_of(row["query_id"]) == half
            ]  # fmt: skip
            cells += [_share(counted, "is_found") + f" ({len(counted)})", _share(counted, "is_found_at_once")]
        yield f"| {own} | {' | '.join(cells)} |"
    lost = [row["query"] for row in rows if row["is_found_at_once"] and not row["is_found"]]
    won = [row["query"] for row in rows if row["is_found"] and not row["is_found_at_once"]]
    asked, branches = sum(row["asked"] for row in rows), sum(row["branches"] for row in rows)
    routed = [row for row in rows if row["is_routed"]]
    after_all = sum(row["asked"] == row["branches"] for row in routed)
    yield f"routed: {len(routed)} of {len(rows)}, of which the others were asked after all: {after_all}"
    yield f"branches spared: {1 - asked / branches:.3f}; gold lost {len(lost)}, won {len(won)}"
    yield from (f"  lost: {query}" for query in lost)
    yield f"questions with an incomplete search: {sum(bool(row['lacks']) for row in rows)}"


def half_of(query_id: str) -> int:
    """Return which half a question belongs to: 0, on which rules may be chosen, or 1, which is reported."""
    return int(hashlib.sha256(query_id.encode()).hexdigest(), 16) % 2


def _share(rows: Sequence[Row], name: str) -> str:
    return f"{sum(row[name] for row in rows) / len(rows):.3f}" if rows else "–"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, help="the folder of the evaluation sets")
    parser.add_argument("--questions", type=int, default=60, help="questions of each set (default: 60)")
    parser.add_argument("--data", type=Path, help="folder that keeps the stack (default: a temporary one)")
    parser.add_argument("--out", type=Path, help="file for a line of JSON for each question")
    return parser.parse_args()


if __name__ == "__main__":
    main()
