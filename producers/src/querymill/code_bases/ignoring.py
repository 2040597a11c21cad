"""Ignore files, as git reads them: the deepest one that matches a path decides, by its last matching line."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Ignored:
    """The ignore files of a folder and of the folders above it; ``unread`` lists lines that are not patterns."""

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @classmethod
    def above(cls, root: Path) -> Self:
        """Read the ignore files above a folder (a resolved path), if it is part of a git repository.

        If those ignore the folder itself, such as an installed package, they are left out: the caller asked for it.
        """
        folders = list(root.parents)
        if (root / ".git").exists():
            return cls()
        top = next((place for place, folder in enumerate(folders) if (folder / ".git").exists()), None)
        ignored = cls()
        for folder in reversed(folders[: top + 1] if top is not None else []):
            ignored = ignored.within(folder)
        return cls() if ignored.has(root, is_folder=True) else ignored

    def within(self, folder: Path) -> Self:
        """Add the ignore file of a folder below."""
        path = folder / IGNORE_FILE
        if path.is_symlink() or not path.is_file():
            return type(self)(self.specs)
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as error:
            return type(self)(self.specs, ((str(path), f"cannot be read: {error.strerror}"),))
        spec, bad = _read(lines)
        unread = tuple((f"{path} line {number}", "no pattern") for number in bad)
        return type(self)((*self.specs, (folder, spec)), unread)

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Return whether a path is ignored."""
        for folder, spec in reversed(self.specs):
            said = spec.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else ""))
            if said.include is not None:
                return said.include
        return False


def _read(lines: Iterable[str]) -> tuple[GitIgnoreSpec, list[int]]:
    """Read patterns. A bad pattern is skipped; returns the numbers of such lines, too."""
    good, bad = [], []
    for number, line in enumerate(lines, start=1):
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            bad.append(number)
        else:
            good.append(line)
    return GitIgnoreSpec.from_lines(good), bad
