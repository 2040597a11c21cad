"""Files that are compressed one by one, or in a wide encoding, read as if they were neither."""

import codecs
import gzip
import zlib
from collections.abc import Callable
from io import BufferedReader, RawIOBase
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

#: How files begin that are not in UTF-8. The longer marks stand first, as they begin with the shorter ones.
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARK_BYTES: Final = 4


class _InUtf8(RawIOBase):
    """A file in another encoding, read as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        super().__init__()
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = b""

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return with how many bytes."""
        is_over = False
        while not self._rest and not is_over:
            octets = self._file.read(len(buffer))
            is_over = not octets
            self._rest = self._decoder.decode(octets, is_over).encode("utf-8", "replace")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def is_compressed(path: Path) -> bool:
    """Return whether the name of a file is that of a compressed one."""
    return path.suffix.lower() in _OPENS


def plain_name(path: Path) -> Path:
    """Return a path without the ending of a compressed file: ``a.jsonl`` for ``a.jsonl.gz``."""
    return path.with_suffix("") if is_compressed(path) else path


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading, as UTF-8 if a mark at its beginning says that it is a text; the mark is left out.

    What a compressed file holds is read piece by piece, however much it is.

    Raises:
        OSError: It cannot be opened.
    """
    opens = _OPENS.get(path.suffix.lower())
    file = path.open("rb") if opens is None else opens(path)
    try:
        start = file.peek(_MARK_BYTES)
        for mark, encoding in _WIDE:
            if start.startswith(mark):
                file.read(len(mark))
                return cast("BinaryIO", BufferedReader(_InUtf8(file, encoding)))
        if start.startswith(codecs.BOM_UTF8):
            file.read(len(codecs.BOM_UTF8))
    except BaseException:
        file.close()
        raise
    return cast("BinaryIO", file)
