"""``querymill ingest conversations`` and ``messages`` of histories as other tools write them: find, read, load."""

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic
import typer

from querymill.cli.exits import Exit, WrongUse
from querymill.cli.progress import outcomes_with_bar
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.histories.files import BROKEN, head_of
from querymill.histories.finding import Found, find, format_of, places
from querymill.histories.formats import BY_NAME, FORMATS
from querymill.histories.rows import rows_of
from querymill.histories.session import Asked, Format, Session, Tools, Unread
from querymill.ingestion import STDIN, GoodLine, Lines, LoadProgress, rule_broken
from querymill.reading.archives import is_archive
from querymill.reading.document import Unreadable
from querymill.reading.process import Reader
from querymill_shared.contracts.conversations.search import zone_named

#: What ``--from`` takes.
FROM: Final = ", ".join(BY_NAME)
TOOLS: Final[dict[str, Tools]] = {"none": "none", "summary": "summary", "full": "full"}
#: Files that ``--json`` names; of more it gives the number.
NAMED: Final = 1_000
#: Files that nothing recognises which are named on a terminal.
SHOWN: Final = 5
#: The file in which standard input is kept.
_PIPED: Final = "standard-input"
_STORED: Final = ("ingested", "unchanged", "superseded", "forgotten")


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """What a caller says about histories: the format, how tool calls are shown, the zone of times that name none."""

    origin: str | None = None
    tools: str | None = None
    time_zone: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return any((self.origin, self.tools, self.time_zone))

    def format(self) -> Format | None:
        """Return the format.

        Raises:
            WrongUse: There is no such format.
        """
        if self.origin is None:
            return None
        if self.origin not in BY_NAME:
            raise WrongUse(f"--from: {self.origin}: must be one of {FROM}")
        return BY_NAME[self.origin]

    def shown(self) -> Tools:
        """Return how tool calls are shown.

        Raises:
            WrongUse: In no way that is known.
        """
        if (self.tools or "none") not in TOOLS:
            raise WrongUse(f"--tools: {self.tools}: must be none, summary or full")
        return TOOLS[self.tools or "none"]

    def asked(self) -> Asked:
        """Return what is asked of a format.

        Raises:
            WrongUse: There is no such time zone.
        """
        try:
            return Asked(zone_named(self.time_zone)) if self.time_zone else Asked()
        except ValueError as error:
            raise WrongUse(f"--time-zone: {error}") from error


def are_histories(paths: Sequence[str], options: HistoryOptions) -> bool:
    """Return whether paths are histories, and not one file of our JSON lines."""
    if options.is_given or len(paths) != 1 or is_archive(paths[0]):
        return True
    path = Path(paths[0])
    try:
        return path != STDIN and (path.is_dir() or (path.is_file() and format_of(head_of(path)) is not None))
    except BROKEN:
        return False


@dataclass(slots=True)
class Loaded:
    """What became of the sessions."""

    sessions: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    def add(self, outcome: LoadProgress) -> None:
        """Count a session."""
        if outcome.result is None:
            self.failed.append((str(outcome.document), outcome.reason))
        else:
            self.outcomes[outcome.result.outcome] += 1
            self.parts += outcome.result.total


def load_histories(
    lines: Lines[Any], paths: Sequence[str], collection: str, options: HistoryOptions, *, as_json: bool
) -> None:
    """Read histories and load their sessions. Without paths, the places are read where the tools keep them.

    Raises:
        WrongUse: There is nothing to read.
        typer.Exit: Something could not be read or loaded; the rest was.
    """
    console, done = Console(stderr=True), Loaded()
    only, asked, tools = options.format(), options.asked(), options.shown()
    with tempfile.TemporaryDirectory(prefix="querymill-") as folder, Querymill() as mill:
        found = found_at(paths, only, Path(folder))
        feed = _Feed(lines, collection, asked, tools, done, console)
        for unread in found.unread:
            feed.leave_out(unread)
        for outcome in outcomes_with_bar(mill, feed.sessions_of(found), console, size=None, packing=lines.packing):
            done.add(outcome)
            if outcome.result is None:
                console.print(f"{outcome.document}: {outcome.reason}", style="red", markup=False)
    report(done, found, lines.counted, console, as_json=as_json)
    if done.failed or done.unread:
        raise typer.Exit(Exit.FAILED)


