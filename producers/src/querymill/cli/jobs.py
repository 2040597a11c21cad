"""``querymill jobs`` and ``querymill job``: look at jobs, follow them, cancel them, replay or drop dead ones."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Final, Literal

import typer
from pydantic import ValidationError
from pydantic_core import to_jsonable_python
from rich.table import Table

from querymill.cli.exits import WrongUse
from querymill.cli.labels import LabelOption, read_labels
from querymill.cli.terminal import Console, echo
from querymill.client.job import Job
from querymill.client.mill import Querymill
from querymill.presenting.explain.bars import Bar, totals_of
from querymill.presenting.explain.verdict import verdict
from querymill.presenting.explain.waterfall import Waterfall, waterfall
from querymill.presenting.numbers import duration
from querymill_shared.board import Picture, Record, Step
from querymill_shared.board.labels import shown_labels
from querymill_shared.callback_addresses import read_address
from querymill_shared.contracts.callbacks import Callback
from querymill_shared.contracts.errors import QuerymillError, UnknownJob
from querymill_shared.contracts.submit_options import NO_LABELS

JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]
#: Among so many of the latest jobs, those in one state are looked for. Dead jobs have a list of their own.
LOOKED_AT: Final = 1_000

#: What each kind of time is called, where its own name does not say it.
NAMES: Final[dict[str, str]] = {"put_back": "put back", "lost": "worker lost", "other": "own work"}

#: A job that is done is incomplete if its result lacks a part.
ListedState = Literal["queued", "running", "done", "incomplete", "failed", "cancelled", "dead"]
JobId = Annotated[str, typer.Argument(help="the job's id, or how it begins")]
#: As many characters as an id has. A shorter one is how an id begins.
ID_LENGTH: Final = 32


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Look at one job, follow it, cancel it, replay or drop it.", no_args_is_help=True)
    group.command("show")(show)
    group.command("events")(events)
    group.command("cancel")(cancel)
    group.command("replay")(replay)
    group.command("drop")(drop)
    app.add_typer(group, name="job")
    app.command("jobs")(recent)


def show(job_id: JobId, as_json: JsonOption = False) -> None:
    """Show a job's state, where its time went, its steps with their attempts, and how many hits it has.

    Of a job whose result is gone, what it did is shown for some days.
    """
    with Querymill() as mill:
        job = job_named(mill, job_id)
        picture = _still_there(job) or job.picture()
        described, drawn = described_with_gap(mill, picture), waterfall(picture, now=time.time())
        if picture.record.state == "done" and not picture.record.is_trail:
            described["hits"] = _hits_of(job)
    if as_json:
        echo(json.dumps(described, ensure_ascii=False))
        return
    for name, value in described.items():
        if name not in ("stages", "steps"):
            shown = shown_labels(value) if name == "labels" else value
            echo(f"{name:<11}{' '.join(shown) if isinstance(shown, list) else shown}")
    said = verdict(drawn)
    echo(f"{said.word:<11}{said.sentence}" if said.shares else said.sentence)
    for line in lines_of(drawn):
        echo(line)


def _hits_of(job: Job[Any]) -> int | None:
    """Return how many hits the result of a job that is done has, or None if the result has expired."""
    with suppress(QuerymillError, TimeoutError):
        return len(getattr(job.result(timeout=5), "results", ()))
    return None


def events(job_id: JobId, as_json: JsonOption = False) -> None:
    """Follow a job's events from its beginning to its end."""
    with Querymill() as mill:
        for event in job_named(mill, job_id).events():
            echo(event.model_dump_json() if as_json else f"{event.type:<15}{_said(event.model_dump())}")


def cancel(job_id: JobId, as_json: JsonOption = False) -> None:
    """Cancel a job."""
    act(Job.cancel, job_id, "cancelled", otherwise="had already ended", as_json=as_json)


def replay(job_id: JobId, as_json: JsonOption = False) -> None:
    """Run a dead job again, with all its attempts. What was done stays done."""
    act(Job.replay, job_id, "replayed", otherwise="is not dead", as_json=as_json)


