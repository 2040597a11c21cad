"""Files between the caller and the process that reads: copies in a folder of that process, which may be hostile.

Whatever lies in the folder may be a link, or be replaced at any moment, so nothing in it is opened by a path that leads
through it twice, written over, or taken for what it was.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, Final
from uuid import uuid4

from querymill_reading.document import NoRoom, Unreadable

_AT_ONCE: Final = 1 << 20
_WORK: Final = "work"
_UNPACKED: Final = "unpacked"


class _NotThere(Exception):
    """Raised when a file that the process named is not there as a file."""


class HandingFolder:
    """The folder of one process: it may change what is in it, and the caller puts files there and takes files out."""

    def __init__(self) -> None:
        # The process may own its folder, so the folder must lie in one that it cannot change.
        self._outer = Path(tempfile.mkdtemp(prefix="querymill-reading-"))
        self._outer.chmod(0o711)
        self.path = self._outer / _WORK
        self.path.mkdir(0o700)

    @property
    def unpacked(self) -> Path:
        """Where the process unpacks archives."""
        return self.path / _UNPACKED

    def put(self, path: Path, max_bytes: int | None = None) -> Path:
        """Copy a file into the folder, and return the copy.

        Raises:
            Unreadable: It is not there, no regular file, or too large; `NoRoom` if there is no room for the copy.
        """
        try:
            # Opening a pipe must not wait for its writer.
            source = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
        except (OSError, ValueError) as error:
            raise Unreadable(f"cannot be read: {_said(error)}") from error
        with source:
            status = os.fstat(source.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("it is no regular file")
            if max_bytes is not None and status.st_size > max_bytes:
                raise Unreadable(f"{status.st_size} bytes, at most {max_bytes} are read")
            return self._copied(source, status.st_size)

    def _copied(self, source: IO[bytes], size: int) -> Path:
        copy = self.path / uuid4().hex
        try:
            # Exclusive: it follows no link that lies there.
            with os.fdopen(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC), "wb") as target:
                os.fchmod(target.fileno(), 0o644)  # the process may be another user's
                _copy(source, target, size)
        except OSError as error:
            raise NoRoom(f"there is no room for it in {self._outer.parent}: {_said(error)}") from error
        return copy

    def take(self, names: Iterable[str], into: Path) -> None:
        """Copy the files of these names out of what was unpacked. What is no regular file is left out.

        Raises:
            Unreadable: There is no room for them.
        """
        for name in names:
            with suppress(_NotThere), self._unpacked_file(PurePosixPath(name)) as source:
                status = os.fstat(source.fileno())
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                    _write_new(source, into / PurePosixPath(name), status.st_size)

    def clear(self) -> None:
        """Remove what was unpacked, in whole or in part."""
        shutil.rmtree(self.unpacked, ignore_errors=True)

    def _unpacked_file(self, name: PurePosixPath) -> IO[bytes]:
        """Open a file step by step, and follow no link.

        Raises:
            _NotThere: It is a link, below one, or not there.
        """
        if name.is_absolute() or ".." in name.parts:
            raise _NotThere
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in (_UNPACKED, *name.parts[:-1]):
                inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            return os.fdopen(os.open(name.name, flags, dir_fd=folder), "rb")
        except OSError as error:
            raise _NotThere from error
        finally:
            os.close(folder)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self._outer, ignore_errors=True)


def _write_new(source: IO[bytes], target: Path, size: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as written:
            _copy(source, written, size)
    except OSError as error:
        raise NoRoom(f"cannot be unpacked: {_said(error)}") from error


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    """Copy as much as there was when it began: a file may grow."""
    while size > 0 and (piece := source.read(min(_AT_ONCE, size))):
        target.write(piece)
        size -= len(piece)


def _said(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
