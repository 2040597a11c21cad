"""Bytes as text: marks, names that a file or its surroundings give, damage, and what stays open."""

from pathlib import Path

import pytest

from querymill.code_bases.declared import declared_in
from querymill.code_bases.decoding import NOT_READ, NOT_UTF8, UNDECIDED, Decoded, Evidence, text_of
from querymill.code_bases.directory import Directory
from querymill.code_bases.listing import ListedFile, Skipped

JAPANESE = "/* 港の使用料を計算する。遅れると延滞料がかかる。 */\nint fee(int n);\n"
RUSSIAN = "// Вычисляет портовый сбор за стоянку судна\nint fee(int n);\n"
KOREAN = "# 항구 사용료를 계산한다\n"
OPEN = "# 初期化処理\ndef start(): ...\n"
GERMAN = "# Größe\nlength = 1\n"

READ: list[tuple[bytes, str, str]] = [
    (b"", "", ""),
    ("渲染\n".encode(), "渲染\n", ""),
    (b"\xef\xbb\xbfx = 1", "x = 1", ""),
    ("\ufffd was here before".encode(), "\ufffd was here before", ""),
    (b"x" * 9_000 + b"\x00", "x" * 9_000 + " ", ""),
    (JAPANESE.encode("cp932"), JAPANESE, "read as CP932"),
    (JAPANESE.encode("euc_jp"), JAPANESE, "read as EUC_JP"),
    (JAPANESE.encode("iso2022_jp"), JAPANESE, "read as ISO2022_JP"),
    (KOREAN.encode("euc_kr"), KOREAN, "read as CP949"),
    (RUSSIAN.encode("cp1251"), RUSSIAN, "read as CP1251"),
    (RUSSIAN.encode("koi8_r"), RUSSIAN, "read as KOI8-U"),
    (RUSSIAN.encode("cp866"), RUSSIAN, "read as CP866"),
    (RUSSIAN.encode("utf-16-le"), RUSSIAN, "read as UTF-16-LE"),
    (GERMAN.encode("cp1252"), GERMAN, "read as CP1252"),
    ((GERMAN * 3).encode("utf-16-le"), GERMAN * 3, "read as UTF-16-LE"),
    ("größer, länger, höher ".encode() + b"caf\xe9", "größer, länger, höher caf\ufffd", NOT_UTF8),
    (b"# coding: latin-1\n# it\x92s \x93so\x94\n", "# coding: latin-1\n# it’s “so”\n", "read as CP1252"),
    (b"# coding: latin-1\n" + RUSSIAN.encode("cp1251"), "# coding: latin-1\n" + RUSSIAN, "read as CP1251"),
    (OPEN.encode("euc_jp") + b"x = 1\n" * 20, "", UNDECIDED),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "text", "remark"), READ, ids=[repr(raw[:16]) for raw, _, _ in READ])
def test_bytes_are_read_as_their_letters(raw: bytes, text: str, remark: str) -> None:
    found = text_of(raw)
    assert isinstance(found, Decoded)
    assert found.remark == remark
    assert found.text == text or (remark == UNDECIDED and "\ufffd" in found.text)


REFUSED = [
    (b"\x7fELF\x00\x01", "binary"),
    (b"\x01\x02\xff\xfe\xfd\xfc abc", "binary"),
    (OPEN.encode("euc_jp"), NOT_READ),
]


@pytest.mark.parametrize(("raw", "reason"), REFUSED)
def test_what_is_not_read_has_a_reason(raw: bytes, reason: str) -> None:
    assert text_of(raw) == reason


DECLARED = [
    (b"#!/bin/sh\n# -*- coding: euc-jp-unix -*-\n", ["euc-jp", "euc-jp"]),
    (b"/* -*- mode: c; coding: koi8-r -*- */\n", ["koi8-r"]),
    (b"int a;\n// vim: set fenc=cp932 ts=4:\n", ["cp932"]),
    (b"// vi:fileencoding=big5\n", ["big5"]),
    (b"int a;\n/* Local Variables:\n * coding: sjis-dos\n * End: */\n", ["sjis"]),
    (b"<?xml version='1.0' encoding='windows-1251'?><a/>", ["windows-1251"]),
    (b'@charset "gbk";\n', ["gbk"]),
    (b'<html><head><meta http-equiv="Content-Type" content="text/html; charset=euc-kr">', ["euc-kr"]),
    (b"x = coding\n\n# coding: of all\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "names"), DECLARED)
def test_the_names_that_a_file_gives_its_encoding_are_found(raw: bytes, names: list[str]) -> None:
    assert list(dict.fromkeys(declared_in(raw))) == list(dict.fromkeys(names))


def test_what_is_stated_decides_what_letters_leave_open() -> None:
    raw = OPEN.encode("euc_jp")
    assert text_of(raw, Evidence(stated=["utf-8", "euc-jp"])) == Decoded(OPEN, "read as EUC_JP", "euc_jp")
    assert text_of(raw, Evidence(around=[["euc_jp"]])) == Decoded(OPEN, "read as EUC_JP, like its neighbours", "euc_jp")
    assert text_of(raw, Evidence(around=[["euc_jp", "gb18030"]])) == NOT_READ
    short = "x=1\n".encode("utf-16-le")
    assert text_of(short) == "binary"
    assert text_of(short, Evidence(stated=["utf-16le"])) == Decoded("x=1\n", "read as UTF-16-LE")


def _listed(root: Path) -> dict[str, str]:
    return {
        entry.path: entry.remark if isinstance(entry, ListedFile) else entry.reason
        for entry in Directory(root).listed()
        if isinstance(entry, ListedFile | Skipped) and not entry.path.startswith(".")
    }


def test_neighbours_tell_and_both_passes_read_the_same(tmp_path: Path) -> None:
    (tmp_path / "open.py").write_bytes(OPEN.encode("euc_jp"))
    assert _listed(tmp_path) == {"open.py": NOT_READ}
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/plain.c").write_bytes(JAPANESE.encode("euc_jp"))
    assert _listed(tmp_path)["open.py"] == "read as EUC_JP, like its neighbours"
    code_base = Directory(tmp_path)
    hashes = {entry.path: entry.sha256 for entry in code_base.listed() if isinstance(entry, ListedFile)}
    assert {file.path: file.sha256 for file in code_base.read(hashes)} == hashes


def test_the_editor_and_the_attributes_tell(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text("root = true\n[*.py]\ncharset = euc-jp\n[*.c]\ncharset = utf-16le\n")
    (tmp_path / ".gitattributes").write_text("*.txt working-tree-encoding=EUC-JP\n*.md encoding=shift_jis\n")
    for name, encoding in (("a.py", "euc_jp"), ("a.c", "utf-16-le"), ("a.txt", "euc_jp"), ("a.md", "cp932")):
        (tmp_path / name).write_bytes(OPEN.encode(encoding))
    assert _listed(tmp_path) == {
        "a.c": "read as UTF-16-LE", "a.md": "read as CP932", "a.py": "read as EUC_JP", "a.txt": "read as EUC_JP",
    }  # fmt: skip
