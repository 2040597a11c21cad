"""A file of vectors that a backfill appends to: JSON lines of {"_id", "embedding"}, one for each text.

After a kill, only the last line can be torn; it is dropped when the file is opened again.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from querymill_shared.contracts.errors import QuerymillError

_BEGINNING = b'{"_id": '


class UnusableFile(QuerymillError):
    """Raised when the file holds something else, or another process is writing it. The file is not changed."""


class VectorFile:
    """The vectors written so far: the ``ids`` of their texts, and their ``dimensions`` (None if there are none)."""

    def __init__(self, path: Path) -> None:
        """Open a file to append to, or create it.

        Raises:
            OSError: It cannot be opened.
            UnusableFile: It holds something else, or another process is writing it.
        """
        self.ids: set[str] = set()
        self.dimensions: int | None = None
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

    def write(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> int:
        """Append the vectors of texts that have none yet, and sync them to disk. Return how many were appended.

        Raises:
            UnusableFile: Their dimension is not that of the vectors in the file.
        """
        fresh = [(text_id, vector) for text_id, vector in vectors if text_id not in self.ids]
        for text_id, vector in fresh:
            self._enter(text_id, len(vector), self._path)
        self._file.write(b"".join(line_of(text_id, vector) for text_id, vector in fresh))
        self._file.flush()
        os.fsync(self._file.fileno())
        return len(fresh)

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
                if not (line.startswith(_BEGINNING) or _BEGINNING.startswith(line)):
                    raise UnusableFile(f'{place} is no line of {{"_id", "embedding"}}')
                break
            self._enter(*_read(line, place), place)
            end += len(line)
        return end

    def _enter(self, text_id: str, dimensions: int, place: object) -> None:
        if text_id in self.ids:
            raise UnusableFile(f"{place}: duplicate _id {text_id!r}")
        if self.dimensions not in (None, dimensions):
            raise UnusableFile(
                f"{place}: {dimensions} dimensions where the vectors before have {self.dimensions};"
                " the vectors of another model belong in another file"
            )
        self.ids.add(text_id)
        self.dimensions = dimensions


def line_of(text_id: str, vector: Sequence[float]) -> bytes:
    """Format one vector as a JSON line: nine digits restore every float32 exactly."""
    numbers = ", ".join(["%.9g"] * len(vector)) % tuple(vector)
    return f'{{"_id": {json.dumps(text_id, ensure_ascii=False)}, "embedding": [{numbers}]}}\n'.encode()


def _read(line: bytes, place: str) -> tuple[str, int]:
    try:
        fields = json.loads(line)
        text_id, vector = fields["_id"], fields["embedding"]
    except (ValueError, TypeError, KeyError) as error:
        raise UnusableFile(f'{place} is no line of {{"_id", "embedding"}}') from error
    if not (isinstance(text_id, str) and isinstance(vector, list)):
        raise UnusableFile(f'{place} is no line of {{"_id": text, "embedding": numbers}}')
    return text_id, len(vector)
