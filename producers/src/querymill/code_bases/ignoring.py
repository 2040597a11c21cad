"""Ignore files, as git reads them: the deepest one that matches a path decides, by its last matching line."""

import codecs
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from querymill.code_bases.repositories import Repository, lines_of, matches, octets, pattern_of

IGNORE_FILE = ".gitignore"
#: What the editors and shells of Windows write, and git does not read.
_WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Ignored:
    """The ignore files of a folder, of those above it and of the repository; ``unread`` lists lines that are none.

    What the ``repository`` tracks is never ignored. In a folder that is ``shut``, all else is.
    """

    patterns: tuple[tuple[Path, tuple[GitIgnoreSpecPattern, ...]], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    repository: Repository | None = None
    shut: bool = False

    @classmethod
    def above(cls, root: Path, repository: Repository | None) -> Self:
        """Read the ignore files above a folder (a resolved path), if it is part of a git repository.

        If those ignore the folder itself, such as an installed package, they are left out: the caller asked for it.
        """
        if repository is None:
            return cls()
        ignored = cls.of_repository(repository)
        below = [folder for folder in (root, *root.parents) if repository.folder in folder.parents]
        for folder in reversed(below):
            ignored = ignored.joined_by(folder.parent)
        return cls() if any(ignored.matched(folder, is_folder=True) for folder in below) else ignored

    @classmethod
    def of_repository(cls, repository: Repository) -> Self:
        """Read the files of patterns that are not in the tree: the user's, and the repository's own."""
        ignored = cls(repository=repository)
        for path in repository.ignoring:
            ignored = ignored.adding(path, repository.folder) if path.is_file() else ignored
        return replace(ignored, unread=(*repository.unread, *ignored.unread))

    def within(self, folder: Path) -> Self:
        """Add the ignore file of a folder below."""
        shut = self.shut or (folder != self._top and self.matched(folder, is_folder=True))
        return replace(self.joined_by(folder), shut=shut)

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether a path is ignored, and holds nothing that is tracked."""
        if not self.shut and not self.matched(path, is_folder=is_folder):
            return False
        repository = self.repository
        return repository is None or str(path) not in (repository.holding if is_folder else repository.tracked)

    @property
    def _top(self) -> Path | None:
        return None if self.repository is None else self.repository.folder

    def joined_by(self, folder: Path) -> Self:
        """Add the ignore file of a folder, whatever holds for the folder itself."""
        path = folder / IGNORE_FILE
        fresh = replace(self, unread=())
        return fresh if path.is_symlink() or not path.is_file() else fresh.adding(path, folder)

    def adding(self, path: Path, folder: Path) -> Self:
        """Add a file of patterns for paths below a folder."""
        try:
            lines = lines_of(path)
            is_wide = path.read_bytes()[:2] in _WIDE_MARKS
        except OSError as error:
            return replace(self, unread=(*self.unread, (str(path), f"cannot be read: {error.strerror}")))
        if is_wide:
            said = "in UTF-16, in which git reads no pattern: save it in UTF-8"
            return replace(self, unread=(*self.unread, (str(path), said)))
        patterns, bad = _read(lines, ignores_case=self._ignores_case)
        unread = tuple((f"{path} line {number}", "no pattern") for number in bad)
        return replace(self, patterns=(*self.patterns, (folder, patterns)), unread=(*self.unread, *unread))

    def matched(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether the patterns ignore a path, tracked or not, whose folder they do not ignore."""
        for folder, patterns in reversed(self.patterns):
            if not path.is_relative_to(folder):
                continue
            written = octets(path.relative_to(folder)) + ("/" if is_folder else "")
            if self._ignores_case:
                written = written.encode("latin-1").lower().decode("latin-1")
            for pattern in reversed(patterns):
                if matches(pattern, written):
                    return bool(pattern.include)
        return False

    @property
    def _ignores_case(self) -> bool:
        return self.repository is not None and self.repository.ignores_case


def _read(lines: Iterable[str], *, ignores_case: bool) -> tuple[tuple[GitIgnoreSpecPattern, ...], list[int]]:
    """Read patterns. A bad pattern is skipped; returns the numbers of such lines, too."""
    good, bad = [], []
    for number, line in enumerate(lines, start=1):
        try:
            pattern = pattern_of(line, ignores_case=ignores_case)
        except ValueError:
            bad.append(number)
        else:
            good += [pattern] if pattern is not None else []
    return tuple(good), bad
