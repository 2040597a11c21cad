"""``querymill reembed`` and ``reindex``: rebuild what a collection holds."""

from typing import Annotated, Any, Final, get_args

import typer
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from querymill.cli.exits import WrongUse
from querymill.cli.progress import progress_bar
from querymill.cli.terminal import Console, echo
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill_shared.contracts import events
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.reindex import IndexedKind, Reindex, ReindexResult
from querymill_shared.contracts.vectors import Reembed
from querymill_shared.settings import Settings

Collection = Annotated[str, typer.Option(help="the collection")]
Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
REEMBEDDED: Final = get_args(Retriever)
Reembedded = Annotated[str, typer.Argument(help=f"the kind of the collection: {', '.join(REEMBEDDED)}")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (reembed, reindex):
        app.command()(command)


def reembed(kind: Reembedded, collection: Collection, as_json: Json = False) -> None:
    """Embed every text that has no vector of EMBEDDING_MODEL, then search by that model; resumes after a stop.

    Files that were ingested without vectors get them by this; from then on every ingestion makes them.
    """
    _refuse_other(kind, *REEMBEDDED)
    with Querymill() as mill:
        asked = {"retriever": kind, "collection": collection, "model": Settings().embedding_model}
        request = Reembed.model_validate(asked)
        result = followed(mill.submit(request), "embedding")
    said = f"{result.total} vectors made; {collection} is searched by {result.model}"
    echo(result.model_dump_json() if as_json else said)


def reindex(
    kind: Annotated[str, typer.Argument(help=f"which index to rebuild: {', '.join(get_args(IndexedKind))}")],
    collection: Collection,
    as_json: Json = False,
) -> None:
    """Rebuild the text index if another version of the tokeniser built it."""
    _refuse_other(kind, *get_args(IndexedKind))
    with Querymill() as mill:
        request = Reindex.model_validate({"collection": collection, "of": kind})
        result = followed(mill.submit(request), "reindexing")
    echo(result.model_dump_json() if as_json else told(result))


def told(result: ReindexResult) -> str:
    """Say what a rebuild did, and what the new version of the tokeniser reads differently."""
    waiting = f"; {result.pending} passages wait for their vectors" if result.pending else ""
    lines = [f"{result.outcome}: {result.total} texts{waiting}"]
    built = [f"{space} (version {version})" for space, version in result.previous.items()]
    if built:
        lines += [f"indexes that another version of the tokeniser had built: {', '.join(built)}"]
        lines += [f"version {result.version} reads differently: {result.changes}"]
    return "\n".join(lines)


def followed(job: Job[Any], named: str) -> Any:
    """Show the progress of a job, part by part; returns its result.

    Raises:
        JobEnded: The job ended without a result.
    """
    bar = progress_bar(
        TextColumn("{task.description}", markup=False), BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f}"), TimeElapsedColumn(), console=Console(stderr=True),
    )  # fmt: skip
    parts: dict[str, events.Progress] = {}
    with bar:
        task = bar.add_task(named, total=0)
        for event in job.events():
            if isinstance(event, events.Progress):
                parts[event.stage] = event
                done, total = sum(part.done for part in parts.values()), sum(part.total for part in parts.values())
                bar.update(task, completed=done, total=total)
    return job.result(timeout=5)


def _refuse_other(kind: str, *known: str) -> None:
    if kind not in known:
        raise WrongUse(f"kind: {kind!r} is not one of: {', '.join(known)}")
