"""Archives of documents: unpacked into a folder, within limits. Nothing is written outside of that folder."""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from querymill_reading.document import ReadLimits, Unreadable

#: The endings of archives.
SUFFIXES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_AT_ONCE: Final = 1 << 20


def is_archive(name: str) -> bool:
    """Return whether the name of a file is that of an archive."""
    return name.lower().endswith(SUFFIXES)


def unpack(archive: Path, into: Path, limits: ReadLimits) -> list[tuple[str, str]]:
    """Unpack an archive, and return its members with the reason why one was left out, or "".

    Links, devices and paths that lead out of the archive are left out. Archives within are not unpacked.

    Raises:
        Unreadable: It is broken, or holds more than the limits allow. What was unpacked until then stays.
    """
    opens = _zipped if zipfile.is_zipfile(archive) else _tarred
    budget = _Budget(limits)
    told: list[tuple[str, str]] = []
    try:
        for name, stream, why in opens(archive):
            budget.count_member()
            reason = why or _why_unsafe(name)
            if not reason and stream is not None:
                budget.copy(stream, into / PurePosixPath(name))
            told.append((name[:500], reason))
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        EOFError,
        OSError,
        NotImplementedError,
        ValueError,
        RuntimeError,
    ) as error:
        raise Unreadable(f"a broken archive: {str(error)[:200]}") from error
    return told


def check_members(archive: zipfile.ZipFile, limits: ReadLimits) -> None:
    """Refuse an archive that unpacks to more than the limits allow.

    Raises:
        Unreadable: It does.
    """
    members = archive.infolist()
    if len(members) > limits.members:
        raise Unreadable(f"{len(members)} members, at most {limits.members} are unpacked")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.unpacked_bytes:
        raise Unreadable(f"unpacks to {unpacked} bytes, at most {limits.unpacked_bytes} are unpacked")


class _Budget:
    """What may still be unpacked."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._members = 0
        self._bytes = 0

    def count_member(self) -> None:
        self._members += 1
        if self._members > self._limits.members:
            raise Unreadable(f"more than {self._limits.members} members")

    def copy(self, stream: IO[bytes], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while piece := stream.read(_AT_ONCE):
                self._bytes += len(piece)
                if self._bytes > self._limits.unpacked_bytes:
                    raise Unreadable(f"unpacks to more than {self._limits.unpacked_bytes} bytes")
                file.write(piece)


def _zipped(path: Path) -> Iterator[tuple[str, IO[bytes] | None, str]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            if (member.external_attr >> 16) & 0o170000 == 0o120000:
                yield member.filename, None, "a symbolic link"
            elif member.flag_bits & 1:
                yield member.filename, None, "encrypted with a password"
            else:
                with archive.open(member) as stream:
                    yield member.filename, stream, ""


def _tarred(path: Path) -> Iterator[tuple[str, IO[bytes] | None, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isdir():
                continue
            stream = archive.extractfile(member) if member.isreg() else None
            yield member.name, stream, "" if stream is not None else "neither a file nor a folder"


def _why_unsafe(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\x00" in name or ":" in path.parts[0]:
        return "its path leads out of the archive"
    return ""
