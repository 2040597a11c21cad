"""``querymill batch``: ask many questions from a file; run again, it asks those that have no result yet."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from querymill.cli.bulk.batch_search import Answered, BatchQuestion, ResultsFile, ask_all, read_questions
from querymill.cli.exits import Exit, WrongUse, why_unusable
from querymill.cli.kinds import kind_named
from querymill.cli.labels import LabelOption, read_labels
from querymill.cli.progress import progress_bar
from querymill.cli.search import search_of
from querymill.cli.terminal import Console, echo
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import BadLine
from querymill.ingesting.kinds import NAMES


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(batch)


def batch(
    kind: Annotated[str, typer.Argument(help=f"what is searched: {NAMES}")],
    path: Annotated[Path, typer.Argument(help='a file of JSON lines: {"query", …}, and "_id" if you like')],
    collection: Annotated[str, typer.Option(help="the collection to search")],
    out: Annotated[Path, typer.Option(help='append {"_id", "job_id", "result"} to this file')],
    in_flight: Annotated[int, typer.Option(min=1, max=1_000, help="searches under way at a time")] = 50,
    label: LabelOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ask many questions, as fast as the limits allow. Results come in the order in which they are ready."""
    name, console = kind_named(kind).name, Console(stderr=True)
    try:
        lines = list(read_questions(path, name, collection, search_of))
    except OSError as error:
        raise WrongUse(f"path: {why_unusable(error)}") from error
    bad = [line for line in lines if isinstance(line, BadLine)]
    questions = [line for line in lines if isinstance(line, BatchQuestion)]
    for line in bad:
        console.print(f"line {line.number}: {line.reason}", style="red", markup=False)
    if not questions:
        raise WrongUse(f"path: {path} holds no line that can be asked")
    labels = read_labels(label)
    with _opened(out) as file, Querymill() as mill:
        missing = [question for question in questions if not file.holds(question)]
        failed = 0
        for answered in _shown(ask_all(mill.labelled(labels), missing, in_flight=in_flight), len(missing), console):
            file.write(answered)
            if answered.result is None:
                failed += 1
                console.print(f"{answered.question.id}: {answered.reason}", style="red", markup=False)
    counts = {
        "questions": len(questions), "answered": len(missing) - failed,
        "there_already": len(questions) - len(missing), "failed": failed, "bad_lines": len(bad),
    }  # fmt: skip
    echo(json.dumps(counts) if as_json else told(counts))
    if failed or bad:
        raise typer.Exit(Exit.FAILED)


def told(counts: Mapping[str, int]) -> str:
    """Say how many questions ended in which way."""
    return ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in counts.items())


def _shown(answers: Iterable[Answered], total: int, console: Console) -> Iterator[Answered]:
    with progress_bar(console=console) as bar:
        task = bar.add_task("asking", total=total)
        for answered in answers:
            yield answered
            bar.advance(task)


def _opened(out: Path) -> ResultsFile:
    try:
        return ResultsFile(out)
    except OSError as error:
        raise WrongUse(f"--out: {why_unusable(error)}") from error
