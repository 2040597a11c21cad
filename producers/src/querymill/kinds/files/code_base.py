"""The files of a code base: a directory, or JSON lines. Files that are skipped are listed with the reason."""

import json
import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pydantic

from querymill.ingestion import numbered_lines, rule_broken
from querymill.kinds.files.ignoring import Ignored
from querymill_shared.contracts.fields import without_nul
from querymill_shared.contracts.files.ingest import MAX_FILE_BYTES, MAX_PATH_CHARS, SourceFile

#: A NUL among this many first bytes makes a file binary, as for git.
LOOKED_AT = 8_000
#: In a text that is not UTF-8, unreadable bytes are replaced; if they are more than this share, the file is binary.
MAX_REPLACED_SHARE = 0.1

BINARY = "binary"
TOO_LARGE = f"larger than {MAX_FILE_BYTES} bytes"
LINK = "a symbolic link, not followed"
NOT_UTF8 = "not UTF-8: what cannot be read was replaced"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file to ingest; a ``remark`` says what is changed in it before."""

    path: str
    sha256: str
    size: int
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not ingested; ``failed`` if it should have been."""

    path: str
    reason: str
    failed: bool = False


class CodeBase(Protocol):
    """Where files are read from: once to compare them, and again to send those that changed."""

    def listed(self) -> Iterator[Listed | Skipped]:
        """List the files to ingest, and those that are skipped."""
        ...

    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        """Read those of the files that can still be read."""
        ...


class Directory:
    """The files below a folder that its ignore files let through, without ``.git``; links are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def listed(self) -> Iterator[Listed | Skipped]:
        """List the files in the order of their names."""
        ignored = Ignored.above(self._root)
        yield from (Skipped(path, reason, failed=True) for path, reason in ignored.unread)
        yield from self._within("", ignored)

    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        """See `CodeBase.read`."""
        for path in sorted(paths):
            found = self._file(path)
            if isinstance(found, tuple):
                yield found[0]

    def _within(self, folder: str, above: Ignored) -> Iterator[Listed | Skipped]:
        try:
            entries = sorted(os.scandir(self._root / folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(folder or ".", f"cannot be read: {error.strerror}", failed=True)
            return
        ignored = above.within(self._root / folder)
        yield from (Skipped(path, reason, failed=True) for path, reason in ignored.unread)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or ignored.has(self._root / path, is_folder=is_folder):
                continue
            if is_folder and len(path) > MAX_PATH_CHARS:
                yield Skipped(printable(path), f"path longer than {MAX_PATH_CHARS} characters")
            elif is_folder:
                yield from self._within(path, ignored)
            else:
                yield self._entry(path, entry)

    def _entry(self, path: str, entry: os.DirEntry[str]) -> Listed | Skipped:
        if entry.is_symlink():
            return Skipped(printable(path), LINK)
        found = self._file(path)
        if isinstance(found, Skipped):
            return found
        file, remark = found
        return Listed(file.path, file.sha256, len(file.content.encode()), remark)

    def _file(self, path: str) -> tuple[SourceFile, str] | Skipped:
        shown = printable(path)
        try:
            raw = self._bytes(path)
        except OSError as error:
            return Skipped(shown, f"cannot be read: {error.strerror}", failed=True)
        if isinstance(raw, str):
            return Skipped(shown, raw)
        decoded = text_of(raw)
        if decoded is None:
            return Skipped(shown, BINARY)
        content, remark = decoded
        try:
            return SourceFile(path=path, content=content), remark
        except pydantic.ValidationError as error:
            return Skipped(shown, rule_broken(error))

    def _bytes(self, path: str) -> bytes | str:
        """Read a regular file; a link that has replaced it since is not followed."""
        descriptor = os.open(self._root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return "not a regular file"
            if status.st_size > MAX_FILE_BYTES:
                return TOO_LARGE
            raw = file.read(MAX_FILE_BYTES + 1)
        return TOO_LARGE if len(raw) > MAX_FILE_BYTES else raw


class JsonLines:
    """Files as JSON lines: ``{"path": …, "content": …}``. Of two lines with the same path, the later counts."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def listed(self) -> Iterator[Listed | Skipped]:
        """List what the lines hold."""
        for number, file in self._lines():
            if isinstance(file, str):
                yield Skipped(f"line {number}", file, failed=True)
            else:
                yield Listed(file.path, file.sha256, len(file.content.encode()))

    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        """See `CodeBase.read`."""
        last = {file.path: number for number, file in self._lines() if isinstance(file, SourceFile)}
        for number, file in self._lines():
            if isinstance(file, SourceFile) and file.path in paths and last[file.path] == number:
                yield file

    def _lines(self) -> Iterator[tuple[int, SourceFile | str]]:
        with self._path.open("rb") as stream:
            for number, line in numbered_lines(stream):
                if line is None:
                    yield number, TOO_LARGE
                elif line.strip():
                    yield number, _parsed(line)


def code_base_at(path: Path) -> CodeBase:
    """Open a directory, or a file of JSON lines."""
    return Directory(path) if path.is_dir() else JsonLines(path)


def text_of(raw: bytes) -> tuple[str, str] | None:
    """Return bytes as text, with a remark if some could not be read, or None if they are not text."""
    if b"\x00" in raw[:LOOKED_AT]:
        return None
    text = without_nul(raw.decode("utf-8-sig", errors="replace"))
    replaced = text.count("\ufffd") - raw.count("\ufffd".encode())
    if replaced > len(text) * MAX_REPLACED_SHARE:
        return None
    return text, NOT_UTF8 if replaced else ""


def printable(path: str) -> str:
    """Return a path that can be shown, whatever its bytes."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _parsed(line: bytes) -> SourceFile | str:
    try:
        return SourceFile.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        return rule_broken(error)
