"""Archives as other programs write them: names without a mark of their encoding, and members that are damaged."""

import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from querymill_reading.archives import unpack
from querymill_reading.document import ReadLimits

NAMES = ["技術-港/a.json", "Grüße.txt", "Счёт/отчёт.docx", "plain.txt", "日本語.md"]


class _Unmarked(zipfile.ZipInfo):
    """A member whose name is written in an encoding, and not marked as UTF-8."""

    encoding = "utf-8"

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802  # the name of the standard library
        return self.filename.encode(self.encoding), self.flag_bits & ~0x800


def unpacked(archive: Path, into: Path) -> tuple[list[str], dict[str, str]]:
    """Return the files that an archive gave, and why the others were left out."""
    told = unpack(archive, into, ReadLimits())
    files = sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file())
    return files, {name: why for name, why in told if why}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_utf8_without_the_flag_is_read_as_utf8(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(_Unmarked(name), b"x")
    assert unpacked(tmp_path / "a.zip", tmp_path / "out") == ([name], {})


def test_a_name_of_an_old_computer_stays_as_it_is(tmp_path: Path) -> None:
    member = _Unmarked("Übung.txt")
    member.encoding = "cp437"
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, b"x")
    assert unpacked(tmp_path / "a.zip", tmp_path / "out")[0] == ["Übung.txt"]


def test_the_field_of_the_unicode_path_counts_if_it_is_of_this_name(tmp_path: Path) -> None:
    member = _Unmarked("_____.txt")
    field = b"\1" + struct.pack("<I", zlib.crc32(b"_____.txt")) + "ветер.txt".encode()
    member.extra = struct.pack("<HH", 0x7075, len(field)) + field
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, b"x")
    assert unpacked(tmp_path / "a.zip", tmp_path / "out")[0] == ["ветер.txt"]


def test_one_bad_member_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("first.txt", b"first words")
        archive.writestr("bad.txt", b"damaged words")
        archive.writestr("n" * 300, b"x")
        archive.writestr("last.txt", b"last words")
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("first.txt", b"again")
    path.write_bytes(path.read_bytes().replace(b"damaged words", b"dXmaged words"))
    files, why = unpacked(path, tmp_path / "out")
    assert files == ["first.txt", "last.txt"]
    assert (tmp_path / "out" / "first.txt").read_bytes() == b"first words"
    assert {name[:9]: reason.partition(":")[0] for name, reason in why.items()} == {
        "bad.txt": "damaged",
        "nnnnnnnnn": "its name is too long",
        "first.txt": "its name occurs twice in the archive",
    }


@pytest.mark.parametrize(("name", "why"), [(b"\0", "its path leads out of the archive"), (b".", "it has no name")])
def test_a_member_without_a_name_is_left_out_and_the_others_are_read(tmp_path: Path, name: bytes, why: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("?", b"x")
        archive.writestr("a.txt", b"x")
    raw = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(raw.replace(b"?", name))
    files, left_out = unpacked(tmp_path / "a.zip", tmp_path / "out")
    assert (files, list(left_out.values())) == (["a.txt"], [why])
