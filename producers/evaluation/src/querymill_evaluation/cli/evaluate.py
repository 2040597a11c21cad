"""``querymill eval``: measure nDCG, recall, MRR, latency and cost of a retriever on a set with judgements."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track

from querymill.cli import ingest as ingest_command
from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.job import Job
from querymill_evaluation import measures
from querymill_evaluation.cli.evaluate_files import prepare_files
from querymill_evaluation.cli.evaluate_kinds import PREPARED, Evaluation, Sample
from querymill_evaluation.sets import BadSet
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.jobs import Search

KINDS = PREPARED | {"files": prepare_files}


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The ranking of one query (judged id → score), and what it cost; ``figures`` are measured for its kind alone."""

    query_id: str
    scores: dict[str, float]
    ms: float
    calls: int
    tokens: int
    degraded: bool
    figures: Mapping[str, float] = field(default_factory=dict)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="folder with corpus.jsonl, queries.jsonl and qrels.tsv")],
    kind: Annotated[str, typer.Option(help=f"retriever to measure: {', '.join(KINDS)}")],
    run_out: Annotated[Path | None, typer.Option(help="file for the rankings, in TREC format")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="field of every request, as name=value; for reports also routing=documents|given|question"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="number of queries to ask, the same each time (default: all)")
    ] = None,
    distractors: Annotated[
        int | None, typer.Option(min=0, help="ingest only the judged pages of each report, and this many others")
    ] = None,
    sessions: Annotated[
        int | None, typer.Option(min=1, help="ingest only this many sessions, and ask only about them")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="folder that keeps the embedded stack's data (default: a temporary one)"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ingest the corpus of a set, ask its queries, and measure the rankings. With --data it is ingested once."""
    if kind not in KINDS:
        raise WrongUse(f"--kind: {kind!r} is not one of: {', '.join(KINDS)}")
    options = dict(_parse_option(text) for text in option or ())
    try:
        chosen = KINDS[kind](folder, options, Sample(limit, distractors, sessions))
    except BadSet as error:
        raise WrongUse(str(error)) from error
    say = Console(stderr=True)
    with services(data, say), Querymill() as mill:
        failed = [outcome for outcome in ingest_command.follow(mill, chosen.lines, say) if outcome.result is None]
        for outcome in failed:
            say.print(f"not ingested: {outcome.document}: {outcome.reason}", style="red")
        chosen.prepare_collection(mill)
        answers = [
            _ask(mill, query_id, request, chosen)
            for query_id, request in track(chosen.requests, "asking", console=say, transient=True)
        ]
    sampled = {"distractors": distractors, "sessions": sessions}
    given = {name: value for name, value in sampled.items() if value is not None}
    _report(chosen, kind, answers, options | given, run_out, as_json=as_json)


def _ask(mill: Querymill, query_id: str, request: Search, chosen: Evaluation) -> QueryOutcome:
    started = time.perf_counter()
    try:
        job: Job[Any] = mill.submit(request)
        result = job.result(timeout=request.deadline + 10)
    except JobFailed as error:
        Console(stderr=True).print(f"{query_id}: {error.reason}", style="red")
        return QueryOutcome(query_id, {}, (time.perf_counter() - started) * 1000, 0, 0, degraded=True)
    ms = (time.perf_counter() - started) * 1000
    return QueryOutcome(
        query_id, chosen.scores(result), ms, result.usage["provider_calls"], result.usage["tokens"],
        degraded=not result.complete, figures=chosen.figures(query_id, result),
    )  # fmt: skip


def _report(
    chosen: Evaluation,
    kind: str,
    answers: list[QueryOutcome],
    options: dict[str, Any],
    run_out: Path | None,
    *,
    as_json: bool,
) -> None:
    run = {answer.query_id: answer.scores for answer in answers}
    if run_out is not None:
        run_out.write_text("\n".join(measures.trec_lines(run, tag="querymill")) + "\n", encoding="utf-8")
    times = [answer.ms for answer in answers]
    figures = {
        "set": chosen.name,
        "kind": kind,
        "queries": len(answers),
        **measures.measure_run(run, chosen.qrels),
        **({"groups": _measure_groups(run, chosen)} if len(set(chosen.groups.values())) > 1 else {}),
        **_average([answer.figures for answer in answers]),
        "p50_ms": round(measures.percentile(times, 50), 1),
        "p95_ms": round(measures.percentile(times, 95), 1),
        "provider_calls": sum(answer.calls for answer in answers),
        "tokens": sum(answer.tokens for answer in answers),
        "degraded": sum(answer.degraded for answer in answers),
        "options": options,
    }
    if as_json:
        echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            echo(f"{name:<15}{value}")


def _measure_groups(run: measures.Run, chosen: Evaluation) -> dict[str, float]:
    """Measure nDCG@10 for each group of queries."""
    groups: dict[str, dict[str, Mapping[str, float]]] = {}
    for query_id, scores in run.items():
        if query_id in chosen.groups:
            groups.setdefault(chosen.groups[query_id], {})[query_id] = scores
    return {group: measures.measure_run(part, chosen.qrels)["ndcg@10"] for group, part in sorted(groups.items())}


def _average(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Average the further figures of a kind over all queries; a query that failed counts as 0."""
    names = dict.fromkeys(name for query in figures for name in query)
    return {name: round(sum(query.get(name, 0.0) for query in figures) / len(figures), 3) for name in names}


def _parse_option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise WrongUse(f"--option: {text!r} is not name=value")
    typed = _parse_value(value.strip())
    lists = ("multi_query", "documents", "channels")
    return name.strip(), [typed] if name in lists and isinstance(typed, str) else typed


def _parse_value(value: str) -> Any:
    read: Callable[[str], Any] = json.loads
    try:
        return read(value)
    except ValueError:
        return value.split(",") if "," in value else value
