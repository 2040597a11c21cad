"""What the commands that measure have in common: a set is ingested, its questions are asked, outcomes are summed up."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import track

from querymill.cli.exits import WrongUse
from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.client.transport import RETRIEVERS
from querymill_evaluation import measures, runs
from querymill_evaluation.cli.evaluate_files import prepare_files
from querymill_evaluation.cli.evaluate_kinds import PREPARED, Evaluation, Sample
from querymill_evaluation.runs import QueryOutcome, RunHead
from querymill_evaluation.sets import BadSet
from querymill_shared.calibration import percentile
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.vectors import WeighVectors

DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="folder that keeps the embedded stack's data (default: a temporary one)"),
]
KINDS: Final = PREPARED | {"files": prepare_files}
#: Fields of requests that are lists: a single value is a list of one.
_LISTS: Final = ("multi_query", "documents", "channels")
#: Seconds until all passages must have their vectors, and between two looks.
_VECTORS_S: Final = 3_600
_LOOK_S: Final = 1.0


def known_kind(kind: str) -> str:
    """Return a kind that can be measured.

    Raises:
        WrongUse: There is none of this name.
    """
    if kind not in KINDS:
        raise WrongUse(f"--kind: {kind!r} is not one of: {', '.join(KINDS)}")
    return kind


def prepared(folder: Path, kind: str, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for a kind.

    Raises:
        WrongUse: The folder is not such a set, or it has no judged question.
    """
    try:
        chosen = KINDS[known_kind(kind)](folder, options, sample)
    except BadSet as error:
        raise WrongUse(str(error)) from error
    if not chosen.requests:
        raise WrongUse(f"{folder}: qrels.tsv must judge at least one question of queries.jsonl")
    return chosen


def head_of(chosen: Evaluation, kind: str, options: Mapping[str, Any], sample: Sample, release: str = "") -> RunHead:
    """Return the head under which the outcomes of a set are saved."""
    asked = [(query_id, request.query) for query_id, request in chosen.requests]
    cut = {"limit": sample.queries, "distractors": sample.distractors, "sessions": sample.sessions}
    return RunHead(
        set=chosen.name,
        kind=kind,
        options=dict(options),
        sampled={name: value for name, value in cut.items() if value is not None},
        questions=runs.fingerprint(asked, chosen.qrels),
        asked=len(asked),
        release=release,
    )


def ingest_set(mill: Querymill, chosen: Evaluation, kind: str, say: Console) -> None:
    """Ingest a set, and wait for what follows its ingestion."""
    parcels = chosen.parcels()
    size = sum(parcel.size for parcel in parcels)
    failed = [lost for lost in with_bar(mill, iter(parcels), say, size=size) if lost.result is None]
    for outcome in failed:
        say.print(f"not ingested: {outcome.document}: {outcome.reason}", style="red")
    if kind != "files":  # it waits by itself, if its vectors are searched
        await_vectors(mill, kind, {request.collection for _, request in chosen.requests})
    chosen.prepare_collection(mill)
    weigh_vectors(mill, kind, chosen)


def weigh_vectors(mill: Querymill, kind: str, chosen: Evaluation) -> None:
    """Have the vectors weighed, and wait for it, so that every question is asked with the same weight."""
    for collection in sorted({request.collection for _, request in chosen.requests}):
        request = WeighVectors(collection=collection, retriever=_retriever(kind))
        try:
            mill.submit(request).result(timeout=_VECTORS_S)
        except JobFailed:
            continue  # it has no vectors


def await_vectors(mill: Querymill, kind: str, collections: set[str]) -> None:
    """Wait until no passage lacks its vector: figures of a partly embedded collection would be too low.

    Raises:
        WrongUse: Some have none in time.
    """
    until = time.monotonic() + _VECTORS_S
    for collection in sorted(collections):
        while (pending := _pending(mill, kind, collection)) > 0:
            if time.monotonic() > until:
                raise WrongUse(f"{collection}: {pending} passages have no vector after {_VECTORS_S} s")
            time.sleep(_LOOK_S)


def _retriever(kind: str) -> Retriever:
    return next(retriever for retriever in RETRIEVERS if retriever == kind)


