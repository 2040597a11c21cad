"""Find histories, in the places where tools keep them and by what files begin with, and read what was found."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from querymill_histories.files import BROKEN, head_of, reason_of
from querymill_histories.formats import BY_NAME, FORMATS
from querymill_histories.session import Head, HistoryFormat, ReadOptions, Session, UnreadPlace

#: How an SQLite file begins.
_DATABASE: Final = b"SQLite format 3\0"
#: Fields of a JSON file that are named.
_FIELDS_NAMED: Final = 6

#: Folders that hold no histories, and very many files.
_NOT_WALKED: Final = frozenset({".git", "node_modules", ".venv", "__pycache__"})


@dataclass(slots=True)
class FoundFiles:
    """The files of each format, those of none, and what could not be read.

    ``archives`` maps folders into which archives were unpacked to how these are shown.
    """

    files: dict[str, list[Path]] = field(default_factory=dict)
    unknown: list[Path] = field(default_factory=list)
    unread: list[UnreadPlace] = field(default_factory=list)
    archives: dict[Path, str] = field(default_factory=dict)

    def shown(self, place: str) -> str:
        """Return a path as it is shown: that of a member of an archive is ``export.zip!/chats.json``."""
        for folder, archive in self.archives.items():
            if place.startswith(f"{folder}"):
                return archive + place.removeprefix(str(folder))
        return place

    def add(self, path: Path, known: HistoryFormat | None) -> None:
        """Note a file, once."""
        held = self.unknown if known is None else self.files.setdefault(known.name, [])
        if path not in held:
            held.append(path)


def format_of(head: Head, formats: Sequence[HistoryFormat] = FORMATS) -> HistoryFormat | None:
    """Return the format that recognises a file, None if there is none."""
    return next((known for known in formats if known.recognise(head)), None)


def find(paths: Iterable[Path], only: HistoryFormat | None = None) -> FoundFiles:
    """Find the histories at paths. Folders are walked.

    Args:
        paths: Files and folders that exist.
        only: The format of all files that are named; in folders, others are left out.
    """
    found = FoundFiles()
    for path in paths:
        if path.is_dir():
            for file in walked(path, found):
                _add_recognised(file, found, FORMATS if only is None else (only,))
        elif only is not None:
            found.add(path, only)
        else:
            _add_recognised(path, found, FORMATS)
    return found


def why_unknown(path: Path) -> str:
    """Say why no format recognises a file: what it is, as far as that can be seen."""
    try:
        return f"not recognised: {_described(head_of(path))} (formats tried: {len(FORMATS)})"
    except BROKEN as error:
        return f"not recognised: {reason_of(error)}"


def _described(head: Head) -> str:
    if not head.start.strip(b"\0 \t\r\n"):
        return "nothing is in it"
    if head.start.startswith(_DATABASE):
        return "an SQLite database without the tables of any tool that is known"
    if fields := ", ".join(list(head.records[0])[:_FIELDS_NAMED]) if head.records else "":
        return f"JSON whose fields are those of no format: {fields}"
    if head.text.lstrip()[:1] in ("{", "["):
        return "JSON without an object that a format has, or broken JSON"
    if "\0" in head.text:
        return "no text"
    return "text whose beginning is that of no chat, mailbox or log"


def read_sessions(found: FoundFiles, asked: ReadOptions | None = None) -> Iterator[tuple[str, Session | UnreadPlace]]:
    """Read the files that were found, format by format.

    Yields:
        The name of the format, and a session or a place that could not be read.
    """
    for name, files in found.files.items():
        for read in BY_NAME[name].read(files, asked or ReadOptions()):
            yield name, read


def _add_recognised(path: Path, found: FoundFiles, formats: Sequence[HistoryFormat]) -> None:
    try:
        found.add(path, format_of(head_of(path), formats))
    except BROKEN as error:
        found.unread.append(UnreadPlace(str(path), reason_of(error)))


def walked(folder: Path, found: FoundFiles) -> Iterator[Path]:
    """Yield the files below a folder, in the order of their names. Links to folders are not followed."""

    def note(error: OSError) -> None:
        found.unread.append(UnreadPlace(str(error.filename or folder), reason_of(error)))

    for parent, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(set(folders) - _NOT_WALKED)
        yield from (path for name in sorted(files) if (path := Path(parent, name)).is_file())


def places(
    formats: Sequence[HistoryFormat], home: Path, near: Path, environment: Mapping[str, str]
) -> Iterator[tuple[HistoryFormat, Path]]:
    """Yield the places of each format that exist.

    Args:
        formats: Of these formats.
        home: The home directory.
        near: The working directory, where some tools keep the history of a project.
        environment: Its variables may name other places: ``$CODEX_HOME/sessions``.
    """
    for known in formats:
        for pattern in known.homes:
            yield from ((known, path) for path in _matches(pattern, home, environment))
        for pattern in known.near:
            yield from ((known, path) for path in _matches(pattern, near, environment))


def _matches(pattern: str, root: Path, environment: Mapping[str, str]) -> list[Path]:
    if pattern.startswith("$"):
        variable, _, pattern = pattern[1:].partition("/")
        if not environment.get(variable):
            return []
        root = Path(environment[variable])
    return sorted(root.glob(pattern))
