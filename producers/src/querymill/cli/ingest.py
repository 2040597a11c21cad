"""``querymill ingest``: load a file of documents, with progress; documents that are stored already cost nothing."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from querymill.cli.exits import Exit, WrongUse
from querymill.cli.progress import with_bar
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.ingestion import BadLine, GoodLine, Lines, LoadProgress
from querymill.kinds import NAMES, kind_named


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ingest")(load)


def load(
    kind: Annotated[str, typer.Argument(help=f"what is loaded: {NAMES}")],
    path: Annotated[Path, typer.Argument(help="a file of JSON lines; for files a directory, or JSON lines")],
    collection: Annotated[str, typer.Option(help="the collection to load into")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Load documents; a bad line is reported with its number and reason, the rest is loaded.

    With files, those that the ignore files of a directory name are left out, and those that are no longer in the
    directory are dropped from the collection.
    """
    way = kind_named(kind).ingest
    if isinstance(way, Lines):
        load_lines(way, path, collection, as_json=as_json)
    else:
        way(path, collection, as_json=as_json)


def load_lines(lines: Lines[Any], path: Path, collection: str, *, as_json: bool) -> None:
    """Ingest the documents of a file of JSON lines.

    Raises:
        WrongUse: The file cannot be read, or none of its lines can be loaded.
        typer.Exit: A line or a document was not loaded; the others were.
    """
    try:
        read = list(lines.read(path, collection))
    except OSError as error:
        raise WrongUse(f"path: {error}") from error
    console = Console(stderr=True)
    bad = [line for line in read if isinstance(line, BadLine)]
    for line in bad:
        console.print(f"line {line.number}: {line.reason}", style="red")
    good = [line for line in read if isinstance(line, GoodLine)]
    if not good:
        raise WrongUse(f"path: {path} holds no line that can be loaded")
    with Querymill() as mill:
        outcomes = follow(mill, good, console)
    failed = [outcome for outcome in outcomes if outcome.result is None]
    for outcome in failed:
        console.print(f"{outcome.document}: {outcome.reason}", style="red")
    report(outcomes, bad, counted=lines.counted, as_json=as_json)
    if bad or failed:
        raise typer.Exit(Exit.FAILED)


def follow(mill: Querymill, lines: Sequence[GoodLine[Any]], console: Console) -> list[LoadProgress]:
    """Ingest with a progress bar; returns one outcome per document."""
    return with_bar(mill, lines, console, size=sum(line.size for line in lines))


def report(outcomes: list[LoadProgress], bad: list[BadLine], *, counted: str, as_json: bool) -> None:
    """Print what was loaded."""
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    summary = {
        "ingested": sum(result.outcome == "ingested" for result in results),
        "unchanged": sum(result.outcome == "unchanged" for result in results),
        counted: sum(result.total for result in results),
        "failed": [{"document": o.document, "reason": o.reason} for o in outcomes if o.result is None],
        "bad_lines": [{"line": line.number, "reason": line.reason} for line in bad],
    }
    if as_json:
        echo(json.dumps(summary, ensure_ascii=False))
    else:
        echo(
            f"{summary['ingested']} ingested ({summary[counted]} {counted}), {summary['unchanged']} unchanged, "
            f"{len(outcomes) - len(results)} failed, {len(bad)} bad lines"
        )
