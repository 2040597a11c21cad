"""What there is to read at a few paths: files, folders, patterns, archives, and the `metadata.csv` beside them."""

import csv
import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final

from querymill_reading.archives import is_archive
from querymill_reading.formats import BY_SUFFIX

#: Beside documents: a line for each, with its file and the fields that it has.
METADATA_FILE: Final = "metadata.csv"
#: What a line of it may call the file.
_FILE_COLUMNS: Final = ("file", "path", "name", "filename")
#: Bytes of a file of metadata.
MAX_METADATA_BYTES: Final = 16 << 20
_HASHED_AT_ONCE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file to read. ``place`` names it for good: its path, or ``archive!member``. ``root`` is where it was found.

    ``given`` are the fields that `metadata.csv` has of it.
    """

    path: Path
    place: str
    root: str
    given: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def single(cls, path: Path) -> "FileSource":
        """A file that was given by itself; a `metadata.csv` beside it counts too."""
        given = read_metadata(path.parent / METADATA_FILE)
        fields = {} if isinstance(given, LeftOut) else given.get(path.name, {})
        return cls(path, printable(str(path)), printable(str(path.parent)), fields)

    @property
    def name(self) -> str:
        """The name of the file."""
        return "standard input" if self.place.startswith("-/") else PurePath(self.place).name

    @property
    def id(self) -> str:
        """The id of its report: a hash of the place, so that a changed file replaces what was read before."""
        return hashlib.sha1(self.place.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not read, and why; ``failed`` if it should have been."""

    place: str
    reason: str
    failed: bool = False


def paths_at(written: Iterable[str]) -> list[Path]:
    """Return the paths that are meant by paths and patterns, each once: ``2023/**/*.pdf`` stands for all that match."""
    found: dict[Path, None] = {}
    for text in written:
        path = Path(text)
        if path.exists() or not glob.has_magic(text):
            found[path] = None
        else:
            found.update(dict.fromkeys(Path(match) for match in _matches(text)))
    return list(found)


def _matches(pattern: str) -> list[str]:
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  # of an absolute pattern too


def sources_in(folder: Path, root: str, *, prefix: str = "") -> Iterator[FileSource | LeftOut]:
    """Yield the documents below a folder, in the order of their names. Links are not followed.

    Hidden files are passed over, files without a known ending are left out. ``prefix`` stands for the folder in the
    places, if they are members of an archive.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield LeftOut(prefix or str(folder), f"cannot be read: {error.strerror}", failed=True)
        return
    given = read_metadata(folder / METADATA_FILE)
    if isinstance(given, LeftOut):
        yield given
        given = {}
    for entry in entries:
        if entry.name.startswith((".", "~$")) or entry.name == METADATA_FILE:
            continue
        place = printable(f"{prefix}{entry.name}" if prefix else str(folder / entry.name))
        if entry.is_dir(follow_symlinks=False):
            yield from sources_in(folder / entry.name, root, prefix=f"{place}/" if prefix else "")
        elif why := _why_not(entry, in_archive=bool(prefix)):
            yield LeftOut(place, why)
        else:
            yield FileSource(folder / entry.name, place, root, given.get(entry.name, {}))


def _why_not(entry: os.DirEntry[str], *, in_archive: bool) -> str:
    """Return why an entry of a folder is no document, or nothing."""
    if entry.is_symlink():
        return "a symbolic link, not followed"
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    is_known = PurePath(entry.name).suffix.lower() in BY_SUFFIX
    return "" if is_known or (is_archive(entry.name) and not in_archive) else "not a document"


def read_metadata(path: Path) -> dict[str, dict[str, str]] | LeftOut:
    """Read a `metadata.csv`: the fields of each file, without empty ones."""
    try:
        if not path.is_file():
            return {}
        if path.stat().st_size > MAX_METADATA_BYTES:
            return LeftOut(str(path), f"larger than {MAX_METADATA_BYTES} bytes", failed=True)
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            column = next((name for name in _FILE_COLUMNS if name in (reader.fieldnames or ())), None)
            if column is None:
                return LeftOut(str(path), f"must have a column named {' or '.join(_FILE_COLUMNS)}", failed=True)
            return {
                PurePath(row[column] or "").name: {
                    name: value.strip()
                    for name, value in row.items()
                    if isinstance(name, str) and name != column and isinstance(value, str) and value.strip()
                }
                for row in reader
            }
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        return LeftOut(str(path), f"cannot be read: {error}", failed=True)


@dataclass(frozen=True, slots=True)
class FileStamp:
    """How a file was when it was read. ``asked`` is a hash of what else the result depends on.

    If size and time of change are the same, the file is not opened. If only its time is another, its content decides.
    """

    size: int
    mtime_ns: int
    sha256: str
    asked: str

    def __str__(self) -> str:
        return f"{self.size}:{self.mtime_ns}:{self.sha256}:{self.asked}"

    @classmethod
    def of(cls, path: Path, asked: str) -> "FileStamp":
        """Take the stamp of a file.

        Raises:
            OSError: It cannot be read.
        """
        digest = hashlib.sha256()
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            while piece := file.read(_HASHED_AT_ONCE):
                digest.update(piece)
        return cls(status.st_size, status.st_mtime_ns, digest.hexdigest(), asked)


def is_unchanged(written: str, path: Path, asked: str) -> bool:
    """Return whether a file is as it was when a stamp was written.

    Raises:
        OSError: It cannot be read.
    """
    try:
        size, mtime, sha256, before = written.split(":")
    except ValueError:
        return False
    status = path.stat()
    if before != asked or str(status.st_size) != size:
        return False
    return str(status.st_mtime_ns) == mtime or FileStamp.of(path, asked).sha256 == sha256


def sha256_in(written: str) -> str | None:
    """Return the hash of the content in a stamp, None if it is no stamp."""
    parts = written.split(":")
    return parts[2] if len(parts) == 4 and re.fullmatch("[0-9a-f]{64}", parts[2]) else None


def printable(place: str) -> str:
    """Return a path that can be stored and shown, whatever its bytes."""
    return place.encode(errors="surrogateescape").decode(errors="replace")
