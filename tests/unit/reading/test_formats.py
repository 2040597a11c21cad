"""A tiny file of each format, and what of it comes out."""

import tarfile
from importlib import import_module
from pathlib import Path

import pytest

from querymill_reading.archives import unpack
from querymill_reading.child import bounded
from querymill_reading.document import Document, Page, ReadLimits, Unreadable
from querymill_reading.formats import FORMATS
from tests.fixtures import documents
from tests.fixtures.reading import LIMITS, read


def texts(document: Document) -> list[str]:
    return [page.text for page in document.pages]


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_every_format_has_a_module_that_reads(name: str) -> None:
    assert callable(import_module(f"querymill_reading.formats.{name}").read)


def test_a_pdf_gives_pages_tables_and_its_title(tmp_path: Path) -> None:
    first = [(72, 740, 20, "The ferry year"), *documents.lines("Nine ships sailed.", top=700)]
    second = [
        (300, 700, 10, "2023"), (400, 700, 10, "2022"), (72, 688, 10, "Revenue"), (298, 688, 10, "1,452"),
        (398, 688, 10, "1,146"), (72, 676, 10, "Crew"), (310, 676, 10, "70"), (410, 676, 10, "66"),
    ]  # fmt: skip
    found = read(tmp_path / "year.pdf", documents.pdf(first, second))
    assert texts(found) == [
        "The ferry year\n\nNine ships sailed.",
        "|  | 2023 | 2022 |\n| --- | --- | --- |\n| Revenue | 1,452 | 1,146 |\n| Crew | 70 | 66 |",
    ]
    assert found.proposed["title"] == "The ferry year"


def test_a_pdf_whose_letters_are_drawn_twice_is_read_once(tmp_path: Path) -> None:
    lines = (
        "All feet on deck",
        "Nine ferries sailed",
        "to the last of islands.",
        "Eleven stayed in port,",
        "where they are.",
    )
    page = [(72, 740 - 12 * at, 10, line) for at, line in enumerate(lines)]
    table = [
        (300, 620, 10, "2023"), (400, 620, 10, "2022"), (72, 608, 10, "Crew"), (310, 608, 10, "7.5"),
        (410, 608, 10, "66"), (72, 596, 10, "Stations"), (310, 596, 10, "11"), (410, 596, 10, "22"),
    ]  # fmt: skip
    again = [(x + 0.4, y - 0.4, size, text) for x, y, size, text in (*page, *table)]
    once, twice = (
        texts(read(tmp_path / f"{name}.pdf", documents.pdf(drawn)))
        for name, drawn in (("once", [*page, *table]), ("twice", [*page, *table, *again]))
    )
    assert twice == once


