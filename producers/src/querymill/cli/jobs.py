"""``querymill jobs`` and ``querymill job``: look at jobs, follow them, cancel them."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill_shared.board import Picture
from querymill_shared.contracts.errors import UnknownJob

JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
JobId = Annotated[str, typer.Argument(help="the job's id")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Look at one job, follow it, cancel it.", no_args_is_help=True)
    group.command("show")(show)
    group.command("events")(events)
    group.command("cancel")(cancel)
    app.add_typer(group, name="job")
    app.command("jobs")(recent)


def show(job_id: JobId, as_json: JsonOption = False) -> None:
    """Show a job's state, its branches, and how many hits it has."""
    with Querymill() as mill:
        described = describe(mill.job(job_id).picture())
    if as_json:
        echo(json.dumps(described, ensure_ascii=False))
        return
    for name, value in described.items():
        if name != "stages":
            echo(f"{name:<11}{value}")
    for stage in described["stages"]:
        echo(f"  {stage['name']:<12}{stage['state']:<9}attempt {stage['attempt']}  {stage['reason']}")


def events(job_id: JobId, as_json: JsonOption = False) -> None:
    """Follow a job's events from its beginning to its end."""
    with Querymill() as mill:
        for event in mill.job(job_id).events():
            echo(event.model_dump_json() if as_json else f"{event.type:<15}{_said(event.model_dump())}")


def cancel(job_id: JobId, as_json: JsonOption = False) -> None:
    """Cancel a job."""
    with Querymill() as mill:
        job = mill.job(job_id)
        job.picture()
        cancelled = job.cancel()
    message = "cancelled" if cancelled else "had already ended"
    echo(json.dumps({"job_id": job_id, "cancelled": cancelled}) if as_json else f"{job_id} {message}")


def recent(
    most: Annotated[int, typer.Option(help="number of jobs to list")] = 20,
    state: Annotated[str | None, typer.Option(help="only this state: running, failed, dead…")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the latest jobs, newest first."""
    with Querymill() as mill:
        pictures = [picture for job in mill.recent(most=most) if (picture := _still_there(job)) is not None]
    rows = [describe(picture) for picture in pictures if state in (None, picture.record.state)]
    if as_json:
        echo(json.dumps(rows, ensure_ascii=False))
        return
    Console().print(table_of(rows))


def table_of(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Format jobs as a table, one row each."""
    table = Table("job", "kind", "collection", "state", "submitted", "reason", box=None)
    for row in rows:
        columns = ("job_id", "kind", "collection", "state", "submitted", "reason")
        table.add_row(*(str(row[name] or "") for name in columns))
    return table


def describe(picture: Picture) -> dict[str, Any]:
    """Describe a snapshot of a job; the question itself is not shown."""
    record = picture.record
    return {
        "job_id": record.job_id,
        "kind": record.kind,
        "collection": record.collection,
        "lane": record.lane,
        "state": record.state,
        "submitted": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
        "reason": record.reason,
        "hits": len({hit.key for hits in picture.hits.values() for hit in hits}),
        "stages": [
            {"name": step.name, "state": step.state, "attempt": step.attempt, "reason": step.reason}
            for step in picture.steps
        ],
    }


def _still_there(job: Any) -> Picture | None:
    try:
        return job.picture()  # type: ignore[no-any-return]  # a job of any kind
    except UnknownJob:
        return None


def _said(event: dict[str, Any]) -> str:
    hits = event.pop("hits", None)
    shown = {name: value for name, value in event.items() if name != "type" and value is not None}
    if hits:
        shown["best"] = hits[0]["key"]
    return " ".join(f"{name}={value}" for name, value in shown.items())
