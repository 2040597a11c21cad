"""``querymill eval``: nDCG, recall, MRR, latency and cost of a retriever on a set with judgements."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track

from querymill.cli import ingest as ingest_command
from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.client import Querymill
from querymill.evaluation import measures
from querymill.evaluation.message_sets import MessageSet, message_fields, read_message_set
from querymill.evaluation.sets import BadSet, ReportSet, Routing, read_report_set, request_fields
from querymill.ingestion import GoodLine, Q
from querymill_shared.contracts.errors import JobFailed
from querymill_shared.contracts.jobs import decode_request
from querymill_shared.contracts.messages import IngestSession, MessageResult, MessageSearch
from querymill_shared.contracts.reports import IngestReport, ReportResult, ReportSearch

_ROUTINGS = ("documents", "given", "question")


@dataclass(frozen=True, slots=True)
class Plan:
    """A set of one kind: what is ingested, what is asked, and how a result's hits become judged ids."""

    name: str
    lines: Sequence[GoodLine[Any]]
    requests: Sequence[tuple[str, ReportSearch | MessageSearch]]
    qrels: measures.Qrels
    scores: Callable[[Any], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Answered:
    """One query's ranking (judged id → score), and what it took."""

    query_id: str
    scores: dict[str, float]
    ms: float
    calls: int
    tokens: int
    degraded: bool


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="a folder with corpus, queries and qrels")],
    kind: Annotated[str, typer.Option(help="which retriever: reports, messages")],
    run_out: Annotated[Path | None, typer.Option(help="write the rankings there, in TREC format")] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="a request field as name=value; routing=documents|given|question")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="ask only this many queries, the same each time")] = None,
    distractors: Annotated[
        int | None, typer.Option(min=0, help="ingest only the judged pages and this many others of each report")
    ] = None,
    sessions: Annotated[int | None, typer.Option(min=1, help="messages: only the first so many sessions")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="keep the embedded stack's data here")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ingest the set's corpus (once, with --data), ask its queries, and measure."""
    options = dict(_pair(text) for text in option or ())
    try:
        plan = _planned(kind, folder, options, limit=limit, distractors=distractors, sessions=sessions)
    except BadSet as error:
        raise WrongUse(str(error)) from error
    say = Console(stderr=True, highlight=False)
    with services(data, say), Querymill() as mill:
        failed = [outcome for outcome in ingest_command.follow(mill, plan.lines, say) if outcome.result is None]
        for outcome in failed:
            say.print(f"not ingested: {outcome.document}: {outcome.reason}", style="red", markup=False)
        answers = [
            _ask(mill, query_id, request, plan)
            for query_id, request in track(plan.requests, "asking", console=say, transient=True)
        ]
    sampled = {"distractors": distractors, "sessions": sessions}
    given = {name: value for name, value in sampled.items() if value is not None}
    _report(plan, kind, answers, options | given, run_out, as_json=as_json)


def _planned(
    kind: str, folder: Path, options: dict[str, Any], *, limit: int | None, distractors: int | None,
    sessions: int | None,
) -> Plan:  # fmt: skip
    match kind:
        case "reports":
            return _reports(read_report_set(folder, most_queries=limit, distractors=distractors), options)
        case "messages":
            return _messages(read_message_set(folder, most_queries=limit, most_sessions=sessions), options)
        case _:
            raise WrongUse(f"--kind: {kind!r} is not one of: reports, messages")


def _reports(chosen: ReportSet, options: dict[str, Any]) -> Plan:
    lines = [
        _line(number, IngestReport(collection=chosen.name, report=report))
        for number, report in enumerate(chosen.reports, start=1)
    ]
    return Plan(
        chosen.name, lines, list(_requests(chosen, options)), chosen.qrels, lambda result: _scores(result, chosen)
    )


def _messages(chosen: MessageSet, options: dict[str, Any]) -> Plan:
    """Ask each query in its session, without a threshold: rankings are compared, not answers."""
    lines = [
        _line(number, IngestSession(collection=chosen.name, session=session))
        for number, session in enumerate(chosen.sessions, start=1)
    ]
    asked = {"collection": chosen.name, "limit": 20, "similarity_threshold": None}
    requests = [
        (
            query.query_id,
            MessageSearch.model_validate(asked | {"query": query.text} | message_fields(query) | options),
        )
        for query in chosen.queries
    ]
    return Plan(chosen.name, lines, requests, chosen.qrels, _message_scores)


def _message_scores(result: MessageResult) -> dict[str, float]:
    # A message and its context are one judged id: the better rank counts.
    ranked = dict.fromkeys(hit.message_id for hit in result.results if hit.message_id is not None)
    return {message_id: 1.0 / rank for rank, message_id in enumerate(ranked, start=1)}


def _requests(chosen: ReportSet, options: dict[str, Any]) -> Iterator[tuple[str, ReportSearch]]:
    routing: Routing | None = options.get("routing")
    if routing is not None and routing not in _ROUTINGS:
        raise WrongUse(f"--option routing: {routing!r} is not one of: {', '.join(_ROUTINGS)}")
    fields = {name: value for name, value in options.items() if name != "routing"}
    for query in chosen.queries:
        asked = {
            "kind": "reports",
            "collection": chosen.name,
            "query": query.text,
            "return_parent_pages": True,
        }
        request = decode_request(json.dumps(asked | request_fields(query, routing) | fields))
        assert isinstance(request, ReportSearch)  # noqa: S101  # the kind says so
        yield query.query_id, request


def _ask(mill: Querymill, query_id: str, request: ReportSearch | MessageSearch, plan: Plan) -> Answered:
    started = time.perf_counter()
    try:
        result = mill.submit(request).result(timeout=request.deadline + 10)
    except JobFailed as error:
        Console(stderr=True).print(f"{query_id}: {error.reason}", style="red", markup=False)
        return Answered(query_id, {}, (time.perf_counter() - started) * 1000, 0, 0, degraded=True)
    ms = (time.perf_counter() - started) * 1000
    return Answered(
        query_id, plan.scores(result), ms, result.usage["provider_calls"], result.usage["tokens"],
        degraded=not result.complete,
    )  # fmt: skip


def _scores(result: ReportResult, chosen: ReportSet) -> dict[str, float]:
    # Scores are shown rounded; the rank keeps the order among equals.
    return {
        chosen.corpus_ids[hit.document, hit.page]: hit.score - rank * 1e-9 for rank, hit in enumerate(result.results)
    }


def _report(
    plan: Plan,
    kind: str,
    answers: list[Answered],
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
        "set": plan.name,
        "kind": kind,
        "queries": len(answers),
        **measures.measured(run, plan.qrels),
        "p50_ms": round(measures.percentile(times, 50), 1),
        "p95_ms": round(measures.percentile(times, 95), 1),
        "provider_calls": sum(answer.calls for answer in answers),
        "tokens": sum(answer.tokens for answer in answers),
        "degraded": sum(answer.degraded for answer in answers),
        "options": options,
    }
    if as_json:
        typer.echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            typer.echo(f"{name:<15}{value}")


def _line(number: int, request: Q) -> GoodLine[Q]:
    return GoodLine(number, len(request.model_dump_json()), request)


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise WrongUse(f"--option: {text!r} is not name=value")
    typed = _typed(value.strip())
    lists = ("multi_query", "documents")
    return name.strip(), [typed] if name in lists and isinstance(typed, str) else typed


def _typed(value: str) -> Any:
    read: Callable[[str], Any] = json.loads
    try:
        return read(value)
    except ValueError:
        return value.split(",") if "," in value else value