def found_at(paths: Sequence[str], only: Format | None, folder: Path) -> Found:
    """Return the files to read. Standard input is kept in ``folder``.

    Raises:
        WrongUse: There is none.
    """
    given = [Path(path) for path in paths]
    unread: list[Unread] = []
    archives: dict[Path, str] = {}
    for number, path in enumerate(given):
        if path == STDIN:
            given[number] = folder / _PIPED
            with given[number].open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        elif not path.exists():
            raise WrongUse(f"path: {path}: no such file")
        elif is_archive(path.name) and path.is_file():
            given[number] = folder / str(number)
            archives[given[number]] = f"{path.absolute()}!"
            unread += unpacked(path, given[number])
    found = find(given, only) if given else _found_in_places(only)
    found.unread += unread
    found.archives |= archives
    if not found.files:
        where = " ".join(paths) or "none given, and in the places where the tools keep them"
        why = "; ".join(f"{unread.place}: {unread.reason}" for unread in found.unread[:3])
        raise WrongUse(
            f"path: {where}: no history of {only.name if only else FROM} there" + (f" ({why})" if why else "")
        )
    return found


def unpacked(archive: Path, into: Path) -> list[Unread]:
    """Unpack an archive into a folder, and return the members that were left out.

    Raises:
        WrongUse: The archive is broken, or too large.
    """
    into.mkdir()
    try:
        with Reader() as reader:
            members = reader.unpack(archive, into)
    except Unreadable as error:
        raise WrongUse(f"path: {archive}: {error}") from error
    return [Unread(f"{archive}!/{member}", why) for member, why in members if why]


def _found_in_places(only: Format | None) -> Found:
    found = Found()
    for known, place in places(FORMATS if only is None else (only,), Path.home(), Path.cwd(), os.environ):
        here = find([place], known)
        for path in here.files.get(known.name, ()):
            found.add(path, known)
        found.unread += here.unread
    return found


@dataclass(slots=True)
class _Feed:
    """Yields a request for each session. What cannot be read is noted in ``done``."""

    lines: Lines[Any]
    collection: str
    asked: Asked
    tools: Tools
    done: Loaded
    console: Console

    def sessions_of(self, found: Found) -> Iterator[GoodLine[Any]]:
        """Read the files, format by format."""
        for name, files in found.files.items():
            for read in BY_NAME[name].read(files, self.asked):
                if isinstance(read, Session):
                    yield from self._lines(read, name, found)
                else:
                    self.leave_out(Unread(found.shown(read.place), read.reason))

    def _lines(self, session: Session, name: str, found: Found) -> Iterator[GoodLine[Any]]:
        for row in rows_of(session, name, self.tools):
            if session.source.name == _PIPED:
                row["source"] = str(STDIN)
            for part in (row, *row["messages"]) if found.archives else ():
                if "source" in part:
                    part["source"] = found.shown(part["source"])
            try:
                request = self.lines.request.model_validate({"collection": self.collection, self.lines.field: row})
            except pydantic.ValidationError as error:
                self.leave_out(Unread(f"{session.source}: {session.id}", rule_broken(error, below=self.lines.field)))
                continue
            self.done.sessions[name] += 1
            size = sum(len(message["text"]) for message in row["messages"])
            number = self.done.sessions.total()
            yield GoodLine(number, size, request, unit="session", document=row["session_id"])

    def leave_out(self, unread: Unread) -> None:
        """Name what could not be read."""
        self.done.unread.append(unread)
        self.console.print(f"{unread.place}: {unread.reason}", style="red", markup=False)


def report(done: Loaded, found: Found, counted: str, console: Console, *, as_json: bool) -> None:
    """Print what was loaded and what was not."""
    outcomes = {outcome: done.outcomes[outcome] for outcome in _STORED}
    files = {name: len(paths) for name, paths in found.files.items()}
    if as_json:
        summary = {
            **outcomes,
            counted: done.parts,
            "from": {name: {"files": files[name], "sessions": done.sessions[name]} for name in files},
            "failed": [{"document": document, "reason": reason} for document, reason in done.failed[:NAMED]],
            "failed_count": len(done.failed),
            "unreadable": [{"place": unread.place, "reason": unread.reason} for unread in done.unread[:NAMED]],
            "unreadable_count": len(done.unread),
            "not_recognised": [found.shown(str(path)) for path in found.unknown[:NAMED]],
            "not_recognised_count": len(found.unknown),
        }
        echo(json.dumps(summary, ensure_ascii=False))
        return
    for name, number in files.items():
        console.print(f"{name}: {done.sessions[name]} sessions in {number} files", markup=False)
    if found.unknown:
        named = ", ".join(found.shown(str(path)) for path in found.unknown[:SHOWN])
        more = f" and {len(found.unknown) - SHOWN} more" if len(found.unknown) > SHOWN else ""
        console.print(f"not recognised: {named}{more}", style="yellow", markup=False)
    replaced = "".join(f"{outcomes[name]} {name}, " for name in _STORED[2:] if outcomes[name])
    echo(
        f"{outcomes['ingested']} sessions ingested ({done.parts} {counted}), {outcomes['unchanged']} unchanged, "
        f"{replaced}{len(done.failed)} failed, {len(done.unread)} unreadable"
    )
