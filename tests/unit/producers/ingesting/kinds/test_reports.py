import json
from pathlib import Path

import pytest

from querymill.ingesting.jsonl import BadLine, GoodLine
from querymill.ingesting.kinds.reports import LINES
from querymill_shared.contracts.reports.ingest import Report

GOOD = {"sha1": "a1", "title": "t", "company": "c", "pages": [{"page": 1, "text": "x"}]}


def lines(tmp_path: Path, *raw: bytes) -> list[GoodLine[Report] | BadLine]:
    path = tmp_path / "reports.jsonl"
    path.write_bytes(b"\n".join(raw))
    return list(LINES.read(path))


def line(**changes: object) -> bytes:
    fields = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return json.dumps(fields).encode()


BAD: list[tuple[bytes, str]] = [
    (line(sha1="a b"), "sha1: "),
    (line(title=" "), "title: "),
    (line(pages=None), "pages: Field required"),
    (line(pages=[]), "pages: "),
    (line(pages=[{"page": 1, "text": "a"}, {"page": 1, "text": "b"}]), "every page number must occur once"),
    (line(pages=[{"page": -1, "text": "a"}]), "pages.0.page"),
    (line(company=" "), "company"),
    (line(published_at="soon"), "published_at"),
    (line(aliases=[f"name {n}" for n in range(101)]), "aliases: must be at most 100 (got 101)"),
    (line(note="x" * 20_001), "metadata must be at most 20000 characters as JSON"),
    (line(pages=[{"page": 1, "text": "x" * 2_000_001}]), "pages.0.text"),
    (b"{", "not JSON"),
    (b'"text"', "report"),
    (b'{"sha1": "\xff"}', "not UTF-8"),
]


@pytest.mark.parametrize(("raw", "reason"), BAD)
def test_a_bad_line_names_number_and_rule_and_the_rest_is_read(tmp_path: Path, raw: bytes, reason: str) -> None:
    first, bad, last = lines(tmp_path, line(), raw, line(sha1="a2"))
    assert isinstance(first, GoodLine)
    assert isinstance(last, GoodLine)
    assert isinstance(bad, BadLine)
    assert bad.number == 2
    assert reason in bad.reason or reason == "report"


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    assert [found.number for found in lines(tmp_path, b"", line(), b"  ")] == [2]


def test_unknown_fields_are_kept_as_metadata(tmp_path: Path) -> None:
    (found,) = lines(tmp_path, line(auditor="Nobody & Sons"))
    assert isinstance(found, GoodLine)
    assert found.document.model_extra == {"auditor": "Nobody & Sons"}


def test_a_line_that_has_only_pages_is_named_by_them(tmp_path: Path) -> None:
    pages = [{"page": 3, "text": "\n  ## The tide \nrose"}, {"page": 4, "text": "and fell"}]
    bare, other, null = lines(
        tmp_path,
        json.dumps({"pages": pages}).encode(),
        json.dumps({"pages": pages[:1]}).encode(),
        json.dumps({"pages": pages, "sha1": None, "title": None, "company": None}).encode(),
    )
    assert isinstance(bare, GoodLine)
    report = bare.document
    assert (report.title, report.company) == ("The tide", None)
    assert bare.name == report.sha1 == "5527948552838937b6783737f64bec5474142f82"
    assert isinstance(other, GoodLine)
    assert other.name != report.sha1
    assert isinstance(null, GoodLine)
    assert null.document == bare.document


@pytest.mark.parametrize(("text", "title"), [("", ""), (" \n#\n", ""), ("x" * 300, "x" * 200)])
def test_a_title_fits_and_is_the_id_if_the_first_page_is_blank(tmp_path: Path, text: str, title: str) -> None:
    (found,) = lines(tmp_path, line(title=None, pages=[{"page": 1, "text": text}, {"page": 2, "text": "two"}]))
    assert isinstance(found, GoodLine)
    assert found.document.title == (title or GOOD["sha1"])


def test_nul_characters_of_extracted_text_become_blanks(tmp_path: Path) -> None:
    (found,) = lines(tmp_path, line(pages=[{"page": 1, "text": "a\x00b"}]))
    assert isinstance(found, GoodLine)
    assert found.document.pages[0].text == "a b"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        list(LINES.read(tmp_path / "nowhere.jsonl"))
