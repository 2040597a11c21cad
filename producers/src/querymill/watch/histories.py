"""Following histories: which files must be read when some have changed, and which sessions are then sent."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from querymill.watch.changes import Roots
from querymill.watch.sent import FileChange, ReadFile, SentLog
from querymill.watch.sessions import SessionSender, WatchReport
from querymill_histories.files import BROKEN, head_of
from querymill_histories.finding import FoundFiles, format_of, walked
from querymill_histories.formats import BY_NAME, FORMATS
from querymill_histories.rows import counted, rows_of
from querymill_histories.rules.remarks import WITHOUT_MESSAGE
from querymill_histories.session import HistoryFormat, ReadOptions, Session, Tools, UnreadPlace

#: A file that changed less than this many seconds ago may be half written.
SETTLED_S: Final = 2.0
#: What a database keeps beside its file.
_BESIDE: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Spot:
    """A file or folder that is followed, and the formats that it may hold. A file that is ``sure`` is of the first."""

    path: Path
    formats: Sequence[HistoryFormat] = FORMATS
    sure: bool = False

    @property
    def root(self) -> Path:
        """What is watched for it: of opencode's ``storage/session`` also the messages, which are beside it."""
        is_beside = len(self.formats) == 1 and self.formats[0].read_with == "format" and self.path.name == "session"
        return self.path.parent if is_beside and self.path.is_dir() else self.path

    def holds(self, path: Path) -> bool:
        """Return whether a file is in it."""
        return path == self.path or self.root in path.parents


