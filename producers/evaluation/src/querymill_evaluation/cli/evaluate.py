"""``querymill eval``: measure nDCG, recall, MRR, latency and cost of a retriever on a set with judgements."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_evaluation import measures
from querymill_evaluation.cli.compare import compare
from querymill_evaluation.cli.draft import draft
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.feedback import feedback
from querymill_evaluation.cli.measuring import (
    KINDS,
    DataOption,
    ask_set,
    head_of,
    ingest_set,
    known_kind,
    parse_option,
    prepared,
    summed_up,
)
from querymill_evaluation.cli.record import record
from querymill_evaluation.cli.replay import replay
from querymill_evaluation.cli.weights import weights
from querymill_evaluation.runs import BadRun, QueryOutcome

HELP = """Measure a retriever on questions with judgements, draft such questions, and compare two runs.

`querymill eval SET --kind KIND` is short for `querymill eval set SET --kind KIND`."""


class _SetUnlessNamed(typer.core.TyperGroup):
    """A group whose first argument is a set, unless it names a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["set", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands: those of a set, and those of recorded searches."""
    group = typer.Typer(cls=_SetUnlessNamed, help=HELP, no_args_is_help=True)
    group.command("set")(evaluate)
    group.command("draft")(draft)
    group.command("compare")(compare)
    group.command("feedback")(feedback)
    group.command("weights")(weights)
    app.add_typer(group, name="eval")
    app.command("record")(record)
    app.command("replay")(replay)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="folder with corpus.jsonl, queries.jsonl and qrels.tsv")],
    kind: Annotated[str, typer.Option(help=f"retriever to measure: {', '.join(KINDS)}")],
    run_out: Annotated[Path | None, typer.Option(help="file for the rankings, in TREC format")] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="folder for the result of every question; an interrupted run is continued from it"),
    ] = None,
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
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ingest the corpus of a set, ask its queries, and measure the rankings. With --data it is ingested once."""
    options = dict(parse_option(text) for text in option or ())
    sample = Sample(limit, distractors, sessions)
    chosen = prepared(folder, known_kind(kind), options, sample)
    head = head_of(chosen, kind, options, sample)
    say = Console(stderr=True)
    with services(data, say), Querymill() as mill:
        ingest_set(mill, chosen, kind, say)
        try:
            answers = ask_set(mill, chosen, say, head=head, save=save)
        except BadRun as error:
            raise WrongUse(f"--save: {error}") from error
    sampled = {"distractors": distractors, "sessions": sessions}
    given = {name: value for name, value in sampled.items() if value is not None}
    _report(chosen, kind, answers, options | given, run_out, as_json=as_json)


def _report(
    chosen: Evaluation,
    kind: str,
    answers: Sequence[QueryOutcome],
    options: dict[str, Any],
    run_out: Path | None,
    *,
    as_json: bool,
) -> None:
    if run_out is not None:
        run = {answer.query_id: answer.scores for answer in answers}
        run_out.write_text("\n".join(measures.trec_lines(run, tag="querymill")) + "\n", encoding="utf-8")
    figures = {
        "set": chosen.name,
        "kind": kind,
        **dict(summed_up(answers, chosen.qrels, chosen.groups)),
        "options": options,
    }
    if as_json:
        echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            echo(f"{name:<15}{value}")
