"""What git keeps of a repository outside of its tree: the user's rules, the repository's own, and what is tracked.

Git is imported where a repository is read: it takes half a second, and most of what is ingested is in none.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

if TYPE_CHECKING:
    from dulwich.config import StackedConfig
    from dulwich.repo import Repo

#: How an entry of the index begins that is a submodule.
_GITLINK: Final = 0o160000


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository's folder and what holds in it beside the files of its tree.

    Files of patterns (``ignoring``) and of attributes come in the order in which later ones win; those in ``of_tree``
    of a tree come between a user's and ``own_attributes``. ``tracked`` are whole paths, ``holding`` their folders.
    """

    folder: Path
    ignoring: tuple[Path, ...] = ()
    users_attributes: tuple[Path, ...] = ()
    own_attributes: tuple[Path, ...] = ()
    ignores_case: bool = False
    tracked: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    unread: tuple[tuple[str, str], ...] = ()

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Read what there is of a repository: of a work tree or a submodule, too, whose ``.git`` is a file."""
        from dulwich.errors import NotGitRepository
        from dulwich.repo import Repo

        try:
            with Repo(str(folder)) as repo:
                return cls._of(folder, repo)
        except NotGitRepository:
            return cls(folder)
        except Exception as error:  # noqa: BLE001  # a form of git that the library does not know
            said = f"cannot be read ({type(error).__name__}): files are taken to be tracked by no repository"
            return cls(folder, unread=((str(folder / ".git"), said),))

    @classmethod
    def _of(cls, folder: Path, repo: "Repo") -> Self:
        config, common = repo.get_config_stack(), Path(repo.commondir())
        entries = dict(repo.open_index().items()) if repo.has_index() else {}
        paths = [os.fsdecode(path) for path, entry in entries.items() if getattr(entry, "mode", 0) != _GITLINK]
        folders = {parent for path in paths for parent in _parents(path)}
        return cls(
            folder,
            (*_user_file(config, "excludesFile", "ignore", folder), common / "info/exclude"),
            _user_file(config, "attributesFile", "attributes", folder),
            (common / "info/attributes",),
            ignores_case=bool(config.get_boolean((b"core",), b"ignorecase", default=False)),
            tracked=frozenset(f"{folder}/{path}" for path in paths),
            holding=frozenset(f"{folder}/{path}" for path in folders),
        )


def _user_file(config: "StackedConfig", key: str, default: str, folder: Path) -> tuple[Path, ...]:
    """Return the file that the settings name, or the one that git reads if they name none."""
    try:
        named = os.fsdecode(config.get((b"core",), key.encode()))
    except KeyError:
        home = os.environ.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
        return (Path(home) / "git" / default,)
    return (folder / Path(named).expanduser(),) if named else ()


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file of patterns or attributes, as git cuts them: without a mark, and only at newlines.

    As in `octets`, a letter stands for a byte.

    Raises:
        OSError: It cannot be read.
    """
    written = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    return [line.removesuffix(b"\r").decode("latin-1") for line in written.split(b"\n")]


def octets(path: Path) -> str:
    """Return a path with a letter for each byte: git matches bytes, which need not be of any encoding."""
    return os.fsencode(path.as_posix()).decode("latin-1")


def pattern_of(line: str, *, ignores_case: bool = False) -> GitIgnoreSpecPattern | None:
    """Return the pattern of a line; None if it has none.

    Raises:
        ValueError: It is no pattern.
    """
    # ASCII only: the letters stand for bytes.
    written = line.encode("latin-1").lower().decode("latin-1") if ignores_case else line
    found = GitIgnoreSpecPattern(written)
    return None if found.include is None else found


def matches(pattern: GitIgnoreSpecPattern, written: str) -> bool:
    """Return whether a pattern is that of a path itself (with a slash if it is a folder), not of a folder above."""
    regex = pattern.regex
    if regex is None:
        return False
    if "ps_d" not in regex.groupindex:
        return regex.search(written.removesuffix("/")) is not None
    # The group is the slash after the place that matches.
    return any(found["ps_d"] is None or found.end("ps_d") == len(written) for found in regex.finditer(written))