@dataclass(slots=True)
class HistoryFollower:
    """Reads the histories that have changed, and sends the sessions that they tell of.

    A session that became shorter, and a file that cannot be read, are looked at again once the file is left alone: a
    program may be writing it. A file that is gone takes nothing with it. The spots are found again now and then: a
    tool may make its folder later.
    """

    find_spots: Callable[[], Sequence[Spot]]
    asked: ReadOptions
    tools: Tools
    sender: SessionSender
    sent: SentLog
    spots: Sequence[Spot] = ()
    later: set[Path] = field(default_factory=set)
    told_once: set[tuple[str, str]] = field(default_factory=set)

    def roots(self) -> Roots:
        """Find the spots, and return what is to be watched."""
        self.spots = self.find_spots()
        return Roots.of(spot.root for spot in self.spots)

    def everything(self) -> set[Path]:
        """Return the files that are there and not as they were when they were read, and those that are gone."""
        found: set[Path] = set()
        for spot in self.spots:
            found.update(walked(spot.root, FoundFiles()) if spot.root.is_dir() else [spot.path])
        return {path for path in found | set(self.sent.files) if _has_changed(path, self.sent.files.get(path))}

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Read what has changed, and send it."""
        stamps = dict(self._stamped({*self._files(changed), *self.later}, told))
        self.later = set()
        by_format: defaultdict[str, set[Path]] = defaultdict(set)
        unknown: dict[Path, ReadFile] = {}
        for path, stamp in stamps.items():
            name = self._format_at(path)
            if name:
                by_format[name].add(path)
            else:
                unknown[path] = ReadFile(stamp, "", ())
        self.sent.note_files(unknown)
        for name, paths in by_format.items():
            self._take_format(BY_NAME[name], paths, stamps, told)

    def _files(self, changed: Iterable[Path]) -> Iterator[Path]:
        """Yield the files meant by changes: those of a folder that is new, and a database for what it keeps beside."""
        for path in changed:
            name = next((path.name.removesuffix(end) for end in _BESIDE if path.name.endswith(end)), path.name)
            file = path.with_name(name)
            if not any(spot.holds(file) for spot in self.spots):
                continue
            yield from walked(file, FoundFiles()) if file.is_dir() else [file]

    def _stamped(self, paths: Iterable[Path], told: WatchReport) -> Iterator[tuple[Path, FileChange]]:
        gone: list[Path] = []
        for path in sorted(paths):
            try:
                if path.is_file():
                    yield path, FileChange.of(path)
                else:
                    gone.append(path)
            except OSError as error:
                self._tell(UnreadPlace(str(path), str(error.strerror)), told)
        self.sent.drop_files(gone)

    def _format_at(self, path: Path) -> str:
        """Return the name of a file's format, "" if none recognises it."""
        if (known := self.sent.files.get(path)) is not None and known.format:
            return known.format
        spot = next(spot for spot in self.spots if spot.holds(path))
        if spot.sure:
            return spot.formats[0].name
        try:
            found = format_of(head_of(path), spot.formats)
        except BROKEN:
            return ""
        return "" if found is None else found.name

    def _take_format(
        self, known: HistoryFormat, changed: set[Path], stamps: Mapping[Path, FileChange], told: WatchReport
    ) -> None:
        read_with = self._together(known, changed)
        stamps = {path: stamps.get(path) or FileChange.of(path) for path in read_with if path.exists()}
        sessions, broken = self._read(known, sorted(stamps), told)
        others = self._others(known, sessions) - stamps.keys()
        if others:
            stamps |= {path: FileChange.of(path) for path in others}
            sessions, broken = self._read(known, sorted(stamps), told)
        rows: dict[str, Any] = {}
        of_file: defaultdict[Path, set[str]] = defaultdict(set)
        for session in sessions:
            parts = {row["session_id"]: row for row in rows_of(session, known.name, self.tools)}
            rows |= {id_: self._named(row) for id_, row in parts.items()}
            for path in session.files:
                of_file[path] |= parts.keys()
            self._remark(session, told, is_empty=not parts)
        waiting = {id_ for id_ in rows if self._is_shorter(rows[id_])}
        lost = self.sender.send([row for id_, row in rows.items() if id_ not in waiting], told) | waiting
        done = {
            path: ReadFile(stamp, known.name, tuple(sorted(of_file[path])))
            for path, stamp in stamps.items()
            if path not in broken and lost.isdisjoint(of_file[path])
        }
        self.later |= {path for path in broken if is_young(path)}
        self.later |= {path for path in stamps if not waiting.isdisjoint(of_file[path])}
        told.counts["files"] += len(stamps)
        self.sent.note_files(done)

    def _together(self, known: HistoryFormat, changed: set[Path]) -> set[Path]:
        """Return the files that are read with those that have changed, as far as that is known before."""
        new = {path for path in changed if not (path in self.sent.files and self.sent.files[path].ids)}
        match known.read_with:
            case "format":
                return changed | self._known(known, None)
            case "folder":
                return changed | self._known(known, {path.parent for path in changed})
            case "new":
                return changed | self._known(known, {path.parent for path in new})
            case _:
                return changed

    def _known(self, known: HistoryFormat, folders: set[Path] | None) -> set[Path]:
        return {
            path
            for path, file in self.sent.files.items()
            if file.format == known.name and (folders is None or path.parent in folders)
        }

    def _others(self, known: HistoryFormat, sessions: Sequence[Session]) -> set[Path]:
        """Return the files that told of the same sessions when they were read."""
        paths = {path for session in sessions for path in session.files}
        ids = {session.id for session in sessions}
        for path in paths & self.sent.files.keys():
            ids |= set(self.sent.files[path].ids)
        return {
            path
            for path, file in self.sent.files.items()
            if file.format == known.name and not ids.isdisjoint(file.ids) and path.is_file()
        }

    def _read(self, known: HistoryFormat, paths: Sequence[Path], told: WatchReport) -> tuple[list[Session], set[Path]]:
        sessions: list[Session] = []
        broken: set[Path] = set()
        for read in known.read(paths, self.asked):
            if isinstance(read, Session):
                sessions.append(read)
            elif (path := Path(read.place)) in paths and is_young(path):
                broken.add(path)
            elif not (read.is_cut and any(map(is_young, paths))):  # else the rest of the line is still to come
                self._tell(read, told)
        return [session for session in sessions if session.source not in broken], broken

    def _named(self, row: dict[str, Any]) -> dict[str, Any]:
        """Keep the name of a session that only another file has."""
        mark = None if "name" in row else self.sent.mark(row["session_id"])
        return row if mark is None or mark.name is None else {**row, "name": mark.name}

    def _is_shorter(self, row: Mapping[str, Any]) -> bool:
        """Return whether a session has lost messages in a file that may be half written."""
        mark = self.sent.mark(row["session_id"])
        return mark is not None and len(row["messages"]) < mark.count and is_young(Path(row["source"]))

    def _remark(self, session: Session, told: WatchReport, *, is_empty: bool) -> None:
        """Say what a file holds and its session does not: once, and again when it is more."""
        left_out = session.left_out + Counter({WITHOUT_MESSAGE: int(is_empty)})
        said = (str(session.source), f"left out: {', '.join(counted(left_out))}")
        if +left_out and said not in self.told_once:
            self.told_once.add(said)
            told.remarks.append(said)

    def _tell(self, unread: UnreadPlace, told: WatchReport) -> None:
        if (unread.place, unread.reason) not in self.told_once:
            self.told_once.add((unread.place, unread.reason))
            told.failures.append((unread.place, unread.reason))


def _has_changed(path: Path, read: ReadFile | None) -> bool:
    try:
        return read is None or FileChange.of(path) != read.stamp
    except OSError:
        return True


def is_young(path: Path) -> bool:
    """Return whether a file changed just now, so that it may be half written."""
    try:
        return time.time() - path.stat().st_mtime < SETTLED_S
    except OSError:
        return False