def drop(job_id: JobId, as_json: JsonOption = False) -> None:
    """Delete a dead job for good."""
    act(Job.drop, job_id, "dropped", otherwise="is not dead", as_json=as_json)


def act(action: Callable[[Job[Any]], bool], job_id: str, done: str, *, otherwise: str, as_json: bool) -> None:
    """Do something to a job that exists, and say whether it had an effect."""
    with Querymill() as mill:
        job = job_named(mill, job_id)
        job.picture()
        had_effect = action(job)
    message = done if had_effect else otherwise
    echo(json.dumps({"job_id": job.id, done: had_effect}) if as_json else f"{job.id} {message}")


def job_named(mill: Querymill, name: str) -> Job[Any]:
    """Return the job of an id. The beginning of one is looked for among the latest jobs and the dead ones.

    Raises:
        WrongUse: several of them begin so, or none does.
    """
    if not name or len(name) >= ID_LENGTH:
        return mill.job(name)
    known = {job.id: job for job in (*mill.recent(limit=LOOKED_AT), *mill.dead(limit=LOOKED_AT))}
    found = [job for job_id, job in known.items() if job_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} jobs begin so; give more of the id" if found else f"none of the last {LOOKED_AT} begins so"
    raise WrongUse(f"job: {name!r}: {which}")


