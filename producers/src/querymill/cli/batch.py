"""``querymill batch``: ask many questions from a file; run again, it asks those that have no result yet."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from querymill.cli import search_all
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
from querymill_shared.contracts.search import AnySearch, Search


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(batch)


def batch(
    kind: Annotated[str, typer.Argument(help=f"what is searched: {NAMES}, or all")],
    path: Annotated[Path, typer.Argument(help='a file of JSON lines: {"query", …}, and "_id" if you like')],
    out: Annotated[Path, typer.Option(help='append {"_id", "job_id", "result"} to this file')],
    collection: Annotated[
        str | None, typer.Option(help="the collection to search; with all, every collection if none is named")
    ] = None,
    in_flight: Annotated[int, typer.Option(min=1, max=1_000, help="searches under way at a time")] = 50,
    label: LabelOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Ask many questions, as fast as the limits allow. Results come in the order in which they are ready."""
    console = Console(stderr=True)
    try:
        lines = list(read_questions(path, fixed_fields(kind, collection), searching(kind)))
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


def fixed_fields(kind: str, collection: str | None) -> dict[str, Any]:
    """Return the fields that each question of a batch has in common.

    Raises:
        WrongUse: There is no such kind, or it needs a collection.
    """
    if kind == search_all.NAME:
        return {"kind": "search"} | ({} if collection is None else {"collections": [collection]})
    name = kind_named(kind).name
    if collection is None:
        raise WrongUse("--collection: name the collection to search")
    return {"kind": name, "collection": collection}


def searching(kind: str) -> Callable[[dict[str, Any]], AnySearch]:
    """Return what makes the request of a question."""
    return Search.model_validate if kind == search_all.NAME else search_of


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
