"""``querymill eval compare``: which of two settings, or of two saved runs, is better."""

import json
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.progress import track

from querymill.cli.exits import WrongUse
from querymill.cli.stack import services
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill_evaluation.cli.evaluate_kinds import Sample
from querymill_evaluation.cli.measuring import ask, head_of, ingest_set, known_kind, parse_option, prepared
from querymill_evaluation.comparison import as_figures, compare_runs, in_words
from querymill_evaluation.runs import BadRun, SavedRun, append_outcome, begin_run, read_run

_SIDE = "a saved run's folder, or with --set fields of the request: 'defaults', 'top_n=20 hybrid=true'"


def compare(
    a: Annotated[str, typer.Argument(help=_SIDE)],
    b: Annotated[str, typer.Argument(help="the other one")],
    folder: Annotated[Path | None, typer.Option("--set", help="the set that both settings are measured on")] = None,
    kind: Annotated[str | None, typer.Option(help="with --set: the retriever")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="with --set: number of queries to ask")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="with --set: folder that keeps the embedded stack's data")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Say which of two runs or settings is better, by how much, and how sure that is (paired bootstrap)."""
    try:
        if folder is None:
            compared = compare_runs(_saved("A", a, kind, limit), _saved("B", b, kind, limit))
        else:
            with TemporaryDirectory() as kept:
                settings = (_settings("A", a), _settings("B", b))
                compared = compare_runs(*_measure(folder, kind, settings, limit, data, Path(kept)))
    except BadRun as error:
        raise WrongUse(str(error)) from error
    if as_json:
        echo(json.dumps(as_figures(compared)))
        return
    for sentence in in_words(compared):
        echo(sentence)


def _saved(side: str, name: str, kind: str | None, limit: int | None) -> SavedRun:
    for given, value in (("--kind", kind), ("--limit", limit)):
        if value is not None:
            raise WrongUse(f"{given}: needs --set; a saved run has its own")
    try:
        return read_run(Path(name))
    except BadRun as error:
        raise WrongUse(f"{side}: {error}. To compare settings, give --set SET --kind KIND") from error


def _settings(side: str, text: str) -> dict[str, Any]:
    if text == "defaults":
        return {}
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise WrongUse(f"{side}: {text!r}: {error}") from error
    if not words:
        raise WrongUse(f"{side}: must be name=value, or 'defaults'")
    return dict(parse_option(word, field=side) for word in words)


def _measure(
    folder: Path,
    kind: str | None,
    settings: tuple[dict[str, Any], dict[str, Any]],
    limit: int | None,
    data: Path | None,
    kept: Path,
) -> tuple[SavedRun, SavedRun]:
    """Ingest a set once, and ask its questions with either setting."""
    if kind is None:
        raise WrongUse("--kind: needed with --set, because it names the retriever")
    sample, say = Sample(limit), Console(stderr=True)
    sides = [(options, prepared(folder, known_kind(kind), options, sample)) for options in settings]
    for name, (options, chosen) in zip("ab", sides, strict=True):
        begin_run(kept / name, head_of(chosen, kind, options, sample))
    with services(data, say), Querymill() as mill:
        for _, chosen in sides:  # the second waits for vectors that the first does not search
            ingest_set(mill, chosen, kind, say)
        turns = zip(*(chosen.requests for _, chosen in sides), strict=True)
        for number, turn in enumerate(track(list(turns), "asking", console=say, transient=True)):
            pair = list(zip("ab", sides, turn, strict=True))
            # Who asks second finds the question embedded: either does, every other time.
            for name, (_, chosen), (query_id, request) in pair if number % 2 == 0 else pair[::-1]:
                append_outcome(kept / name, ask(mill, query_id, request, chosen, say), chosen.qrels)
    return read_run(kept / "a"), read_run(kept / "b")
