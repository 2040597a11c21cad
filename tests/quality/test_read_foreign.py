"""The report on other people's files: what it counts, and which letters of a document's XML it misses."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from querymill_reading.document import Document, Page, Remark, Unreadable
from tests.quality.foreign_letters import letters_lost
from tests.quality.read_foreign import Tally, code, documents, histories, report

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"

Packed = Callable[[str, dict[str, str]], Path]


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    """Write a package with members."""

    def write(name: str, members: dict[str, str]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return tmp_path / name

    return write


def _read(format_: str, text: str, *remarks: Remark) -> Document:
    return Document(format_, (Page(1, text),), remarks=remarks)


@pytest.mark.parametrize(
    ("format_", "member", "content", "written"),
    [
        ("docx", "word/document.xml", f'<w:p xmlns:w="{WORD}"><w:t>ab</w:t><w:del><w:t>x</w:t></w:del></w:p>', 2),
        ("docx", "word/comments.xml", f'<w:p xmlns:w="{WORD}"><w:t>ab</w:t><w:instrText>y</w:instrText></w:p>', 2),
        ("docx", "word/glossary/document.xml", f'<w:p xmlns:w="{WORD}"><w:t>ab</w:t></w:p>', 0),
        ("pptx", "ppt/slides/slide3.xml", "<a:p xmlns:a='a'><a:t>a b</a:t></a:p>", 2),
        ("pptx", "ppt/slideLayouts/slideLayout1.xml", "<a:p xmlns:a='a'><a:t>click to edit</a:t></a:p>", 0),
        ("xlsx", "xl/worksheets/sheet1.xml", f'<c xmlns="{SHEET}" t="inlineStr"><is><t>ab</t></is></c>', 2),
        ("odt", "content.xml", f'<b xmlns:o="{OFFICE}"><o:body><p>a<s/>b</p></o:body><t>style</t></b>', 2),
        ("epub", "c.xhtml", "<html><head><title>t</title></head><body><p>a<i>b</i></p></body></html>", 2),
        ("docx", "word/document.xml", f'<w:p xmlns:w="{WORD}"><w:t>ab</w:t><broken', 2),
    ],
)
def test_letters_of_the_xml_are_those_that_a_person_sees(
    packed: Packed, format_: str, member: str, content: str, written: int
) -> None:
    path = packed(f"a.{format_}", {member: content})
    assert letters_lost(path, _read(format_, "b a")) == (written, 0)
    assert letters_lost(path, _read(format_, "a")) == (written, written // 2)


def test_a_text_that_cells_share_counts_once_for_each_cell(packed: Packed) -> None:
    cells = f'<row xmlns="{SHEET}">' + '<c t="s"><v>0</v></c>' * 2 + '<c t="s"><v>9</v></c><c><v>7</v></c></row>'
    strings = f'<sst xmlns="{SHEET}"><si><r><t>a</t></r><r><t>b</t></r><rPh><t>z</t></rPh></si><si><t>q</t></si></sst>'
    path = packed("a.xlsx", {"xl/worksheets/sheet1.xml": cells, "xl/sharedStrings.xml": strings})
    assert letters_lost(path, _read("xlsx", "ab a")) == (4, 1)


def test_a_flat_open_document_is_compared_and_a_page_is_not(tmp_path: Path) -> None:
    flat = tmp_path / "a.fodt"
    flat.write_text(f'<o:document xmlns:o="{OFFICE}" xmlns:t="{TEXT}"><o:body><t:p>abc</t:p></o:body></o:document>')
    assert letters_lost(flat, _read("odt", "ab")) == (3, 1)
    assert letters_lost(flat, _read("html", "ab")) == (0, 0)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("encrypted with a password", "refused"),
        ("no text in it", "refused"),
        ("cannot be read: KeyError: 'rId1'", "crashed"),
        ("reading it ended the process (signal 11; it may use 2048 MB of memory)", "crashed"),
        ("reading it took longer than 30 s", "crashed"),
        ("no text in it: sheet A: cannot be read: ValueError: bad", "crashed"),
    ],
)
def test_a_refusal_and_a_crash_are_told_apart(tmp_path: Path, reason: str, outcome: str) -> None:
    def refuse(_: Path) -> Document:
        raise Unreadable(reason)

    tally = documents([tmp_path / "A.PDF", tmp_path / "no document.xyz"], refuse)
    assert {name: dict(each.counts) for name, each in tally.items()} == {".pdf": {outcome: 1}}


def test_remarks_crashed_parts_and_lost_letters_are_counted_by_format(packed: Packed, tmp_path: Path) -> None:
    path = packed("a.docx", {"word/document.xml": f'<w:p xmlns:w="{WORD}"><w:t>abc</w:t></w:p>'})
    told = [Remark("2 tracked deletions: left out", count=2), Remark("cannot be read: KeyError: 'x'", place="table 1")]
    with_remarks = documents([path], lambda _: _read("docx", "ab", *told))[".docx"]
    without = documents([path], lambda _: _read("docx", "ab"))[".docx"]
    assert (with_remarks.lost, with_remarks.unsaid, without.lost, without.unsaid) == (1, 0, 1, 1)
    assert with_remarks.counts == {"read": 1, "with remarks": 1, "with a part that crashed": 1}
    assert list(report({".docx": without})) == [
        ".docx: 1 read, 0 with remarks, 0 with a part that crashed; 1 of 3 letters lost, 1 of them without a remark",
        "  1 x letters lost without a remark: a.docx (1 of 3)",
    ]
    assert "remark: N tracked deletions: left out" in with_remarks.reasons


def test_histories_are_found_by_what_they_begin_with(tmp_path: Path) -> None:
    chat = {"role": "user", "content": "hello"}
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": [chat]}) + "\n{broken\n")
    (tmp_path / "notes.txt").write_text("nothing of a chat")
    found = histories(tmp_path)
    assert found["openai"].counts["sessions"] == 1
    assert found["openai"].counts["refused places"] == 1
    assert found["of no format"].counts == {"refused": 1}


def test_code_is_listed_with_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_bytes(b"\0\1\2")
    found = code(tmp_path)
    assert dict(found[".py"].counts) == {"read": 1, "refused": 1}
    assert found[".py"].reasons == {"refused: binary": ["b.py"]}


def test_a_report_names_a_few_files_and_reasons_of_many() -> None:
    tally = Tally()
    for number in range(7):
        tally.note("refused", f"page {number}: empty", f"{number}.pdf")
    assert list(report({".pdf": tally})) == [
        ".pdf: 7 refused",
        "  7 x refused: page N: empty: 0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 2 more",
    ]
