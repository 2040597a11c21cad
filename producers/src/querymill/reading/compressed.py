"""Files that are compressed one by one, read as if they were not."""

import gzip
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import zstandard

_OPENS: Final[dict[str, Callable[[Path], Any]]] = {
    ".gz": gzip.open,
    ".zst": lambda path: BufferedReader(zstandard.open(path)),
}
#: What a damaged file raises, beside OSError.
BROKEN: Final = (EOFError, zstandard.ZstdError)


def is_compressed(path: Path) -> bool:
    """Return whether the name of a file is that of a compressed one."""
    return path.suffix.lower() in _OPENS


def plain_name(path: Path) -> Path:
    """Return a path without the ending of a compressed file: ``a.jsonl`` for ``a.jsonl.gz``."""
    return path.with_suffix("") if is_compressed(path) else path


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading. What a compressed one holds is read piece by piece, however much it is.

    Raises:
        OSError: It cannot be opened.
    """
    opens = _OPENS.get(path.suffix.lower())
    return path.open("rb") if opens is None else cast("BinaryIO", opens(path))
