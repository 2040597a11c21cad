"""A directory as a code base: what its ignore files let through, links inside it once, submodules as part of it."""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from querymill.code_bases.decoding import printable
from querymill.code_bases.listing import CodeBase, Entry, ListedFile, NotedFolder, Skipped
from querymill.code_bases.reading import Read, Stated, is_undecided, read_file
from querymill.code_bases.submodules import Rules, is_bare
from querymill_shared.contracts.files.ingest import MAX_PATH_CHARS, SourceFile

GIT: Final = ".git"
LINK_OUT: Final = "a symbolic link out of the folder, not followed"
LINK_AGAIN: Final = "a symbolic link to what is read under its own name"
LINK_BROKEN: Final = "a symbolic link that leads nowhere"
SUBMODULE: Final = "a submodule: its files are read, by its own ignore files"
NOT_CHECKED_OUT: Final = "a submodule that is not checked out"
BARE: Final = "a bare repository, in which no file is checked out: ingest a clone of it"
OTHER_REPOSITORY: Final = "a repository of its own and no submodule: ingest it by itself"


@dataclass(frozen=True, slots=True)
class _Place:
    """A file that was listed: where it really is, and what is stated for it."""

    real: Path
    stated: Stated = field(default_factory=Stated)


@dataclass(slots=True)
class _Walk:
    """What one walk has met: real files and folders, and what is read once all else is.

    That are links, and files whose encoding is undecided: the ``encodings`` of others may say it.
    """

    seen: set[Path] = field(default_factory=set)
    links: list[tuple[str, Rules]] = field(default_factory=list)
    undecided: list[tuple[str, _Place]] = field(default_factory=list)
    encodings: dict[Path, set[str]] = field(default_factory=dict)


class Directory(CodeBase):
    """The files below a folder that its ignore files let through, without ``.git``.

    A link to a place in the folder is followed if that place is not read under its own name; no other link is.
    """

    def __init__(self, root: Path, *, include_secrets: bool = False) -> None:
        self._root = root.resolve()
        self._include_secrets = include_secrets
        self._places: dict[str, _Place] = {}

    def listed(self) -> Iterator[Entry]:
        """List the files in the order of their names; last those behind links, and those of unsure encoding."""
        if is_bare(self._root):
            yield Skipped(".", BARE, failed=True)
            return
        rules, walk = Rules.above(self._root), _Walk()
        yield from _unread(rules)
        yield from self._within("", self._root, rules, walk)
        while walk.links:
            path, around = walk.links.pop(0)
            yield from self._followed(path, around, walk)
        for path, place in walk.undecided:
            here = walk.encodings.get(place.real.parent, set())
            anywhere = set().union(*walk.encodings.values())
            stated = replace(place.stated, around=(here, anywhere))
            yield self._listed(path, replace(place, stated=stated))

    @override
    def read(self, paths: Collection[str]) -> Iterator[SourceFile]:
        for path in sorted(paths):
            found = self._file(path, self._places.get(path) or _Place(self._root / path))
            if isinstance(found, Read):
                yield found.file

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
                yield from self._entry(path, real / entry.name, rules, walk)

    def _folder(self, path: str, real: Path, rules: Rules, walk: _Walk) -> Iterator[Entry]:
        is_repository = (real / GIT).exists()
        is_submodule = rules.submodules is not None and real in rules.submodules
        if len(path) > MAX_PATH_CHARS:
            yield Skipped(printable(path), f"path longer than {MAX_PATH_CHARS} characters")
        elif is_repository and rules.submodules is not None and not is_submodule:
            yield Skipped(printable(path), OTHER_REPOSITORY)
        elif is_bare(real):
            yield Skipped(printable(path), BARE)
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
            yield from self._entry(path, real, rules, walk)

    def _entry(self, path: str, real: Path, rules: Rules, walk: _Walk) -> Iterator[Entry]:
        if real in walk.seen:
            yield Skipped(printable(path), LINK_AGAIN)
            return
        walk.seen.add(real)
        attributes, whole = rules.attributes, self._root / path
        place = _Place(real, Stated(attributes.kind_of(whole), attributes.encodings_of(whole)))
        found = self._file(path, place)
        if is_undecided(found):
            walk.undecided.append((path, place))
            return
        if isinstance(found, Read) and found.encoding is not None:
            walk.encodings.setdefault(real.parent, set()).add(found.encoding)
        yield self._kept(path, place, found)

    def _listed(self, path: str, place: _Place) -> ListedFile | Skipped:
        return self._kept(path, place, self._file(path, place))

    def _kept(self, path: str, place: _Place, found: Read | Skipped) -> ListedFile | Skipped:
        if isinstance(found, Skipped):
            return found
        self._places[path] = place
        file = found.file
        return ListedFile(file.path, file.sha256, len(file.content.encode()), found.remark)

    def _file(self, path: str, place: _Place) -> Read | Skipped:
        return read_file(path, place.real, place.stated, include_secrets=self._include_secrets)


def _unread(rules: Rules) -> Iterator[Skipped]:
    return (Skipped(path, reason, failed=True) for path, reason in rules.ignored.unread)


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return False
