"""Files that are compressed one by one, read as if they were not."""

import gzip
import zlib
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

try:
    import zstandard
except ModuleNotFoundError:  # it weighs more than the whole client, and few files need it
    zstandard = None  # type: ignore[assignment]

#: What to do where Zstandard is missing. No package index has this distribution.
INSTALL_HINT: Final = "in a checkout of Querymill, run pip install './producers/histories[zstd]'"


def _open_zstandard(path: Path) -> BufferedReader:
    if zstandard is None:
        raise OSError(f"a .zst file needs zstandard; {INSTALL_HINT}")
    return BufferedReader(zstandard.open(path))


_OPENS: Final[dict[str, Callable[[Path], Any]]] = {".gz": gzip.open, ".zst": _open_zstandard}
#: What a damaged file raises, beside OSError.
BROKEN: Final[tuple[type[Exception], type[Exception], type[Exception]]] = (
    EOFError,
    zlib.error,
    zstandard.ZstdError if zstandard else EOFError,
)


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
