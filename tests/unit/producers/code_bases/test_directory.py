"""Directories as they are: links, submodules, attributes, notebooks, minified files and secrets."""

import json
import subprocess
from pathlib import Path

import pytest

from querymill.code_bases.directory import BARE, Directory
from querymill.code_bases.listing import ListedFile, NotedFolder, Skipped

TOKEN = "ghp_" + "Kf9sPq2LmZ7xRt4WbN8vYc3HdJ6gTa1eUo5i"


def write(root: Path, **files: str) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def paths(root: Path, *, include_secrets: bool = False) -> list[str]:
    return [
        entry.path
        for entry in Directory(root, include_secrets=include_secrets).listed()
        if isinstance(entry, ListedFile)
    ]


def skipped(root: Path) -> dict[str, str]:
    return {entry.path: entry.reason for entry in Directory(root).listed() if isinstance(entry, Skipped)}


def read(root: Path) -> dict[str, str]:
    code_base = Directory(root)
    listed = [entry.path for entry in code_base.listed() if isinstance(entry, ListedFile)]
    return {file.path: file.content for file in code_base.read(listed)}


def test_a_link_is_followed_once_and_only_to_what_is_not_read_otherwise(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, **{"outside.py": "", "root/.gitignore": "made/\n", "root/a.py": "a", "root/made/b.py": "b"})
    (root / "again.py").symlink_to("a.py")
    (root / "built").symlink_to("made")
    (root / "built_too").symlink_to("made")
    (root / "out").symlink_to(tmp_path / "outside.py")
    assert read(root) == {".gitignore": "made/\n", "a.py": "a", "built/b.py": "b"}
    assert skipped(root) == {
        "again.py": "a symbolic link to what is read under its own name",
        "built_too": "a symbolic link to what is read under its own name",
        "out": "a symbolic link out of the folder, not followed",
    }


def test_circles_of_links_end(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "hidden/\n", "hidden/a.py": "a"})
    (tmp_path / "root").symlink_to(".")
    (tmp_path / "in").symlink_to("hidden")
    (tmp_path / "hidden/up").symlink_to("..")
    (tmp_path / "hidden/self").symlink_to("self")
    assert paths(tmp_path) == [".gitignore", "in/a.py"]
    assert set(skipped(tmp_path)) == {"root", "in/up", "in/self"}


def test_a_link_does_not_lead_into_git_or_to_a_secret(tmp_path: Path) -> None:
    write(tmp_path, **{".git/config": "", ".gitignore": ".env\n", ".env": "PASSWORD=1", "a.py": ""})
    (tmp_path / "config").symlink_to(".git/config")
    (tmp_path / "settings.txt").symlink_to(".env")
    assert paths(tmp_path) == [".gitignore", "a.py"]


def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, **{"out/a.py": "other", "root/x/a.py": "a"})
    code_base = Directory(tmp_path / "root")
    assert [entry.path for entry in code_base.listed()] == ["x/a.py"]
    (tmp_path / "root/x/a.py").unlink()
    (tmp_path / "root/x").rmdir()
    (tmp_path / "root/x").symlink_to(tmp_path / "out")
    assert list(code_base.read(["x/a.py"])) == []


def test_submodules_are_read_by_their_own_rules_and_other_repositories_are_not(tmp_path: Path) -> None:
    write(
        tmp_path, **{".git/HEAD": "", ".gitignore": "*.log\n", "a.log": "", ".gitattributes": "*.py linguist-vendored"}
    )
    write(tmp_path, **{".gitmodules": '[submodule "x"]\n\tpath = libs/x\n[submodule "y"]\n\tpath = libs/y\n'})
    write(tmp_path, **{"libs/x/.git": "gitdir: ../../.git/modules/x", "libs/x/b.log": "", "libs/x/b.py": ""})
    write(tmp_path, **{"clone/.git/HEAD": "", "clone/c.py": "", "d.py": ""})
    (tmp_path / "libs/y").mkdir()
    entries = list(Directory(tmp_path).listed())
    assert [entry.path for entry in entries if isinstance(entry, ListedFile)] == [
        ".gitattributes", ".gitignore", ".gitmodules", "d.py", "libs/x/b.log", "libs/x/b.py",
    ]  # fmt: skip
    assert [entry.path for entry in entries if isinstance(entry, NotedFolder)] == ["libs/x"]
    assert skipped(tmp_path) == {
        "clone": "a repository of its own and no submodule: ingest it by itself",
        "libs/y": "a submodule that is not checked out",
    }
    kinds = {file.path: (file.model_extra or {}).get("kind") for file in _read_all(tmp_path)}
    assert (kinds["d.py"], kinds["libs/x/b.py"]) == ("generated", None)


def test_a_folder_of_repositories_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, **{"x/.git/HEAD": "", "x/a.py": "", "y/.git/HEAD": "", "y/b.py": ""})
    assert paths(tmp_path) == ["x/a.py", "y/b.py"]


