"""What ``.gitattributes`` say of files: their kind, in the words of GitHub's Linguist, and their encoding.

Other attributes change nothing here: what ``export-ignore`` leaves out of an archive is code like any other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, Self

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from querymill.code_bases.repositories import Repository, lines_of, matches, octets, pattern_of

ATTRIBUTES_FILE: Final = ".gitattributes"
StatedKind = Literal["generated", "documentation", "code"]
#: Which kind an attribute makes a file that has it, the first that is set.
_KINDS: Final[Mapping[str, StatedKind]] = {
    "linguist-generated": "generated",
    "linguist-vendored": "generated",
    "linguist-documentation": "documentation",
}
#: Attributes that name an encoding: as git converts the file, and as its windows show it.
_ENCODINGS: Final = ("working-tree-encoding", "encoding")
_LINE: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)+)"|([^\s"#\[!]\S*))\s+(.+)')


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """A line of a file of attributes: a pattern for paths below a folder, and what it sets (None: unsaid again)."""

    folder: Path
    pattern: GitIgnoreSpecPattern
    states: Mapping[str, str | bool | None]

    def matches(self, path: Path) -> bool:
        """Return whether the pattern is that of a path itself; unlike in ignore files, folders do not pass it down."""
        return matches(self.pattern, octets(path.relative_to(self.folder)))


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a folder and of the folders above it; of the lines that match a path, the last decides.

    Those ``above_all`` are a repository's own, which win over the files in its tree.
    """

    rules: tuple[AttributeRule, ...] = ()
    above_all: tuple[AttributeRule, ...] = ()

    @classmethod
    def of_repository(cls, repository: Repository) -> Self:
        """Read the files of attributes that are not in the tree: the user's, and the repository's own."""
        users, own = (
            tuple(rule for path in paths for rule in _read(path, repository.folder))
            for paths in (repository.users_attributes, repository.own_attributes)
        )
        return cls(users, own)

    def within(self, folder: Path) -> Self:
        """Add the attributes of a folder below."""
        path = folder / ATTRIBUTES_FILE
        return self if path.is_symlink() else replace(self, rules=(*self.rules, *_read(path, folder)))

    def kind_of(self, path: Path) -> StatedKind | None:
        """Return the kind that is stated for a path; None if nothing is said, and the name decides."""
        states = self._states_of(path)
        stated = [kind for attribute, kind in _KINDS.items() if states.get(attribute)]
        denied = any(states.get(attribute) is False for attribute in _KINDS)
        return stated[0] if stated else "code" if denied else None

    def encodings_of(self, path: Path) -> list[str]:
        """Return the names of encodings that are stated for a path."""
        states = self._states_of(path)
        return [name for attribute in _ENCODINGS if isinstance(name := states.get(attribute), str)]

    def _states_of(self, path: Path) -> dict[str, str | bool | None]:
        states: dict[str, str | bool | None] = {}
        for rule in (*self.rules, *self.above_all):
            if rule.matches(path):
                states |= rule.states
        return states


def _read(path: Path, folder: Path) -> Iterator[AttributeRule]:
    try:
        lines = lines_of(path) if path.is_file() else []
    except OSError:
        return
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        states = dict(_state(word) for word in found[3].split())
        wanted = {attribute: state for attribute, state in states.items() if attribute in (*_KINDS, *_ENCODINGS)}
        pattern = _pattern(found[1] or found[2]) if wanted else None
        if pattern is not None:
            yield AttributeRule(folder, pattern, wanted)


def _state(word: str) -> tuple[str, str | bool | None]:
    """Read ``name``, ``-name``, ``!name`` or ``name=value``."""
    name, _, value = word.partition("=")
    if name.startswith("!"):
        return name[1:], None
    if name in _ENCODINGS and value:
        return name, value
    return name.removeprefix("-"), not name.startswith("-") and value.lower() != "false"


def _pattern(written: str) -> GitIgnoreSpecPattern | None:
    try:
        return pattern_of(written)
    except ValueError:
        return None
