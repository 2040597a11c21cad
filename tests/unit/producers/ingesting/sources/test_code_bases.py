import os
from pathlib import Path

import pytest

from querymill.code_bases.decoding import text_of
from querymill.code_bases.directory import Directory
from querymill.code_bases.listing import ListedFile, Skipped
from querymill.ingesting.sources.code_bases import JsonLines


def write(root: Path, **files: str) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def paths(root: Path) -> list[str]:
    return [entry.path for entry in Directory(root).listed() if isinstance(entry, ListedFile)]


def skipped(root: Path) -> dict[str, str]:
    return {entry.path: entry.reason for entry in Directory(root).listed() if isinstance(entry, Skipped)}


def test_the_deepest_ignore_file_decides_and_its_last_line_first(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "*.log\n/only_here\nbuild/\n", "a.log": "", "only_here": "", "x/only_here": ""})
    write(tmp_path, **{"x/.gitignore": "!a.log\n*.tmp\n!b.tmp\n", "x/a.log": "", "x/b.tmp": "", "x/c.tmp": ""})
    write(tmp_path, **{"x/build/.gitignore": "!*\n", "x/build/made.py": "", "build.py": ""})
    assert paths(tmp_path) == [".gitignore", "build.py", "x/.gitignore", "x/a.log", "x/b.tmp", "x/only_here"]


def test_what_is_above_the_folder_in_its_repository_holds_too(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "*.log\n/src/made.py\n", ".git/HEAD": "", "src/a.log": "", "src/made.py": ""})
    write(tmp_path, **{"src/kept.py": ""})
    assert paths(tmp_path / "src") == ["kept.py"]


def test_outside_a_repository_nothing_above_the_folder_holds(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": "*.py\n", "src/kept.py": ""})
    assert paths(tmp_path / "src") == ["kept.py"]


def test_a_folder_that_is_named_is_read_though_it_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, **{".gitignore": ".venv/\n*.py\n", ".git/HEAD": "", ".venv/lib/package/a.py": ""})
    assert paths(tmp_path / ".venv/lib/package") == ["a.py"]


def test_links_are_named_and_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(tmp_path, **{"secret.py": "", "root/a.py": "", "folder/b.py": ""})
    (root / "file").symlink_to(tmp_path / "secret.py")
    (root / "folder").symlink_to(tmp_path / "folder")
    (root / "inside").symlink_to(root / "a.py")
    (root / "loop").symlink_to(root)
    (root / "broken").symlink_to("nowhere")
    assert paths(root) == ["a.py"]
    assert set(skipped(root)) == {"broken", "file", "folder", "inside", "loop"}


def test_a_link_that_takes_the_place_of_a_file_meanwhile_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, **{"secret.py": "secret", "root/a.py": "a"})
    code_base = Directory(tmp_path / "root")
    assert [entry.path for entry in code_base.listed()] == ["a.py"]
    (tmp_path / "root/a.py").unlink()
    (tmp_path / "root/a.py").symlink_to(tmp_path / "secret.py")
    assert list(code_base.read(["a.py"])) == []


def test_a_file_that_is_gone_when_it_is_read_again_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, **{"a.py": "a", "b.py": "b"})
    code_base = Directory(tmp_path)
    (tmp_path / "a.py").unlink()
    assert [file.path for file in code_base.read(["a.py", "b.py"])] == ["b.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may read everything")
def test_what_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    write(tmp_path, **{"a.py": "", "shut/b.py": ""})
    (tmp_path / "a.py").chmod(0)
    (tmp_path / "shut").chmod(0)
    failed = [entry.path for entry in Directory(tmp_path).listed() if isinstance(entry, Skipped) and entry.failed]
    (tmp_path / "shut").chmod(0o700)
    assert failed == ["a.py", "shut"]


def test_a_name_that_is_not_utf8_is_named_and_passed_over(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/caf\xe9.py", os.O_CREAT | os.O_WRONLY))
    write(tmp_path, **{"船.py": ""})
    assert paths(tmp_path) == ["船.py"]
    assert list(skipped(tmp_path)) == ["caf\ufffd.py"]


def test_a_tree_of_any_depth_is_walked(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(300):
        deep /= "dd"
        deep.mkdir()
    assert paths(tmp_path) == []
    assert list(skipped(tmp_path).values()) == ["path longer than 500 characters"]


TEXTS: list[tuple[bytes, tuple[str, bool] | None]] = [
    (b"", ("", False)),
    ("渲染\n".encode(), ("渲染\n", False)),
    (b"\xef\xbb\xbfx = 1", ("x = 1", False)),
    (b"# caf\xe9 in latin-1 letters", ("# caf\ufffd in latin-1 letters", True)),
    ("\ufffd was here before".encode(), ("\ufffd was here before", False)),
    (b"\x7fELF\x00\x01", None),
    (b"\xff\xfe\xfd\xfc abc", None),
    (b"x" * 9_000 + b"\x00", ("x" * 9_000 + " ", False)),
]


@pytest.mark.parametrize(("raw", "expected"), TEXTS)
def test_bytes_are_read_as_text_or_known_to_be_none(raw: bytes, expected: tuple[str, bool] | None) -> None:
    found = text_of(raw)
    assert (None if found is None else (found[0], bool(found[1]))) == expected


def test_of_two_json_lines_with_one_path_the_later_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "files.jsonl"
    path.write_text('{"path": "a", "content": "old"}\n\n[]\n{"path": "a", "content": "new"}\n')
    lines = JsonLines(path)
    assert [(entry.path, isinstance(entry, ListedFile)) for entry in lines.listed()] == [
        ("a", True), ("line 3", False), ("a", True)
    ]  # fmt: skip
    assert [file.content for file in lines.read(["a"])] == ["new"]


METADATA = [
    ('"b"', "listed"),
    ('{"deep": [1, null]}', "listed"),
    (r'"\\u0000 as it is written"', "listed"),
    (r'"\u0000"', "listed"),
    (r'"\ud800"', "line: 'more': must be valid Unicode, without half of a surrogate pair"),
    ("NaN", "line: 'more': numbers must be finite"),
    (
        f'"{"x" * 20_001}"',
        "line: metadata (all fields other than path and content) must be at most 20000 characters as JSON",
    ),
]


@pytest.mark.parametrize(("value", "said"), METADATA)
def test_fields_of_json_lines_that_we_do_not_know_are_taken_in_where_they_can_be_stored(
    tmp_path: Path, value: str, said: str
) -> None:
    path = tmp_path / "files.jsonl"
    path.write_text(f'{{"path": "a", "content": "c", "more": {value}}}\n{{"path": "b", "content": ""}}\n')
    first, second = JsonLines(path).listed()
    assert (first.reason if isinstance(first, Skipped) else "listed") == said
    assert second.path == "b"