def test_a_page_without_text_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    scanned = {1: [(0, 0, 612, 792)]}
    found = read(tmp_path / "scan.pdf", documents.pdf([], documents.lines("Nine ships."), pictures=scanned))
    assert [page.number for page in found.pages] == [2]
    assert [str(remark) for remark in found.remarks] == [
        "page 1: no text: a scanned picture? OCR reads it, if that is asked for (--ocr)"
    ]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", documents.locked_pdf(), "a password is needed"),
        ("a.pdf", b"", "0 bytes"),
        ("a.pdf", b"%PDF-1.4\nnothing", "broken PDF"),
        ("a.pdf", b"no pdf", "its beginning is another"),
        ("a.pdf", documents.pdf([], pictures={1: [(0, 0, 99, 99)]}), "no text in it: page 1: no text"),
        ("a.pdf", documents.pdf([]), "no text in it: page 1: no text: nothing is drawn on it"),
        ("a.pdf", documents.circular_pdf(), "page 1: a broken page"),
        ("a.docx", b"PK\x03\x04 no archive", "broken ZIP"),
        ("a.docx", documents.zipped({"word/document.xml": "<broken"}), "cannot be read|broken"),
        ("a.docx", documents.zipped({"word/document.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}), "XML entities"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "with a password"),
        ("a.zip", documents.zipped({"a": "b"}), "no document"),
        ("a.bin", b"\x00\x01\x02", "none that can be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises((Unreadable, ValueError, SyntaxError, KeyError), match=reason):
        read(tmp_path / name, content)


def test_more_pages_than_are_read(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="12 pages, at most 10 are read"):
        read(tmp_path / "long.pdf", documents.long_pdf(12), limits=ReadLimits(pages=10))


def test_a_file_that_unpacks_to_too_much(tmp_path: Path) -> None:
    bomb = documents.zipped({"word/document.xml": b"0" * 3_000_000})
    with pytest.raises(Unreadable, match="unpacks to 3000000 bytes, at most 1000000"):
        read(tmp_path / "bomb.docx", bomb, limits=ReadLimits(unpacked_bytes=1_000_000))


def test_too_much_text_and_what_a_store_cannot_hold() -> None:
    with pytest.raises(Unreadable, match="page 2: more than 5 characters"):
        bounded(Document("text", (Page(1, "four"), Page(2, "four"))), ReadLimits(characters=5))
    odd = bounded(Document("text", (Page(1, "\ud835\udc44 \ud800 a\x00b of\ufb01ce"),)), LIMITS)
    assert texts(odd) == ["\U0001d444 \ufffd a b office"]


def test_html_formulas_are_text_and_a_raised_sign_is_no_digit_of_the_word_before(tmp_path: Path) -> None:
    power = "<msup><mrow><mi>a</mi><mo>-</mo><mi>x</mi></mrow><mn>2</mn></msup>"
    half = "<mfrac><mi>n</mi><mn>2</mn></mfrac>"
    cell = "<math><msub><mi>p</mi><mn>1</mn></msub></math>"
    page = (
        f'<p>At most <math>{half}<mo>+</mo>{power}</math> per call<sup><a href="#1">1</a></sup>'
        " and 5 km<sup>2</sup>.</p>"
        f"<table><tr><th>n</th><th>share</th></tr><tr><td>7</td><td>{cell}</td></tr></table>"
    )
    assert read(tmp_path / "a.html", page).pages[0].text.split("\n\n") == [
        "At most n/2+(a-x)^2 per call [1] and 5 km2.",
        "| n | share |\n| --- | --- |\n| 7 | p_1 |",
    ]


def test_html_a_name_of_several_rows_is_the_name_of_each(tmp_path: Path) -> None:
    page = """<table><tr><th rowspan=2>Call</th><th colspan=2>Limit</th></tr><tr><th>Free</th><th>Paid</th></tr>
    <tr><td rowspan=2>search</td><td>10</td><td>100</td></tr><tr><td>1,000</td><td>50,000</td></tr></table>"""
    assert read(tmp_path / "a.html", page).pages[0].text.splitlines() == [
        "| Call | Limit / Free | Limit / Paid |",
        "| --- | --- | --- |",
        "| search | 10 | 100 |",
        "| search | 1,000 | 50,000 |",
    ]


def test_html_keeps_tables_and_leaves_out_what_is_not_shown(tmp_path: Path) -> None:
    page = """<html><head><title>Tides</title><meta name="date" content="2021-04-02"><style>x</style></head><body>
    <nav>menu</nav><h1>Tides</h1><p>High <b>water</b>.<br>Low water.</p><p style="display:none">hidden</p>
    <ul><li>ebb</li></ul>
    <table><tr><td></td><th colspan=2>2023</th><th colspan=2>2022</th></tr>
    <tr><td>Sales</td><td>$</td><td>1,452</td><td>$</td><td>1,146</td></tr>
    <tr><td>Loss<sup>1</sup></td><td>(</td><td>7</td><td></td><td>6</td></tr></table></body></html>"""
    found = read(tmp_path / "a.html", page)
    (text,) = texts(found)
    assert "| Sales | $1,452 | $1,146 |" in text
    assert "| Loss [1] |" in text
    assert "High water.\nLow water." in text
    assert "• ebb" in text
    assert not {"menu", "hidden", "x"} & set(text.split())
    assert found.proposed == {"title": "Tides", "published_at": "2021-04-02"}


def test_inline_xbrl_gives_pages_and_the_facts_of_the_cover(tmp_path: Path) -> None:
    def sheet(text: str, number: int) -> str:
        return f"<p>Table of Contents</p><p>{text}</p><p>{number}</p><hr style='page-break-after:always'>"

    fact = "<ix:nonNumeric name='dei:{}' contextRef='c'>{}</ix:nonNumeric>"
    cover = "".join(f"<p>{fact.format(name, value)}</p>" for name, value in {
        "EntityRegistrantName": "Nordhav Ferries", "DocumentType": "10-Q", "DocumentFiscalYearFocus": "2023",
        "DocumentFiscalPeriodFocus": "Q2", "DocumentPeriodEndDate": "June 30, 2023",
    }.items())  # fmt: skip
    body = cover + "".join(sheet(text, number) for number, text in enumerate(("one", "two", "three", "four"), 1))
    hidden = "<ix:header><p>us-gaap:hidden</p></ix:header>"
    page = f"<?xml version='1.0'?><html xmlns:ix='x'><body>{hidden}{body}</body></html>"
    found = read(tmp_path / "filing.htm", page)
    assert texts(found)[1:] == ["two", "three", "four"]
    assert "us-gaap" not in texts(found)[0]
    assert found.proposed == {
        "title": "Nordhav Ferries, Form 10-Q for the period ended June 30, 2023",
        "company": "Nordhav Ferries",
        "period": "2023 Q2",
    }


def test_markdown_with_front_matter(tmp_path: Path) -> None:
    text = """---
title: Agents
date: 2024-02-03
tags: [a, b]
---
import Thing from './thing'

# Agents

See [the `State`](./state.mdx "s") of it. <Thing size={3} />

```python
# no heading
```
"""
    found = read(tmp_path / "agents.mdx", text)
    assert texts(found) == ["Agents\n\nSee the `State` of it. \n\n```python\n# no heading\n```"]
    assert found.proposed == {"title": "Agents", "published_at": "2024-02-03"}
    assert found.metadata == {"tags": ["a", "b"]}


def test_front_matter_that_is_none_is_text(tmp_path: Path) -> None:
    assert "a: [" in texts(read(tmp_path / "a.md", "---\na: [\n---\ntext"))[0]


def test_text_in_other_encodings(tmp_path: Path) -> None:
    assert texts(read(tmp_path / "a.txt", "渡轮".encode("utf-16"))) == ["渡轮"]
    assert texts(read(tmp_path / "d.txt", "Nine ships sailed.".encode("utf-16-le"))) == ["Nine ships sailed."]
    chinese = "渡轮公司的年度报告说明了收入和船员人数的变化。" * 20
    assert texts(read(tmp_path / "b.txt", chinese.encode("gb18030"))) == [chinese]
    assert texts(read(tmp_path / "c.txt", "one\ftwo")) == ["one", "two"]


def test_docx(tmp_path: Path) -> None:
    documents.write_docx(tmp_path / "a.docx")
    found = read(tmp_path / "a.docx")
    assert texts(found) == [
        "Harbours\n\nThe ferry calls at Tinn and at Moss.",
        "Passengers\n\n| Harbour | 2024 / Summer | 2024 / Winter |\n| --- | --- | --- |\n| Tinn | 310 | 95 |",
    ]
    assert found.proposed["title"] == "Ferry timetable"


def test_pptx(tmp_path: Path) -> None:
    documents.write_pptx(tmp_path / "a.pptx")
    assert texts(read(tmp_path / "a.pptx")) == [
        "Fleet\n\n| Ship | Seats |\n| --- | --- |\n| Tern | 140 |\n\nNotes: mention the new engine"
    ]


def test_xlsx(tmp_path: Path) -> None:
    documents.write_xlsx(tmp_path / "a.xlsx")
    assert texts(read(tmp_path / "a.xlsx")) == [
        "Tolls\n\nTolls of 2024\n\n| Harbour | Amount |\n| --- | --- |\n| Tinn | 12.5 |"
        "\n\n| Ship | Crew |\n| --- | --- |\n| Tern | 7 |"
    ]


def test_epub(tmp_path: Path) -> None:
    found = read(tmp_path / "a.epub", documents.epub())
    assert texts(found) == ["Ebb\n\nThe sea withdraws.", "Flood\n\nThe sea returns."]
    assert found.proposed == {"title": "The Tides", "published_at": "2021-04-02"}


def test_an_archive_cannot_write_outside_of_its_folder(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(documents.zipped({"../out.txt": "x", "/abs.txt": "x", "c:\\d.txt": "x", "in/a.txt": "a"}))
    into = tmp_path / "into"
    told = dict(unpack(archive, into, LIMITS))
    assert [name for name, why in told.items() if not why] == ["in/a.txt"]
    assert [path.relative_to(into).as_posix() for path in into.rglob("*.txt")] == ["in/a.txt"]
    assert not (tmp_path / "out.txt").exists()


def test_links_and_devices_of_an_archive_are_left_out(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as written:
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        written.addfile(link)
    assert unpack(archive, tmp_path / "into", LIMITS) == [("link.txt", "neither a file nor a folder")]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [(ReadLimits(unpacked_bytes=10), "more than 10 bytes"), (ReadLimits(members=1), "more than 1 members")],
)
def test_an_archive_that_holds_too_much(tmp_path: Path, limits: ReadLimits, reason: str) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(documents.zipped({"a.txt": "x" * 100, "b.txt": "y"}))
    with pytest.raises(Unreadable, match=reason):
        unpack(archive, tmp_path / "into", limits)
