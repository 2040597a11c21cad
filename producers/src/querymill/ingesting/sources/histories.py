"""Histories as other tools write them: find them at paths, read them, and yield what is to be loaded."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.ingesting.jsonl import STDIN, GoodLine, Lines
from querymill.ingesting.path_options import UnusablePath
from querymill.presenting.numbers import quantity
from querymill_histories.files import BROKEN, head_of
from querymill_histories.finding import FoundFiles, find, format_of, places, read_sessions, why_unknown
from querymill_histories.formats import BY_NAME, FORMATS
from querymill_histories.rows import counted, rows_of
from querymill_histories.rules.remarks import WITHOUT_MESSAGE
from querymill_histories.session import HistoryFormat, ReadOptions, Session, Tools, UnreadPlace
from querymill_reading.archives import is_archive
from querymill_reading.document import Unreadable
from querymill_reading.process import FileReader
from querymill_shared.contracts.conversations.search import zone_named

#: What ``--from`` takes.
FROM: Final = ", ".join(BY_NAME)
TOOLS: Final[dict[str, Tools]] = {"none": "none", "summary": "summary", "full": "full"}
#: The file in which standard input is kept.
_PIPED: Final = "standard-input"


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

    def format(self) -> HistoryFormat | None:
        """Return the format.

        Raises:
            UnusablePath: There is no such format.
        """
        if self.origin is None:
            return None
        if self.origin not in BY_NAME:
            raise UnusablePath(f"origin (--from): {self.origin}: must be one of {FROM}")
        return BY_NAME[self.origin]

    def shown(self) -> Tools:
        """Return how tool calls are shown.

        Raises:
            UnusablePath: In no way that is known.
        """
        if (self.tools or "none") not in TOOLS:
            raise UnusablePath(f"tools: {self.tools}: must be none, summary or full")
        return TOOLS[self.tools or "none"]

    def asked(self) -> ReadOptions:
        """Return what is asked of a format.

        Raises:
            UnusablePath: There is no such time zone.
        """
        try:
            return ReadOptions(zone_named(self.time_zone)) if self.time_zone else ReadOptions()
        except ValueError as error:
            raise UnusablePath(f"time_zone: {error}") from error


def are_histories(paths: Sequence[str], options: HistoryOptions) -> bool:
    """Return whether paths are histories, and not one file of our JSON lines."""
    if options.is_given or len(paths) != 1 or is_archive(paths[0]):
        return True
    path = Path(paths[0])
    try:
        return path != STDIN and (path.is_dir() or (path.is_file() and format_of(head_of(path)) is not None))
    except BROKEN:
        return False


def found_at(paths: Sequence[str], only: HistoryFormat | None, folder: Path) -> FoundFiles:
    """Return the files to read. Standard input is kept in ``folder``.

    Raises:
        UnusablePath: There is none.
    """
    given = [Path(path) for path in paths]
    unread: list[UnreadPlace] = []
    archives: dict[Path, str] = {}
    for number, path in enumerate(given):
        if path == STDIN:
            given[number] = folder / _PIPED
            with given[number].open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        elif not path.exists():
            raise UnusablePath(f"path: {path}: no such file")
        elif is_archive(path.name) and path.is_file():
            given[number] = folder / str(number)
            archives[given[number]] = f"{path.absolute()}!"
            unread += unpacked(path, given[number])
    found = find(given, only) if given else _found_in_places(only)
    found.unread += unread
    found.archives |= archives
    if not found.files:
        where = " ".join(paths) or "none given, and in the places where the tools keep them"
        bad = [*found.unread, *(UnreadPlace(found.shown(str(path)), why_unknown(path)) for path in found.unknown[:3])]
        why = "; ".join(f"{unread.place}: {unread.reason}" for unread in bad[:3])
        raise UnusablePath(
            f"path: {where}: no history of {only.name if only else FROM} there" + (f" ({why})" if why else "")
        )
    return found


def unpacked(archive: Path, into: Path) -> list[UnreadPlace]:
    """Unpack an archive into a folder, and return the members that were left out.

    Raises:
        UnusablePath: The archive is broken, or too large.
    """
    into.mkdir()
    try:
        with FileReader() as reader:
            members = reader.unpack(archive, into)
    except Unreadable as error:
        raise UnusablePath(f"path: {archive}: {error}") from error
    return [UnreadPlace(f"{archive}!/{member}", why) for member, why in members if why]


def _found_in_places(only: HistoryFormat | None) -> FoundFiles:
    found = FoundFiles()
    for known, place in places(FORMATS if only is None else (only,), Path.home(), Path.cwd(), os.environ):
        here = find([place], known)
        for path in here.files.get(known.name, ()):
            found.add(path, known)
        found.unread += here.unread
    return found


@dataclass(slots=True)
class HistoryFeed:
    """Yields a line for each session, and counts them by format. ``on_unread`` is called for what cannot be read.

    What files hold and sessions do not is counted too, by file.
    """

    lines: Lines[Any]
    asked: ReadOptions
    tools: Tools
    on_unread: Callable[[UnreadPlace], None]
    sessions: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)

    def sessions_of(self, found: FoundFiles) -> Iterator[GoodLine[Any]]:
        """Read the files, format by format."""
        for name, read in read_sessions(found, self.asked):
            if isinstance(read, Session):
                held = self.left_out.setdefault(found.shown(str(read.source)), Counter())
                held += read.left_out
                before = self.sessions.total()
                yield from self._lines(read, name, found)
                if self.sessions.total() == before:
                    held[WITHOUT_MESSAGE] += 1
            else:
                self.on_unread(UnreadPlace(found.shown(read.place), read.reason))

    def remarks(self) -> Iterator[UnreadPlace]:
        """Yield the files that hold more than was read of them, with what was left out, counted."""
        for place, left_out in self.left_out.items():
            if left_out:
                yield UnreadPlace(place, f"left out: {', '.join(counted(left_out))}")

    def missing(self, found: FoundFiles, *, is_named: bool) -> str:
        """Say which files gave no session, "" if none did so.

        Args:
            found: What was read.
            is_named: Whether the caller named the files. Where a tool keeps them, there are many that are empty.
        """
        without = [name for name in found.files if not self.sessions[name]]
        if not without or (self.sessions.total() and not is_named):
            return ""
        files = sum(len(found.files[name]) for name in without)
        first = found.shown(str(found.files[without[0]][0]))
        look = "looks like one" if files == 1 else "look like those"
        named = ", ".join(without)
        return f"no session with a message in {quantity(files, 'files')}, which {look} of {named}: {first}"

    def _lines(self, session: Session, name: str, found: FoundFiles) -> Iterator[GoodLine[Any]]:
        for row in rows_of(session, name, self.tools):
            if session.source.name == _PIPED:
                row["source"] = str(STDIN)
            for part in (row, *row["messages"]) if found.archives else ():
                if "source" in part:
                    part["source"] = found.shown(part["source"])
            try:
                told = self.lines.document.model_validate(row)
            except pydantic.ValidationError as error:
                self.on_unread(UnreadPlace(f"{session.source}: {session.id}", rule_broken(error)))
                continue
            self.sessions[name] += 1
            size = sum(len(message["text"]) for message in row["messages"])
            number = self.sessions.total()
            yield GoodLine(number, size, told, unit="session")
