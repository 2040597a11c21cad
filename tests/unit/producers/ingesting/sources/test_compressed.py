"""Histories in archives and in compressed files, and JSON lines that are compressed."""

import gzip
import zipfile
from pathlib import Path

import pytest
import zstandard

from querymill.cli.ingest import opened
from querymill.ingesting.path_options import UnusablePath
from querymill.ingesting.sources.histories import HistoryOptions, are_histories, found_at
from querymill.ingesting.sources.lines import are_lines, plain_file
from querymill_histories.compressed import open_plain, plain_name
from tests.fixtures.histories import claude_line, one, said, write_lines

LINES = [claude_line("user", "u1", None, "Why?"), claude_line("assistant", "a1", "u1", "Because.", second=1)]


def test_an_archive_of_an_export_is_unpacked_and_its_members_are_named(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "s1.jsonl", LINES)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(plain, "chats/s1.jsonl")
        archive.writestr("../out.jsonl", "{}")
        archive.writestr("logo.png", b"\x89PNG")
    (tmp_path / "in").mkdir()
    found = found_at([str(tmp_path / "export.zip")], None, tmp_path / "in")
    (path,) = found.files["claude-code"]
    assert found.shown(str(path)) == f"{tmp_path / 'export.zip'}!/chats/s1.jsonl"
    assert [found.shown(str(other)) for other in found.unknown] == [f"{tmp_path / 'export.zip'}!/logo.png"]
    assert [(each.place.rpartition("!")[2], each.reason) for each in found.unread] == [
        ("/../out.jsonl", "its path leads out of the archive")
    ]
    assert not (tmp_path / "out.jsonl").exists()


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "export.zip").write_bytes(b"PK no archive")
    (tmp_path / "in").mkdir()
    with pytest.raises(UnusablePath, match="broken archive"):
        found_at([str(tmp_path / "export.zip")], None, tmp_path / "in")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_session_is_read_as_it_is(tmp_path: Path, ending: str) -> None:
    plain = write_lines(tmp_path / "s1.jsonl", LINES)
    packed = gzip.compress(plain.read_bytes()) if ending == ".gz" else zstandard.compress(plain.read_bytes())
    path = tmp_path / f"s1.jsonl{ending}"
    path.write_bytes(packed)
    plain.unlink()
    assert said(one(path)) == [("user", "Why?"), ("assistant", "Because.")]
    assert are_histories([str(path)], HistoryOptions())
    path.write_bytes(b"damaged" + packed)
    assert not are_histories([str(path)], HistoryOptions())


def test_json_lines_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "ours.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n{}\n"))
    assert are_lines(str(path))
    with opened(path) as stream:
        assert stream.read() == b"{}\n{}\n"
    with plain_file(path) as plain:
        assert (plain.suffix, plain.read_bytes()) == (".jsonl", b"{}\n{}\n")
    assert plain_name(Path("a.tar")) == Path("a.tar")
    with pytest.raises(FileNotFoundError), open_plain(tmp_path / "none.gz") as stream:
        stream.read()
