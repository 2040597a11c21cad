"""The repositories inside a tree: submodules are part of it, other repositories are not."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from querymill.code_bases.attributes import Attributes
from querymill.code_bases.ignoring import Ignored
from querymill.code_bases.repositories import Repository

MODULES_FILE: Final = ".gitmodules"
_PATH: Final = re.compile(r"^[ \t]*path[ \t]*=[ \t]*\"?([^\"\n]+?)\"?[ \t]*\r?$", re.MULTILINE)

#: What a HEAD says: a branch, or a commit.
_HEAD: Final = re.compile(rb"ref:[ \t]*refs/|[0-9a-f]{40}")
_HEAD_BYTES: Final = 100


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the files of a folder: ignore files, attributes, and the submodules of its repository.

    ``submodules`` is None outside of a repository.
    """

    ignored: Ignored = field(default_factory=Ignored)
    attributes: Attributes = field(default_factory=Attributes)
    submodules: frozenset[Path] | None = None

    @classmethod
    def above(cls, root: Path) -> Self:
        """Read what holds in a folder (a resolved path) by the folders above it, if it is part of a repository."""
        top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
        if top is None:
            return cls()
        repository = Repository.at(top)
        attributes = Attributes.of_repository(repository)
        for folder in reversed(root.parents):
            attributes = attributes.within(folder) if top in (folder, *folder.parents) else attributes
        return cls(Ignored.above(root, repository), attributes, submodules_of(top))

    @classmethod
    def of_repository(cls, folder: Path) -> Self:
        """Start over in a repository inside a tree: nothing above it holds there."""
        repository = Repository.at(folder)
        return cls(Ignored.of_repository(repository), Attributes.of_repository(repository), submodules_of(folder))

    def within(self, folder: Path) -> Self:
        """Add the ignore file and the attributes of a folder below."""
        return type(self)(self.ignored.within(folder), self.attributes.within(folder), self.submodules)


def submodules_of(repository: Path) -> frozenset[Path]:
    """Return the folders of a repository's submodules, checked out or not."""
    path = repository / MODULES_FILE
    try:
        text = "" if path.is_symlink() else path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return frozenset()
    places = [written for written in _PATH.findall(text) if ".." not in written.split("/")]
    return frozenset(repository / written.strip("/") for written in places)


def is_bare(folder: Path) -> bool:
    """Whether a folder is git's own store, without files that are checked out: what git takes for one."""
    head = folder / "HEAD"
    if not (head.is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()):
        return False
    try:
        return _HEAD.match(head.read_bytes()[:_HEAD_BYTES]) is not None
    except OSError:
        return False