def _pending(mill: Querymill, kind: str, collection: str) -> int:
    retriever = _retriever(kind)
    cursor, pending = None, 0
    while True:
        page = mill.list(retriever, collection=collection, limit=1_000, cursor=cursor)
        pending += sum(card.pending for card in page.documents)
        cursor = page.cursor
        if cursor is None:
            return pending


def ask_set(
    mill: Querymill, chosen: Evaluation, say: Console, *, head: RunHead | None = None, save: Path | None = None
) -> list[QueryOutcome]:
    """Ask the questions of a set, one after the other; with ``save``, only those that the run there lacks.

    Raises:
        BadRun: The folder holds another run.
    """
    known: Mapping[str, QueryOutcome] = {}
    if save is not None and head is not None:
        known = runs.begin_run(save, head).outcomes
    found = dict(known)
    missing = [(query_id, request) for query_id, request in chosen.requests if query_id not in known]
    for query_id, request in track(missing, "asking", console=say, transient=True):
        found[query_id] = ask(mill, query_id, request, chosen, say)
        if save is not None:
            runs.append_outcome(save, found[query_id], chosen.qrels)
    return [found[query_id] for query_id, _ in chosen.requests]


def ask(mill: Querymill, query_id: str, request: KindSearch, chosen: Evaluation, say: Console) -> QueryOutcome:
    """Ask one question; a question that fails finds nothing, and is named."""
    started = time.perf_counter()
    try:
        job: Job[Any] = mill.submit(request)
        result = job.result(timeout=request.deadline + 10)
    except JobFailed as error:
        say.print(f"{query_id}: {error.reason}", style="red")
        return QueryOutcome(query_id, {}, (time.perf_counter() - started) * 1000, 0, 0, degraded=True)
    ms = (time.perf_counter() - started) * 1000
    return QueryOutcome(
        query_id, chosen.scores(result), ms, result.usage["provider_calls"], result.usage["tokens"],
        degraded=not result.complete, figures=chosen.figures(query_id, result),
    )  # fmt: skip


def summed_up(
    answers: Sequence[QueryOutcome], qrels: Mapping[str, Mapping[str, int]], groups: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    """Yield the figures of a run: the measures, those that only this kind has, and the cost."""
    run = {answer.query_id: answer.scores for answer in answers}
    yield "queries", len(answers)
    yield from measures.measure_run(run, qrels).items()
    if len(set(groups.values())) > 1:
        yield "groups", _measure_groups(run, qrels, groups)
    yield from _average([answer.figures for answer in answers]).items()
    times = [answer.ms for answer in answers]
    yield "p50_ms", round(percentile(times, 50), 1)
    yield "p95_ms", round(percentile(times, 95), 1)
    yield "provider_calls", sum(answer.calls for answer in answers)
    yield "tokens", sum(answer.tokens for answer in answers)
    yield "degraded", sum(answer.degraded for answer in answers)


def _measure_groups(
    run: measures.Run, qrels: Mapping[str, Mapping[str, int]], groups: Mapping[str, str]
) -> dict[str, float]:
    """Measure nDCG@10 for each group of queries."""
    parts: dict[str, dict[str, Mapping[str, float]]] = {}
    for query_id, scores in run.items():
        if query_id in groups:
            parts.setdefault(groups[query_id], {})[query_id] = scores
    return {group: measures.measure_run(part, qrels)["ndcg@10"] for group, part in sorted(parts.items())}


def _average(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average the further figures of a kind over all queries; a query that failed counts as 0."""
    names = dict.fromkeys(name for query in figures for name in query)
    return {name: round(sum(query.get(name, 0.0) for query in figures) / len(figures), 3) for name in names}


def parse_option(text: str, *, field: str = "--option") -> tuple[str, Any]:
    """Read ``name=value``; the value is JSON, a list of words with commas, or a word.

    Raises:
        WrongUse: It has no name or no value.
    """
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise WrongUse(f"{field}: {text!r} is not name=value")
    typed = _parse_value(value.strip())
    return name.strip(), [typed] if name in _LISTS and isinstance(typed, str) else typed


def _parse_value(value: str) -> Any:
    read: Callable[[str], Any] = json.loads
    try:
        return read(value)
    except ValueError:
        return value.split(",") if "," in value else value
