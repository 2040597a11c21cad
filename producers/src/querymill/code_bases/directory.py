"""A directory as a code base: what its ignore files let through, links inside it once, submodules as part of it."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from typing_extensions import override

from querymill.code_bases.attributes import StatedKind
from querymill.code_bases.decoding import printable
from querymill.code_bases.listing import CodeBase, Entry, ListedFile, NotedFolder, Skipped
from querymill.code_bases.reading import read_file
from querymill.code_bases.submodules import Rules
from querymill_shared.contracts.files.ingest import MAX_PATH_CHARS, SourceFile

GIT: Final = ".git"
LINK_OUT: Final = "a symbolic link out of the folder, not followed"
LINK_AGAIN: Final = "a symbolic link to what is read under its own name"
LINK_BROKEN: Final = "a symbolic link that leads nowhere"
SUBMODULE: Final = "a submodule: its files are read, by its own ignore files"
NOT_CHECKED_OUT: Final = "a submodule that is not checked out"
OTHER_REPOSITORY: Final = "a repository of its own and no submodule: ingest it by itself"


@dataclass(frozen=True, slots=True)
class _Place:
    """A file that was listed: where it really is, and the kind that is stated for it."""

    real: Path
    kind: StatedKind | None


@dataclass(slots=True)
class _Walk:
    """What one walk has met: real files and folders, and links that are followed once all else is read."""

    seen: set[Path] = field(default_factory=set)
    links: list[tuple[str, Rules]] = field(default_factory=list)


class Directory(CodeBase):
    """The files below a folder that its ignore files let through, without ``.git``.

    A link to a place in the folder is followed if that place is not read under its own name; no other link is.
    """

    def __init__(self, root: Path, *, include_secrets: bool = False) -> None:
        self._root = root.resolve()
        self._include_secrets = include_secrets
        self._places: dict[str, _Place] = {}

    def listed(self) -> Iterator[Entry]:
        """List the files in the order of their names, those behind links last."""
        rules, walk = Rules.above(self._root), _Walk()
        yield from _unread(rules)
        yield from self._within("", self._root, rules, walk)
        while walk.links:
            path, around = walk.links.pop(0)
            yield from self._followed(path, around, walk)

    @override
    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        for path in sorted(paths):
            found = self._file(path, self._places.get(path) or _Place(self._root / path, None))
            if isinstance(found, tuple):
                yield found[0]

    def _within(self, folder: str, real: Path, above: Rules, walk: _Walk) -> Iterator[Entry]:
        if real in walk.seen:
            yield Skipped(printable(folder), LINK_AGAIN)
            return
        walk.seen.add(real)
        try:
            entries = sorted(os.scandir(real), key=lambda entry: entry.name)
        except OSError as error:
            yield Skipped(printable(folder) or ".", f"cannot be read: {error.strerror}", failed=True)
            return
        rules = above.within(self._root / folder)
        yield from _unread(rules)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == GIT or rules.ignored.has(self._root / path, is_folder=is_folder):
                continue
            if entry.is_symlink():
                walk.links.append((path, rules))
            elif is_folder:
                yield from self._folder(path, real / entry.name, rules, walk)
            else:
                yield self._entry(path, real / entry.name, rules, walk)

    def _folder(self, path: str, real: Path, rules: Rules, walk: _Walk) -> Iterator[Entry]:
        is_repository = (real / GIT).exists()
        is_submodule = rules.submodules is not None and real in rules.submodules
        if len(path) > MAX_PATH_CHARS:
            yield Skipped(printable(path), f"path longer than {MAX_PATH_CHARS} characters")
        elif is_repository and rules.submodules is not None and not is_submodule:
            yield Skipped(printable(path), OTHER_REPOSITORY)
        elif is_repository:
            yield from [NotedFolder(printable(path), SUBMODULE)] if is_submodule else []
            yield from self._within(path, real, Rules.of_repository(real), walk)
        elif is_submodule and _is_empty(real):
            yield Skipped(printable(path), NOT_CHECKED_OUT)
        else:
            yield from self._within(path, real, rules, walk)

    def _followed(self, path: str, rules: Rules, walk: _Walk) -> Iterator[Entry]:
        """Read what a link leads to, if it is in the folder and not read yet. So no circle is walked twice."""
        try:
            real = (self._root / path).resolve(strict=True)
        except (OSError, RuntimeError):
            yield Skipped(printable(path), LINK_BROKEN)
            return
        if not real.is_relative_to(self._root) or GIT in real.parts[len(self._root.parts) :]:
            yield Skipped(printable(path), LINK_OUT)
        elif real in walk.seen:
            yield Skipped(printable(path), LINK_AGAIN)
        elif real.is_dir():
            yield from self._folder(path, real, rules, walk)
        else:
            yield self._entry(path, real, rules, walk)

    def _entry(self, path: str, real: Path, rules: Rules, walk: _Walk) -> ListedFile | Skipped:
        if real in walk.seen:
            return Skipped(printable(path), LINK_AGAIN)
        walk.seen.add(real)
        place = _Place(real, rules.attributes.kind_of(self._root / path))
        found = self._file(path, place)
        if isinstance(found, Skipped):
            return found
        file, remark = found
        self._places[path] = place
        return ListedFile(file.path, file.sha256, len(file.content.encode()), remark)

    def _file(self, path: str, place: _Place) -> tuple[SourceFile, str] | Skipped:
        return read_file(path, place.real, place.kind, include_secrets=self._include_secrets)


def _unread(rules: Rules) -> Iterator[Skipped]:
    return (Skipped(path, reason, failed=True) for path, reason in rules.ignored.unread)


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return False
