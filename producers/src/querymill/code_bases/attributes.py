"""What ``.gitattributes`` say of files: generated, vendored or documentation, in the words of GitHub's Linguist.

Other attributes change nothing here: what ``export-ignore`` leaves out of an archive is code like any other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self

from pathspec import GitIgnoreSpec

ATTRIBUTES_FILE: Final = ".gitattributes"
StatedKind = Literal["generated", "documentation", "code"]
#: Which kind an attribute makes a file that has it, the first that is set.
_KINDS: Final[Mapping[str, StatedKind]] = {
    "linguist-generated": "generated",
    "linguist-vendored": "generated",
    "linguist-documentation": "documentation",
}
_LINE: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)+)"|([^\s"#\[!]\S*))\s+(.+)')


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """A line of a file of attributes: a pattern for paths below a folder, and what it sets (None: unsaid again)."""

    folder: Path
    pattern: re.Pattern[str]
    states: Mapping[str, bool | None]

    def matches(self, path: Path) -> bool:
        """Return whether the pattern is that of a path itself; unlike in ignore files, folders do not pass it down."""
        found = self.pattern.match(path.relative_to(self.folder).as_posix())
        return found is not None and not found.groupdict().get("ps_d")


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a folder and of the folders above it; of the lines that match a path, the last decides."""

    rules: tuple[AttributeRule, ...] = ()

    def within(self, folder: Path) -> Self:
        """Add the attributes of a folder below."""
        path = folder / ATTRIBUTES_FILE
        if path.is_symlink() or not path.is_file():
            return self
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        return type(self)((*self.rules, *_read(lines, folder)))

    def kind_of(self, path: Path) -> StatedKind | None:
        """Return the kind that is stated for a path; None if nothing is said, and the name decides."""
        states: dict[str, bool | None] = {}
        for rule in self.rules:
            if rule.matches(path):
                states |= rule.states
        stated = [kind for attribute, kind in _KINDS.items() if states.get(attribute)]
        return stated[0] if stated else "code" if False in states.values() else None


def _read(lines: list[str], folder: Path) -> Iterator[AttributeRule]:
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        states = dict(_state(word) for word in found[3].split())
        wanted = {attribute: state for attribute, state in states.items() if attribute in _KINDS}
        pattern = _pattern(found[1] or found[2]) if wanted else None
        if pattern is not None:
            yield AttributeRule(folder, pattern, wanted)


def _state(word: str) -> tuple[str, bool | None]:
    """Read ``name``, ``-name``, ``!name`` or ``name=value``."""
    name, _, value = word.partition("=")
    if name.startswith("!"):
        return name[1:], None
    return name.removeprefix("-"), not name.startswith("-") and value.lower() != "false"


def _pattern(written: str) -> re.Pattern[str] | None:
    try:
        read = GitIgnoreSpec.from_lines([written]).patterns
    except ValueError:
        return None
    return read[0].regex if read else None
