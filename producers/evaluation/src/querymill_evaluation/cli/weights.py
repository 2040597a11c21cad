"""``querymill eval weights``: propose the weights that suit a collection, by its judged questions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track

from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.client.transport import RETRIEVERS
from querymill_evaluation import measures
from querymill_evaluation.cli.evaluate_kinds import Evaluation, Sample
from querymill_evaluation.cli.measuring import DataOption, ask, ingest_set, prepared
from querymill_evaluation.comparison import DECIDES
from querymill_evaluation.weights import MIN_QUESTIONS, TRIED, Options, in_words, propose


def weights(
    folder: Annotated[Path, typer.Argument(help="the set, such as one that `querymill eval feedback` made")],
    kind: Annotated[str, typer.Option(help=f"retriever: {', '.join(RETRIEVERS)}")],
    limit: Annotated[
        int | None, typer.Option(min=MIN_QUESTIONS, help="number of queries to ask (default: all)")
    ] = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Propose weights of a search: chosen on half of the questions, tested on the others. Nothing is changed."""
    retriever = next((retriever for retriever in RETRIEVERS if retriever == kind), None)
    if retriever is None:
        raise WrongUse(f"--kind: {kind!r} is not one of: {', '.join(RETRIEVERS)}")
    sides = [(options, prepared(folder, kind, options, Sample(limit))) for options in ({}, *TRIED[retriever])]
    questions = len(sides[0][1].requests)
    if questions < MIN_QUESTIONS:
        raise WrongUse(f"{folder}: must have at least {MIN_QUESTIONS} judged questions, has {questions}")
    say = Console(stderr=True)
    with services(data, say), Querymill() as mill:
        default = sides[0][1]
        for _, chosen in sides:
            if chosen is default or chosen.lines != default.lines:  # such as files whose vectors are searched
                ingest_set(mill, chosen, kind, say)
        (_, defaults), *tried = [(options, values_of(mill, chosen, options, say)) for options, chosen in sides]
    proposal = propose(defaults, tried)
    if not as_json:
        for sentence in in_words(proposal):
            echo(sentence)
        return
    found = proposal.difference
    figures: dict[str, Any] = {
        "questions": questions, "options": dict(proposal.options), "is_worth_it": proposal.is_worth_it,
        "mean": found.mean, "low": found.low, "high": found.high, "in_words": in_words(proposal),
    }  # fmt: skip
    echo(json.dumps(figures))


def values_of(mill: Querymill, chosen: Evaluation, options: Options, say: Console) -> Mapping[str, float]:
    """Ask the questions of a set with some options. Return nDCG@10 of each."""
    named = ", ".join(f"{name}={value}" for name, value in options.items()) or "the defaults"
    values = {}
    for query_id, request in track(chosen.requests, named, console=say, transient=True):
        found = ask(mill, query_id, request, chosen, say)
        values[query_id] = measures.measure_run({query_id: found.scores}, chosen.qrels, digits=6)[DECIDES]
    return values
