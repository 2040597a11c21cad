import json
from pathlib import Path

import pytest

from querymill.cli.bulk.embed_file import FileSlice, read_pieces
from querymill_shared.contracts.embed import MAX_TEXT_CHARS


def pieces(tmp_path: Path, *raw: bytes, per_job: int = 2) -> list[FileSlice]:
    path = tmp_path / "texts.jsonl"
    path.write_bytes(b"\n".join(raw) + b"\n")
    return list(read_pieces(path, texts_per_job=per_job))


def line(text_id: object = "a", text: object = "ships", **more: object) -> bytes:
    return json.dumps({"_id": text_id, "text": text} | more).encode()


BAD: list[tuple[bytes, str]] = [
    (b"{", "not JSON: "),
    (b"\xff", "not UTF-8"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"_id": ' + b"9" * 5000 + b"}", "a number too long"),
    (b'"text"', "line: Input should be"),
    (b'{"text": "x"}', "_id: Field required"),
    (b'{"_id": "b"}', "text: Field required"),
    (line(7), "_id: Input should be a valid string"),
    (line("b", " "), "text: must not be empty or blank"),
    (line("b", None), "text: Input should be a valid string"),
    (line("b", "x" * (MAX_TEXT_CHARS + 1)), "text: String should have at most 32000 characters"),
    (b'{"_id": "b", "text": "\\ud800"}', "text: "),
    (line("first"), "_id: must be unique; line 1 has the same"),
]


@pytest.mark.parametrize(("raw", "reason"), BAD, ids=[reason for _, reason in BAD])
def test_a_bad_line_names_number_and_rule_and_the_rest_is_read(tmp_path: Path, raw: bytes, reason: str) -> None:
    (piece,) = pieces(tmp_path, line("first"), raw, line("last"))
    assert [text.id for text in piece.texts] == ["first", "last"]
    (bad,) = piece.bad
    assert bad.number == 2
    assert reason in bad.reason


def test_a_file_is_cut_by_its_good_lines_and_every_byte_belongs_to_a_piece(tmp_path: Path) -> None:
    raw = [line("a"), b"", b"{", line("b"), line("c"), line("a"), line("d"), line("e"), b"{"]
    found = pieces(tmp_path, *raw)
    assert [[text.id for text in piece.texts] for piece in found] == [["a", "b"], ["c", "d"], ["e"]]
    assert [(piece.first, piece.last) for piece in found] == [(1, 4), (5, 7), (8, 9)]
    assert [[bad.number for bad in piece.bad] for piece in found] == [[3], [6], [9]]
    assert found[-1].end == len(b"\n".join(raw)) + 1


def test_bad_lines_at_the_end_are_reported_too(tmp_path: Path) -> None:
    *_, last = pieces(tmp_path, line("a"), line("b"), b"{")
    assert (last.texts, [bad.number for bad in last.bad]) == ((), [3])


def test_an_empty_file_has_no_pieces(tmp_path: Path) -> None:
    assert pieces(tmp_path, b"", b" ") == []


def test_other_fields_are_no_concern_of_ours(tmp_path: Path) -> None:
    (piece,) = pieces(tmp_path, line("a", title="t", metadata={}))
    assert piece.texts[0].text == "ships"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        list(read_pieces(tmp_path / "nowhere.jsonl"))


def test_a_line_may_name_the_document_that_its_text_is_a_part_of(tmp_path: Path) -> None:
    (piece,) = pieces(tmp_path, line("a", document="report-7"), line("b"))
    assert [text.document for text in piece.texts] == ["report-7", None]
