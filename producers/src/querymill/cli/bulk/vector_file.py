"""A file of vectors that a backfill appends to: JSON lines of {"_id", "embedding"}, one for each text.

After a kill, only the last line can be torn; it is dropped when the file is opened again.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from querymill.cli.bulk.appended_file import AppendedFile, UnusableFile


class VectorFile(AppendedFile):
    """The vectors written so far: the ``ids`` of their texts, and their ``dimensions`` (None if there are none)."""

    BEGINNING = b'{"_id": '
    WHAT = '{"_id", "embedding"}'

    def __init__(self, path: Path) -> None:
        """See `AppendedFile`."""
        self.ids: set[str] = set()
        self.dimensions: int | None = None
        super().__init__(path)

    def write(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> int:
        """Append the vectors of texts that have none yet, and sync them to disk. Return how many were appended.

        Raises:
            UnusableFile: Their dimension is not that of the vectors in the file.
        """
        fresh = [(text_id, vector) for text_id, vector in vectors if text_id not in self.ids]
        for text_id, vector in fresh:
            self._enter(text_id, len(vector), self._path)
        self.append(b"".join(line_of(text_id, vector) for text_id, vector in fresh))
        return len(fresh)

    def enter(self, line: bytes, place: str) -> None:
        """Take note of a vector of an earlier run."""
        self._enter(*_read(line, place), place)

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
