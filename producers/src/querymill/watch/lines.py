"""Following files of JSON lines: what is appended is sent, once its line is complete."""

import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import MAX_LINE_BYTES, BadLine, GoodLine, Lines
from querymill.ingesting.submitting import ingest, pack
from querymill.watch.changes import Roots
from querymill.watch.sent import SentLog, Tail
from querymill.watch.sessions import SessionSender, WatchReport
from querymill_histories.compressed import is_compressed

#: Endings of the files of a folder that are read.
SUFFIXES: Final = (".jsonl", ".ndjson")
#: Bytes before the end of what was read by which a file is recognised that was written again.
_LAST_BYTES: Final = 256
#: Bytes of lines that are sent together.
BATCH_BYTES: Final = 4 << 20
#: An unfinished last line that is whole JSON is taken when its file was left alone for so many seconds.
SETTLED_S: Final = 2.0


@dataclass(slots=True)
class LineFollower:
    """Sends the lines that files gain.

    A file that is renamed is read from where it was. Another file in its place, and a file that was cut or rewritten,
    are read from their beginning; what is stored already is not stored again. Files that ``leaves_out`` matches are
    skipped in folders.
    """

    paths: Sequence[Path]
    mill: Querymill
    lines: Lines[Any]
    collection: str
    sender: SessionSender
    sent: SentLog
    leaves_out: Callable[[Path], bool] = lambda _: False
    later: set[Path] = field(default_factory=set)

    def roots(self) -> Roots:
        """Return what is to be watched."""
        return Roots.of(self.paths)

    def everything(self) -> set[Path]:
        """Return the files that are there and not as they were when they were read."""
        found: set[Path] = set()
        for path in self.paths:
            found.update(filter(self._is_followed, path.rglob("*")) if path.is_dir() else [path])
        return {path for path in found if self._has_more(path)}

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Send the lines that files have gained."""
        for path in sorted({*changed, *self.later}):
            self.later.discard(path)
            if self._is_followed(path) and path.is_file():
                self._take_file(path, told)

    def _is_followed(self, path: Path) -> bool:
        if path in self.paths:
            return True
        if is_compressed(path) or all(root not in path.parents for root in self.paths):
            return False  # what is compressed after a rotation was read before
        named = any(end in SUFFIXES for end in path.suffixes[-2:])  # log.jsonl, and log.jsonl.1 of a rotation
        return named and not self.leaves_out(path)

    def _has_more(self, path: Path) -> bool:
        try:
            status = path.stat()
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and self.sent.tail(_inode(status)).end != status.st_size

    def _take_file(self, path: Path, told: WatchReport) -> None:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                inode = _inode(status)
                tail = self.sent.tail(inode)
                if tail.end > status.st_size or tail.last != _hash_before(file, tail.end):
                    tail = Tail()
                while (read := self._take_some(path, file, tail, status, told)) is not None:
                    tail = read
                    self.sent.note_tail(inode, tail)
        except OSError as error:
            told.failures.append((str(path), str(error.strerror)))

    def _take_some(
        self, path: Path, file: BinaryIO, tail: Tail, status: os.stat_result, told: WatchReport
    ) -> Tail | None:
        """Send some of the next lines, and return how far the file is read; None if nothing more can be sent now."""
        lines: list[tuple[int, bytes]] = []
        size = 0
        file.seek(tail.end)
        is_young = time.time() - status.st_mtime < SETTLED_S
        while size < BATCH_BYTES and (line := file.readline(MAX_LINE_BYTES)):
            if not line.endswith(b"\n") and (is_young or not _is_json(line)):
                if is_young:
                    self.later.add(path)
                break
            size += len(line)
            lines.append((tail.line + len(lines) + 1, line))
        if not lines or not self._send(path, lines, told):
            return None
        end = tail.end + size
        return Tail(end, lines[-1][0], _hash_before(file, end))

    def _send(self, path: Path, numbered: Sequence[tuple[int, bytes]], told: WatchReport) -> bool:
        """Send lines, and return whether all that keep to the rules are stored."""
        told.counts["files"] += 1
        good: list[GoodLine[Any]] = []
        rows: list[dict[str, Any]] = []
        for number, line in numbered:
            if not line.strip():
                continue
            read = self.lines.parse(number, line)
            if isinstance(read, BadLine):
                told.failures.append((f"{path}:{number}", read.reason))
            else:
                good.append(read)
                rows.append(json.loads(line))
        if self.lines.growth is not None:
            return not self.sender.send(rows, told)
        lost = False
        for outcome in ingest(self.mill, pack(good, self.lines.asking(self.collection)), vectors=False):
            if outcome.document is not None and outcome.result is not None:
                told.counts[outcome.result.outcome] += 1
            elif outcome.document is not None:
                lost = True
                told.failures.append((f"{path}: {outcome.document}", outcome.reason))
        return not lost


def _hash_before(file: BinaryIO, end: int) -> str:
    """Return a hash of the last bytes before a place, "" at the beginning."""
    if end == 0:
        return ""
    start = max(end - _LAST_BYTES, 0)
    file.seek(start)
    return hashlib.sha256(file.read(end - start)).hexdigest()


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _inode(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"