def test_a_bare_repository_is_named_and_what_looks_like_one_is_read(tmp_path: Path) -> None:
    root = tmp_path / "store.git"
    write(root, **{"HEAD": "x", "objects/a.py": "a", "refs/b.py": "b", "main.py": "m"})
    assert paths(root) == ["HEAD", "main.py", "objects/a.py", "refs/b.py"]
    for head in ("ref: refs/heads/main\n", "0" * 40):
        write(root, HEAD=head)
        assert list(Directory(root).listed()) == [Skipped(".", BARE, failed=True)]
        assert list(Directory(tmp_path).listed()) == [Skipped("store.git", BARE)]


def test_a_true_submodule_is_found(tmp_path: Path) -> None:
    def git(folder: Path, *words: str) -> None:
        given = ["-c", "protocol.file.allow=always", "-c", "user.name=n", "-c", "user.email=e"]
        subprocess.run(["git", *given, *words], cwd=folder, check=True, capture_output=True)

    for name in ("whole", "part"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
    write(tmp_path, **{"part/b.py": "b", "whole/a.py": "a"})
    git(tmp_path / "part", "add", ".")
    git(tmp_path / "part", "commit", "-qm", "b")
    git(tmp_path / "whole", "submodule", "add", "-q", str(tmp_path / "part"), "libs/part")
    assert paths(tmp_path / "whole") == [".gitmodules", "a.py", "libs/part/b.py"]
    assert paths(tmp_path / "whole/libs") == ["part/b.py"]


def test_attributes_state_the_kind_and_change_the_hash(tmp_path: Path) -> None:
    write(tmp_path, **{"a.py": "a", "b.py": "b"})
    before = {entry.path: entry.sha256 for entry in Directory(tmp_path).listed() if isinstance(entry, ListedFile)}
    write(tmp_path, **{".gitattributes": "a.py linguist-generated export-ignore\n"})
    code_base = Directory(tmp_path)
    after = {entry.path: entry.sha256 for entry in code_base.listed() if isinstance(entry, ListedFile)}
    assert {path for path in before if before[path] != after[path]} == {"a.py"}
    assert [file.model_extra for file in code_base.read(["a.py", "b.py"])] == [{"kind": "generated"}, {}]


def test_secrets_are_skipped_by_name_and_by_form_unless_wanted(tmp_path: Path) -> None:
    write(tmp_path, **{".env": "A=1", ".env.example": "A=", "id_rsa": "", "a.py": f"token = '{TOKEN}'", "b.py": ""})
    assert paths(tmp_path) == [".env.example", "b.py"]
    assert skipped(tmp_path) == {
        ".env": "a secret, by its name",
        "a.py": "a secret, holds a GitHub token",
        "id_rsa": "a secret, by its name",
    }
    assert paths(tmp_path, include_secrets=True) == [".env", ".env.example", "a.py", "b.py", "id_rsa"]


def test_what_nobody_wrote_by_hand_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, **{"a.min.js": "a", "b.js": "x=1;" * 500, "c.js": "x = 1;\n" * 500, "d.js.map": "{}"})
    write(tmp_path, **{"e.md": "word " * 500, "f.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"})
    assert paths(tmp_path) == ["c.js", "e.md"]
    assert skipped(tmp_path) == {
        "a.min.js": "minified", "b.js": "minified", "d.js.map": "minified", "f.bin": "kept in Git LFS, not fetched",
    }  # fmt: skip


def test_a_notebook_is_read_by_cells_however_large_its_outputs(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": "x = 1", "outputs": [{"data": "0" * 1_500_000}]}
    write(tmp_path, **{"a.ipynb": json.dumps({"cells": [cell]}), "b.ipynb": "{}"})
    assert read(tmp_path) == {"a.ipynb": "# notebook: python\n# %% cell 1\nx = 1\n"}
    assert skipped(tmp_path) == {"b.ipynb": "not a notebook: it has no cells"}


LATIN = "# größe\nlength = 1\nheight = 2\n".encode("latin-1")
ENCODED: list[tuple[bytes, str, str]] = [
    ("# größe\n".encode("utf-16"), "# größe\n", "read as UTF-16"),
    ("# größe\n".encode("utf-32"), "# größe\n", "read as UTF-32"),
    (b"# coding: latin-1\n" + LATIN, "# coding: latin-1\n" + LATIN.decode("latin-1"), "read as ISO8859-1"),
    ("# 渲染窗口，然后\nx = 1\n".encode("gbk"), "# 渲染窗口，然后\nx = 1\n", "read as GB18030"),
    (LATIN, LATIN.decode("latin-1"), "read as CP1252"),
    (b"# coding: zlib\n# caf\xe9 and more\n", "# coding: zlib\n# café and more\n", "read as CP1252"),
    (b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", ""),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "text", "remark"), ENCODED, ids=[repr(raw[:12]) for raw, _, _ in ENCODED])
def test_encodings_are_recognised_and_said(tmp_path: Path, raw: bytes, text: str, remark: str) -> None:
    (tmp_path / "a.py").write_bytes(raw)
    (entry,) = Directory(tmp_path).listed()
    assert isinstance(entry, ListedFile)
    assert entry.remark == remark
    assert read(tmp_path) == {"a.py": text}


def _read_all(root: Path) -> list:  # type: ignore[type-arg]
    code_base = Directory(root)
    return list(code_base.read([entry.path for entry in code_base.listed() if isinstance(entry, ListedFile)]))
