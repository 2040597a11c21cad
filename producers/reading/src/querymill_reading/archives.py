"""Archives of documents: unpacked into a folder, within limits. Nothing is written outside of that folder."""

import errno
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from querymill_reading.document import ReadLimits, Unreadable

#: The endings of archives.
SUFFIXES: Final = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_AT_ONCE: Final = 1 << 20
#: What a damaged member of a ZIP raises: the others can be read, as the file has a directory.
_DAMAGED: Final = (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error, lzma.LZMAError)
#: What a folder of this machine says of a name that it cannot hold.
_NAMES_REFUSED: Final = {
    errno.EEXIST: "its name occurs twice in the archive",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ENOTDIR: "its folder has the name of a file",
    errno.EISDIR: "its name is that of a folder",
}
#: The flag of a ZIP's member whose name is UTF-8, and the field that repeats the name in it.
_IS_UTF8: Final = 0x800
_WINDOWS: Final = 0
_UNICODE_PATH: Final = 0x7075


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
                reason = _copied(stream, into / PurePosixPath(name), budget)
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


def _copied(stream: IO[bytes], target: Path, budget: _Budget) -> str:
    """Write a member; return why it cannot be, or "". Nothing is left of one that is damaged."""
    try:
        budget.copy(stream, target)
    except _DAMAGED as error:
        target.unlink(missing_ok=True)
        return f"damaged: {str(error)[:200]}"
    except OSError as error:
        if error.errno in _NAMES_REFUSED:
            return _NAMES_REFUSED[error.errno]
        raise
    return ""


def name_of(member: zipfile.ZipInfo) -> str:
    """Return the name of a member. Many programs write UTF-8 and do not say so, Slack's exports among them."""
    if member.flag_bits & _IS_UTF8:
        return member.filename
    raw = member.orig_filename.encode("cp437")
    if (told := _unicode_path(member.extra, raw)) is not None:
        return told
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return member.filename


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """Return the name that a member has in UTF-8 beside its own, if it is of that name still."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _UNICODE_PATH and len(field) > 5 and field[1:5] == struct.pack("<I", zlib.crc32(raw)):
            try:
                return field[5:].decode("utf-8")
            except UnicodeDecodeError:
                return None
    return None


def _zipped(path: Path) -> Iterator[tuple[str, IO[bytes] | None, str]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = name_of(member)
            if name.endswith("/"):
                continue
            if member.create_system == _WINDOWS:  # some of its programs part folders by its own sign
                name = name.replace("\\", "/")
            if (member.external_attr >> 16) & 0o170000 == 0o120000:
                yield name, None, "a symbolic link"
            elif member.flag_bits & 1:
                yield name, None, "encrypted with a password"
            else:
                try:
                    stream = archive.open(member)
                except _DAMAGED as error:
                    yield name, None, f"damaged: {str(error)[:200]}"
                    continue
                with stream:
                    yield name, stream, ""


def _tarred(path: Path) -> Iterator[tuple[str, IO[bytes] | None, str]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isdir():
                continue
            stream = archive.extractfile(member) if member.isreg() else None
            yield member.name, stream, "" if stream is not None else "neither a file nor a folder"


def _why_unsafe(name: str) -> str:
    path = PurePosixPath(name)
    if not path.parts:
        return "it has no name"
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\x00" in name or ":" in path.parts[0]:
        return "its path leads out of the archive"
    return ""