def recent(
    limit: Annotated[int, typer.Option("--limit", help="number of jobs to list")] = 20,
    state: Annotated[ListedState | None, typer.Option(help="only the jobs in this state")] = None,
    kind: Annotated[str | None, typer.Option(help="only the jobs of this kind, such as tell_caller")] = None,
    label: LabelOption = None,
    key: Annotated[str | None, typer.Option(help="only the job that was submitted under this idempotency key")] = None,
    until: Annotated[
        datetime | None, typer.Option(help="those submitted until then (UTC), also of the last days: 2026-11-26T14:00")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the latest jobs, newest first. Dead jobs are listed for a week, all others for as long as their results."""
    with Querymill() as mill:
        found = latest(mill, limit, state, read_labels(label), kind, until, key)
        rows = [described_with_gap(mill, picture) for picture in islice(found, limit)]
    if as_json:
        echo(json.dumps(rows, ensure_ascii=False))
        return
    console = Console()
    if rows:
        console.print(table_of(rows))
    else:
        console.print("no jobs" if state is None else f"no {state} jobs")


def described_with_gap(mill: Querymill, picture: Picture) -> dict[str, Any]:
    """Describe a snapshot of a job. The reason of an incomplete one is the first part that its result lacks."""
    described, record = describe(picture), picture.record
    if record.state == "done" and not record.is_complete and not record.is_trail:
        with suppress(QuerymillError, TimeoutError):
            lacking = mill.job(record.job_id).result(timeout=5).degraded[:1]
            described["reason"] = "".join(f"{part.stage}: {part.reason or part.code}" for part in lacking)
    return described


def latest(
    mill: Querymill, limit: int, state: str | None, labels: Mapping[str, str] = NO_LABELS, kind: str | None = None,
    until: datetime | None = None, key: str | None = None,
) -> Iterator[Picture]:  # fmt: skip
    """Yield the latest jobs: in one state, of one kind, with all labels and the key, submitted until a time."""
    # Many of the latest may have been let go, such as those that listed documents.
    left = limit if state is None else LOOKED_AT
    is_marked = bool(labels) or key is not None
    is_dead = state == "dead" and not is_marked
    if until is not None and not is_marked:
        listed = mill.past(until=until.replace(tzinfo=UTC), limit=LOOKED_AT)
    else:
        dead = limit if kind is None else LOOKED_AT
        listed = mill.dead(limit=dead) if is_dead else mill.recent(limit=LOOKED_AT, labels=labels, idempotency_key=key)
    for job in listed:
        picture = _still_there(job) if left else None
        if picture is not None and until is not None and picture.record.created > until.replace(tzinfo=UTC).timestamp():
            continue
        if picture is not None and _is_in(state, picture.record) and kind in (None, picture.record.kind):
            left -= 1
            yield picture


def _is_in(state: str | None, record: Record) -> bool:
    return state in (None, record.state) or (
        state == "incomplete" and record.state == "done" and not record.is_complete
    )


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Format jobs as a table, one row each."""
    table = Table(box=None, pad_edge=False, collapse_padding=True)
    # An id that was cut could not be pasted.
    table.add_column("job", no_wrap=True, min_width=ID_LENGTH)
    table.add_column("kind", overflow="fold")
    for heading in ("state", "submitted"):
        table.add_column(heading, no_wrap=True)
    table.add_column("collection", overflow="fold")
    reasons = any(row["reason"] for row in rows)
    if reasons:
        table.add_column("reason", overflow="fold")
    for row in rows:
        submitted = str(row["submitted"])[5:16].replace("T", " ")
        reason = [row["reason"]] if reasons else []
        table.add_row(row["job_id"], row["kind"], row["state"], submitted, row["collection"], *reason)
    return table


def describe(picture: Picture) -> dict[str, Any]:
    """Describe a snapshot of a job; the question itself is not shown."""
    record = picture.record
    return {
        "job_id": record.job_id,
        "kind": record.kind,
        "collection": record.collection,
        "lane": record.lane,
        **({"gone": True} if record.is_trail else {}),
        "labels": dict(record.labels),
        "state": record.state,
        "submitted": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
        # Those who share its work: identical jobs in flight are worked once.
        "callers": record.callers,
        "reason": record.reason,
        "code": record.code,
        "callback": shown_callback(record),
        "deliveries": list(record.deliveries),
        "hits": len({hit.key for hits in picture.hits.values() for hit in hits}),
        "stages": [
            {
                "name": step.name,
                "state": step.state,
                "attempt": step.attempt,
                "counts": {cause: count for cause, count in asdict(step.counts).items() if count},
                "reason": step.reason,
            }
            for step in picture.steps
        ],
        "steps": [_step(step) for step in picture.steps],
    }


def shown_callback(record: Record) -> str:
    """Say whom the end of a job is told, without the path of the address, which may be a secret; "" for nobody."""
    try:
        callback = Callback.model_validate_json(record.callback or "null")
    except ValidationError:
        return ""
    return f"{read_address(callback.url).shown} ({', '.join(callback.events)})"


def _step(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "queued": step.queued,
        "worker": step.worker,
        "code": step.code,
        "attempts": to_jsonable_python(step.attempts),
    }


def lines_of(drawn: Waterfall) -> Iterator[str]:
    """Yield the waterfall as text: a line for each step, and one for each attempt where there were several."""
    width = max([13, *(len(row.name) for row in drawn.rows)]) + 1
    for row in drawn.rows:
        mark = "  set the end" if row.sets_end else ""
        why = f"  {row.code or ''} {row.reason}".rstrip() if row.state != "done" else ""
        state = f"{row.name:<{width}}{row.state:<9}{duration(row.took_ms):>11}"
        yield f"  {state}  {_spent(row.bars)}{why}{mark}".rstrip()
        if len(row.attempts) > 1:
            for tried in row.attempts:
                attempt = tried.attempt
                why = " ".join(filter(None, (attempt.worker, attempt.code, attempt.reason)))
                yield f"    {attempt.number}. {attempt.outcome:<11}{_spent(tried.bars)}  {why}".rstrip()


def _spent(bars: Iterable[Bar]) -> str:
    """Say what a step spent its time on."""
    return " · ".join(f"{NAMES.get(kind, kind)} {duration(ms)}" for kind, ms in totals_of(bars).items())


def _still_there(job: Job[Any]) -> Picture | None:
    """Return how a job stands or, if it is gone, what it did."""
    with suppress(UnknownJob):
        try:
            return job.picture()
        except UnknownJob:
            return job.trail()
    return None


def _said(event: dict[str, Any]) -> str:
    hits = event.pop("hits", None)
    shown = {name: value for name, value in event.items() if name != "type" and value is not None}
    if hits:
        shown["best"] = hits[0]["key"]
    return " ".join(f"{name}={value}" for name, value in shown.items())
