"""What git does not take: marks, the user's and the repository's own patterns, what is tracked, and case."""

import subprocess
from pathlib import Path

import pytest

from querymill.code_bases.directory import Directory
from querymill.code_bases.listing import ListedFile, Skipped


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings of a user without any."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "home/.config/git").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    """A repository."""
    assert home
    git(tmp_path, "init", "-q", "root")
    return tmp_path / "root"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def write(root: Path, *names: str, **contents: str | bytes) -> None:
    for name, content in [*((name, "x") for name in names), *contents.items()]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def read(root: Path) -> list[str]:
    return [entry.path for entry in Directory(root).listed() if isinstance(entry, ListedFile)]


def as_git_lists(root: Path) -> list[str]:
    listed = git(root, "-c", "core.quotePath=off", "ls-files", "--cached", "--others", "--exclude-standard")
    return sorted(listed.splitlines())


def test_a_mark_at_the_beginning_is_no_part_of_a_pattern(root: Path) -> None:
    write(root, "private/notes.py", "main.py", **{".gitignore": b"\xef\xbb\xbfprivate/\r\n"})
    assert read(root) == [".gitignore", "main.py"] == as_git_lists(root)


def test_attributes_and_submodules_are_read_without_a_mark(root: Path) -> None:
    write(root, "a.py", "b.py", **{".gitattributes": b"\xef\xbb\xbfa.py linguist-generated\n"})
    code_base = Directory(root)
    paths = [entry.path for entry in code_base.listed() if isinstance(entry, ListedFile)]
    kinds = {file.path: file.model_dump().get("kind") for file in code_base.read(paths)}
    assert kinds == {".gitattributes": None, "a.py": "generated", "b.py": None}


def test_the_repositorys_own_patterns_hold_and_its_tree_wins(root: Path) -> None:
    write(root, "scratch/draft.py", "a.log", "b.log", **{".gitignore": "!a.log\n"})
    (root / ".git/info/exclude").write_text("scratch/\n*.log\n")
    assert read(root) == [".gitignore", "a.log"] == as_git_lists(root)


def test_a_folder_of_a_repository_is_read_by_the_patterns_of_the_whole(root: Path) -> None:
    write(root, "src/made.py", "src/a.py")
    (root / ".git/info/exclude").write_text("/src/made.py\n")
    assert read(root / "src") == ["a.py"]


def test_the_users_patterns_hold_in_repositories_only(root: Path, home: Path, tmp_path: Path) -> None:
    write(root, "a.swp", "b.tmp", "c.py")
    (home / ".config/git/ignore").write_text("*.swp\n")
    assert read(root) == ["b.tmp", "c.py"] == as_git_lists(root)
    (home / "mine").write_text("*.tmp\n")
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    assert read(root) == ["a.swp", "c.py"] == as_git_lists(root)
    git(root, "config", "core.excludesFile", "")
    assert read(root) == ["a.swp", "b.tmp", "c.py"] == as_git_lists(root)
    write(tmp_path / "plain", "b.tmp")
    assert read(tmp_path / "plain") == ["b.tmp"]


def test_what_is_tracked_is_read_though_it_is_ignored(root: Path) -> None:
    write(root, "build/kept.py", "build/made.py", "build/deep/kept.py", "a.log", "b.log")
    git(root, "add", "build/kept.py", "build/deep/kept.py", "a.log")
    write(root, **{".gitignore": "build/\n*.log\n", "build/.gitignore": "!*\n"})
    assert sorted(read(root)) == [".gitignore", "a.log", "build/deep/kept.py", "build/kept.py"] == as_git_lists(root)


def test_a_work_tree_beside_has_the_patterns_of_its_repository(root: Path) -> None:
    write(root, "a.py")
    git(root, "add", "a.py")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", "../beside")
    (root / ".git/info/exclude").write_text("*.log\n")
    beside = root.parent / "beside"
    write(beside, "a.log")
    assert (beside / ".git").is_file()
    assert read(beside) == ["a.py"] == as_git_lists(beside)


def test_a_work_tree_inside_is_a_repository_of_its_own(root: Path) -> None:
    write(root, "a.py")
    git(root, "add", "a.py")
    git(root, "commit", "-qm", "first")
    git(root, "worktree", "add", "-q", "inside")
    assert read(root) == ["a.py"]
    skipped = {entry.path: entry.reason for entry in Directory(root).listed() if isinstance(entry, Skipped)}
    assert skipped == {"inside": "a repository of its own and no submodule: ingest it by itself"}


def test_a_submodule_has_its_own_patterns(root: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "library")
    write(tmp_path / "library", "lib.py")
    git(tmp_path / "library", "add", ".")
    git(tmp_path / "library", "commit", "-qm", "first")
    git(root, "submodule", "add", "-q", "../library", "lib")
    (root / ".git/modules/lib/info").mkdir(exist_ok=True)
    (root / ".git/modules/lib/info/exclude").write_text("*.tmp\n")
    (root / ".git/info/exclude").write_text("*.py\n")
    write(root, "lib/a.tmp", "own.py")
    assert read(root) == [".gitmodules", "lib/lib.py"]


def test_case_counts_unless_the_repository_says_otherwise(root: Path) -> None:
    write(root, "Build/a.py", "b.LOG", **{".gitignore": "build/\n*.log\n"})
    git(root, "config", "core.ignorecase", "false")
    assert read(root) == [".gitignore", "Build/a.py", "b.LOG"] == as_git_lists(root)
    git(root, "config", "core.ignorecase", "true")
    assert read(root) == [".gitignore"] == as_git_lists(root)


PATTERNS = [
    "a.log\n!a.log\n", "*\n!*/\n!keep.py\n", "x/*\n!x/keep.py\n", "x/\n!x/keep.py\n", "/keep.py\n", "**/keep.py\n",
    "x/**\n", "keep.py \n", "keep.py\\ \n", "\\#note\n", "#note\n", "\\!loud\n", "[a-c].py\n", "keep.p?\n",
    "x/keep.py/\n", "a.log\x0cb\n", "*.py\n!/x/\n", "x/**\n!x/keep.py\n", "**/\n", "x/*/\n", "*/keep.py\n",
    "x/**/keep.py\n", "/*\n!/x\n",
]  # fmt: skip


@pytest.mark.parametrize("patterns", PATTERNS)
def test_patterns_mean_what_they_mean_to_git(root: Path, patterns: str) -> None:
    write(root, "a.log", "keep.py", "x/keep.py", "x/y/keep.py", "#note", "!loud", "b.py", **{".gitignore": patterns})
    assert sorted(read(root)) == as_git_lists(root)


def test_a_pattern_of_another_encoding_matches_the_bytes_of_a_name(root: Path) -> None:
    write(root, "a.py", **{".gitignore": "größe.txt\n".encode("latin-1")})
    (root / b"gr\xf6\xdfe.txt".decode(errors="surrogateescape")).write_text("x")
    entries = [entry.path for entry in Directory(root).listed() if isinstance(entry, ListedFile | Skipped)]
    assert entries == [".gitignore", "a.py"]


def test_patterns_in_utf16_are_named(root: Path) -> None:
    write(root, "a.log", **{".gitignore": "*.log\n".encode("utf-16")})
    skipped = {entry.path: entry.reason for entry in Directory(root).listed() if isinstance(entry, Skipped)}
    assert skipped == {str(root / ".gitignore"): "in UTF-16, in which git reads no pattern: save it in UTF-8"}
    assert read(root) == [".gitignore", "a.log"] == as_git_lists(root)
