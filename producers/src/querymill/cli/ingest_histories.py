"""``querymill ingest conversations`` and ``messages`` of histories as other tools write them."""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import typer

from querymill.cli.exits import Exit
from querymill.cli.kind import Kind
from querymill.cli.labels import labelled_mill
from querymill.cli.progress import outcomes_with_bar
from querymill.cli.terminal import Console, echo
from querymill.ingesting.ingestion_log import recorded
from querymill.ingesting.sources.histories import HistoryFeed, HistoryOptions, found_at
from querymill.ingesting.submitting import LoadProgress, pack
from querymill.presenting.numbers import quantity
from querymill_histories.finding import FoundFiles, why_unknown
from querymill_histories.session import UnreadPlace

#: Files that ``--json`` names; of more it gives the number.
NAMED: Final = 1_000
#: Files that nothing recognises which are named on a terminal.
SHOWN: Final = 5
_STORED: Final = ("ingested", "unchanged", "superseded", "forgotten")


@dataclass(slots=True)
class LoadedSessions:
    """What became of the sessions."""

    outcomes: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    unread: list[UnreadPlace] = field(default_factory=list)
    remarks: list[UnreadPlace] = field(default_factory=list)

    def add(self, outcome: LoadProgress) -> None:
        """Count a session."""
        if outcome.result is None:
            self.failed.append((str(outcome.document), outcome.reason))
        else:
            self.outcomes[outcome.result.outcome] += 1
            self.parts += outcome.result.total


def load_histories(
    kind: Kind[Any], paths: Sequence[str], collection: str, options: HistoryOptions, *, as_json: bool
) -> None:
    """Read histories and load their sessions. Without paths, the places are read where the tools keep them.

    Raises:
        UnusablePath: There is nothing to read.
        typer.Exit: Something could not be read or loaded; the rest was.
    """
    console, done, lines = Console(stderr=True), LoadedSessions(), kind.loadable.documents

    def leave_out(unread: UnreadPlace) -> None:
        done.unread.append(unread)
        record.refuse(unread.reason, place=unread.place)
        console.print(f"{unread.place}: {unread.reason}", style="red", markup=False)

    only, asked, tools = options.format(), options.asked(), options.shown()
    with (
        tempfile.TemporaryDirectory(prefix="querymill-") as folder,
        labelled_mill() as mill,
        recorded(mill, kind.name, collection) as (noting, record),
    ):
        found = found_at(paths, only, Path(folder))
        feed = HistoryFeed(lines, asked, tools, leave_out)
        for unread in found.unread:
            leave_out(unread)
        unknown = {found.shown(str(path)): why_unknown(path) for path in found.unknown[:NAMED]}
        for outcome in outcomes_with_bar(
            noting, pack(feed.sessions_of(found), lines.asking(collection)), console, size=None
        ):
            done.add(outcome)
            if outcome.result is None:
                console.print(f"{outcome.document}: {outcome.reason}", style="red", markup=False)
        if missing := feed.missing(found, is_named=bool(paths)):
            leave_out(UnreadPlace(" ".join(paths) or "the places where the tools keep them", missing))
    done.remarks = list(feed.remarks())
    report(done, found, feed.sessions, unknown, lines.counted, console, as_json=as_json)
    if done.failed or done.unread:
        raise typer.Exit(Exit.FAILED)


def report(
    done: LoadedSessions,
    found: FoundFiles,
    sessions: Counter[str],
    unknown: Mapping[str, str],
    counted: str,
    console: Console,
    *,
    as_json: bool,
) -> None:
    """Print what was loaded and what was not. ``unknown`` says why files were not recognised."""
    outcomes = {outcome: done.outcomes[outcome] for outcome in _STORED}
    files = {name: len(paths) for name, paths in found.files.items()}
    if as_json:
        summary = {
            **outcomes,
            counted: done.parts,
            "from": {name: {"files": files[name], "sessions": sessions[name]} for name in files},
            "failed": [{"document": document, "reason": reason} for document, reason in done.failed[:NAMED]],
            "failed_count": len(done.failed),
            "unreadable": [{"place": unread.place, "reason": unread.reason} for unread in done.unread[:NAMED]],
            "unreadable_count": len(done.unread),
            "left_out": [{"place": remark.place, "reason": remark.reason} for remark in done.remarks[:NAMED]],
            "left_out_count": len(done.remarks),
            "not_recognised": list(unknown),
            "not_recognised_reasons": unknown,
            "not_recognised_count": len(found.unknown),
        }
        echo(json.dumps(summary, ensure_ascii=False))
        return
    for name, number in files.items():
        console.print(f"{name}: {quantity(sessions[name], 'sessions')} in {quantity(number, 'files')}", markup=False)
    _print_some([f"{place}: {why}" for place, why in unknown.items()], len(found.unknown), "not recognised", console)
    _print_some(
        [f"{mark.place}: {mark.reason}" for mark in done.remarks], len(done.remarks), "with something left out", console
    )
    replaced = "".join(f"{outcomes[name]} {name}, " for name in _STORED[2:] if outcomes[name])
    echo(
        f"{quantity(outcomes['ingested'], 'sessions')} ingested ({quantity(done.parts, counted)}), "
        f"{outcomes['unchanged']} unchanged, "
        f"{replaced}{len(done.failed)} failed, {len(done.unread)} unreadable"
    )


def _print_some(lines: Sequence[str], count: int, more: str, console: Console) -> None:
    for line in lines[:SHOWN]:
        console.print(line, style="yellow", markup=False)
    if count > SHOWN:
        console.print(f"and {count - SHOWN} more files {more} (--json names them)", style="yellow")
