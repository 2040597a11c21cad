"""A file of JSON lines that one process appends to. After a kill, the next run can append to it again."""

import fcntl
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

from querymill_shared.contracts.errors import QuerymillError


class UnusableFile(QuerymillError):
    """Raised when the file holds something else, or another process is writing it. The file is not changed."""


class AppendedFile(ABC):
    """Lines that earlier runs wrote stay. After a kill, only the last one can be torn; it is dropped when it is opened.

    Attributes:
        BEGINNING: How each line begins. What else stands there without an end of line is not cut off.
        WHAT: What a line is, for the message of an error.
    """

    BEGINNING: ClassVar[bytes]
    WHAT: ClassVar[str]

    def __init__(self, path: Path) -> None:
        """Open a file to append to, or create it.

        Raises:
            OSError: It cannot be opened.
            UnusableFile: It holds something else, or another process is writing it.
        """
        self._path = path
        self._file = path.open("a+b")
        try:
            self._keep_others_out()
            self._file.truncate(self._end_of_whole_lines())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and release its lock."""
        self._file.close()

    def append(self, lines: bytes) -> None:
        """Append whole lines, which are on the disk when this returns."""
        self._file.write(lines)
        self._file.flush()
        os.fsync(self._file.fileno())

    @abstractmethod
    def enter(self, line: bytes, place: str) -> None:
        """Take note of a line of an earlier run.

        Raises:
            UnusableFile: It is none of ours; the message begins with its place.
        """

    def _keep_others_out(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UnusableFile(f"{self._path}: another process is writing it") from error

    def _end_of_whole_lines(self) -> int:
        """Read the file. Return where its last whole line ends, in bytes."""
        end = 0
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            place = f"{self._path}: line {number}"
            if not line.endswith(b"\n"):
                # Cut off nothing but what an interrupted write of ours can have left.
                if not (line.startswith(self.BEGINNING) or self.BEGINNING.startswith(line)):
                    raise UnusableFile(f"{place} is no line of {self.WHAT}")
                break
            self.enter(line, place)
            end += len(line)
        return end
