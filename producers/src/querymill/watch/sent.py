"""What was sent, in a file of this machine: a follower that is started again resumes where it stopped.

It is a file, and not on the board, as it is about files of this machine, which nothing else sees. The board forgets its
jobs, and may be emptied. If the file is lost, everything is read and sent once more, and what is stored
already is neither stored nor embedded again.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from querymill.watch.growth import SessionMark
from querymill_shared.contracts.errors import QuerymillError

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, head TEXT, messages TEXT, name TEXT);
CREATE TABLE IF NOT EXISTS files (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, format TEXT, ids TEXT);
CREATE TABLE IF NOT EXISTS tails (inode TEXT PRIMARY KEY, end INTEGER, line INTEGER, last TEXT);
"""


class AlreadyFollowed(QuerymillError):
    """Raised when another process follows the same files into the same collection."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The size of a file in bytes and when it was changed."""

    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> Self:
        """Take the stamp of a file.

        Raises:
            OSError: There is none.
        """
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: how it was then, its format, or "" if it has none, and the sessions that it told of."""

    stamp: FileChange
    format: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """How far a file of lines was read: to byte ``end``, the last line's number, and a hash of what ends there."""

    end: int = 0
    line: int = 0
    last: str = ""


def sent_path(asked: Mapping[str, object]) -> Path:
    """Return the file for what is asked: the board, the collection, the files and how they are read."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    named = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:16]
    return Path(home) / "querymill" / f"watch-{named}.sqlite"


class SentLog:
    """The sessions that were sent and the files that were read. One process at a time has it open."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. One that is damaged is made again.

        Raises:
            AlreadyFollowed: Another process has it open.
            OSError: It cannot be made.
        """
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._open()
        except sqlite3.OperationalError as error:
            raise AlreadyFollowed(f"{path}: {error}; does another process follow these files?") from error
        except sqlite3.DatabaseError:
            for damaged in (path, path.with_name(f"{path.name}-wal")):
                damaged.unlink(missing_ok=True)
            self._open()
        self.files = {
            Path(os.fsdecode(name)): ReadFile(FileChange(size, mtime), format_, tuple(json.loads(ids)))
            for name, size, mtime, format_, ids in self._database.execute("SELECT * FROM files")
        }

    def _open(self) -> None:
        self._database = sqlite3.connect(self.path, timeout=1, isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        # A note is appended, and no write waits for the disk: what a crash of the machine takes is only sent once more.
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("BEGIN EXCLUSIVE")
        for statement in _TABLES.strip().split(";"):
            self._database.execute(statement)
        self._database.execute("COMMIT")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def mark(self, session_id: str) -> SessionMark | None:
        """Return the mark of a session as it was sent last."""
        row = self._database.execute("SELECT head, messages, name FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return None if row is None else SessionMark(*row)

    def note_sessions(self, marks: Mapping[str, SessionMark]) -> None:
        """Note that sessions are stored."""
        rows = [(id_, mark.head, mark.messages, mark.name) for id_, mark in marks.items()]
        self._write("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)", rows)

    def note_files(self, files: Mapping[Path, ReadFile]) -> None:
        """Note that files were read, and that what they told is stored."""
        self.files |= files
        rows = [
            (os.fsencode(path), file.stamp.size, file.stamp.mtime_ns, file.format, json.dumps(file.ids))
            for path, file in files.items()
        ]
        self._write("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", rows)

    def drop_files(self, paths: Iterable[Path]) -> None:
        """Forget files that are no longer there."""
        gone = [path for path in paths if self.files.pop(path, None) is not None]
        self._write("DELETE FROM files WHERE path = ?", [(os.fsencode(path),) for path in gone])

    def tail(self, inode: str) -> Tail:
        """Return how far a file of lines was read."""
        row = self._database.execute("SELECT end, line, last FROM tails WHERE inode = ?", (inode,)).fetchone()
        return Tail() if row is None else Tail(*row)

    def note_tail(self, inode: str, tail: Tail) -> None:
        """Note how far a file of lines was read, and that its lines are stored."""
        self._write("INSERT OR REPLACE INTO tails VALUES (?, ?, ?, ?)", [(inode, tail.end, tail.line, tail.last)])

    def forget(self) -> None:
        """Forget everything: the collection holds nothing any more."""
        self.files.clear()
        for table in ("sessions", "files", "tails"):
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608  # names of ours

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._database.execute("BEGIN")
            self._database.executemany(statement, rows)
            self._database.execute("COMMIT")
