"""What is found at a path, and when a file counts as unchanged."""

import os
from pathlib import Path

import pytest

from querymill_reading.sources import FileSource, FileStamp, LeftOut, is_unchanged, paths_at, sources_in


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_folder_is_read_in_the_order_of_names_with_the_metadata_beside_each_file(tmp_path: Path) -> None:
    write(tmp_path, b_txt="b", a__c_md="c", metadata_csv="file,title,desk\nb.txt,Tides,sea\nx.txt,No,\n", z_png="p")
    (tmp_path / ".hidden.txt").write_text("h")
    (tmp_path / "link.txt").symlink_to(tmp_path / "b.txt")
    found = list(sources_in(tmp_path, "root"))
    assert [(entry.place.removeprefix(f"{tmp_path}/"), type(entry)) for entry in found] == [
        ("a/c.md", FileSource), ("b.txt", FileSource), ("link.txt", LeftOut), ("z.png", LeftOut),
    ]  # fmt: skip
    assert isinstance(found[1], FileSource)
    assert found[1].given == {"title": "Tides", "desk": "sea"}
    assert [entry.reason for entry in found if isinstance(entry, LeftOut)] == [
        "a symbolic link, not followed", "not a document",
    ]  # fmt: skip


def test_metadata_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, a_txt="a", metadata_csv="title\nTides\n")
    left, source = sources_in(tmp_path, "root")
    assert isinstance(left, LeftOut)
    assert left.failed
    assert "must have a column named file" in left.reason
    assert isinstance(source, FileSource)


def test_patterns_and_paths_are_meant_once(tmp_path: Path) -> None:
    write(tmp_path, a__b_txt="b", a__c_md="c")
    found = paths_at([f"{tmp_path}/**/*.txt", f"{tmp_path}/a/b.txt", f"{tmp_path}/missing.pdf"])
    assert found == [tmp_path / "a/b.txt", tmp_path / "missing.pdf"]


def test_the_id_is_of_the_place_so_a_changed_file_replaces_itself(tmp_path: Path) -> None:
    write(tmp_path, a_txt="a")
    (before,) = sources_in(tmp_path, "root")
    write(tmp_path, a_txt="changed")
    (after,) = sources_in(tmp_path, "root")
    assert isinstance(before, FileSource)
    assert isinstance(after, FileSource)
    assert before.id == after.id
    (member,) = sources_in(tmp_path, "root", prefix="/x.zip!")
    assert isinstance(member, FileSource)
    assert member.place == "/x.zip!a.txt"
    assert member.id != before.id


@pytest.mark.parametrize(
    ("text", "mtime", "asked", "same"),
    [("a", 1, "x", True), ("a", 2, "x", True), ("b", 2, "x", False), ("ab", 1, "x", False), ("a", 1, "y", False)],
)
def test_a_stamp(tmp_path: Path, text: str, mtime: int, asked: str, same: bool) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    os.utime(path, ns=(1, 1))
    stamp = str(FileStamp.of(path, "x"))
    path.write_text(text)
    os.utime(path, ns=(mtime, mtime))
    assert is_unchanged(stamp, path, asked) is same


def test_a_stamp_of_something_else_is_no_stamp(tmp_path: Path) -> None:
    write(tmp_path, a_txt="a")
    assert not is_unchanged("None", tmp_path / "a.txt", "x")
