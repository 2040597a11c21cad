"""DOCX: documents within it, notes and their marks, edges of pages that are shown, and merged cells."""

import io
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from querymill_reading.formats.docx_chunks import MAX_CHUNKS
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_word_forms import paragraph, run

CHUNK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/aFChunk"
DECLARED = nsdecls("w", "r")


def saved(opened: Any) -> bytes:
    held = io.BytesIO()
    opened.save(held)
    return held.getvalue()


def with_chunks(*chunks: tuple[bytes, str], times: int = 1) -> bytes:
    """Return a text with documents of some types between two paragraphs."""
    opened = docx.Document()
    opened.add_paragraph("Before.")
    body = opened.element.body
    for number, (content, kind) in enumerate(chunks):
        part = Part(
            PackURI(f"/word/chunk{number}.{'docx' if kind == WORD else 'dat'}"), kind, content, opened.part.package
        )
        related = opened.part.relate_to(part, CHUNK)
        for _ in range(times):
            body.insert(len(body) - 1, parse_xml(f'<w:altChunk {DECLARED} r:id="{related}"/>'))
    opened.add_paragraph("After.")
    return saved(opened)


def mhtml() -> bytes:
    mail = EmailMessage()
    mail["MIME-Version"] = "1.0"
    mail.set_content("<h1>Quay</h1><p>It opens in May.</p>", subtype="html")
    return mail.as_bytes()


def inner(levels: int) -> bytes:
    opened = docx.Document()
    opened.add_heading("Quay", 1)
    opened.add_paragraph("It opens in May.")
    content = saved(opened)
    for _ in range(levels):
        content = with_chunks((content, WORD))
    return content


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<html><body><h1>Quay</h1><p>It opens in May.</p></body></html>", "text/html"),
        (b"<h1>Quay</h1><p>It opens in May.", "application/xhtml+xml"),
        (mhtml(), "message/rfc822"),
        (mhtml(), "application/octet-stream"),
        ("\ufeffQuay\n\nIt opens in May.".encode(), "text/plain"),
        (rb"{\rtf1\ansi Quay\par\par It opens in May.\par}", "application/rtf"),
        (inner(0), WORD),
        (inner(1), "application/octet-stream"),
    ],
)
def test_a_document_within_a_text_is_read_in_its_place(tmp_path: Path, content: bytes, kind: str) -> None:
    found = read(tmp_path / "a.docx", with_chunks((content, kind)))
    text = text_of(found)
    places = [text.index(each) for each in ("Before.", "Quay", "It opens in May.", "After.")]
    assert places == sorted(places)
    assert said(found) == []


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"\x00\x01", "image/png", "an embedded document: left out, it is of type image/png"),
        (b"PK\x03\x04", WORD, "a broken file: "),
        (inner(4), WORD, "an embedded document: left out, there are too many of them, or one in the other"),
    ],
)
def test_a_document_within_a_text_that_is_not_read_is_a_remark(
    tmp_path: Path, content: bytes, kind: str, reason: str
) -> None:
    found = read(tmp_path / "a.docx", with_chunks((content, kind)))
    assert text_of(found).startswith("Before.")
    assert text_of(found).endswith("After.")
    assert [remark.startswith(reason) for remark in said(found)] == [True]


def test_documents_within_a_text_are_bounded_in_number(tmp_path: Path) -> None:
    found = read(tmp_path / "a.docx", with_chunks((b"Quay", "text/plain"), times=MAX_CHUNKS + 2))
    assert text_of(found).count("Quay") == MAX_CHUNKS
    assert len(said(found)) == 2


def with_notes(path: Path, body: str, **kinds: str) -> Path:
    opened = docx.Document()
    for kind, inside in kinds.items():
        xml = f"<w:{kind} {DECLARED}>{inside}</w:{kind}>".encode()
        content = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}+xml"
        part = Part(PackURI(f"/word/{kind}.xml"), content, xml, opened.part.package)
        opened.part.relate_to(part, f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}")
    for element in parse_xml(f"<w:body {DECLARED}>{body}</w:body>"):
        opened.element.body.insert(len(opened.element.body) - 1, element)
    opened.save(str(path))
    return path


def mark(kind: str, number: int, *, own: bool = False) -> str:
    switch = ' w:customMarkFollows="1"' if own else ""
    return f'<w:r><w:{kind}Reference w:id="{number}"{switch}/></w:r>'


def note(kind: str, number: int, *lines: str) -> str:
    return f'<w:{kind} w:id="{number}">{"".join(paragraph(run(line)) for line in lines)}</w:{kind}>'


def test_notes_stand_behind_the_marks_that_the_text_has(tmp_path: Path) -> None:
    body = paragraph(run("Fees") + mark("footnote", 7) + run(" rise") + mark("endnote", 2) + run("."))
    body += paragraph(run("Ports") + mark("footnote", 3) + mark("footnote", 9, own=True) + run("* close."))
    body += paragraph(f"<w:del>{mark('footnote', 8)}</w:del>" + run("Docks") + mark("endnote", 5))
    footnotes = note("footnote", 3, "By night.", "And by day.") + note("footnote", 7, "In May.")
    footnotes += note("footnote", 9, "* Some.") + note("footnote", 0, "")
    endnotes = note("endnote", 2, "A law.") + note("endnote", 5, "A rule.")
    found = text_of(read(with_notes(tmp_path / "a.docx", body, footnotes=footnotes, endnotes=endnotes)))
    assert found.split("\n\n") == [
        "Fees[1] rise[i].", "Ports[2]* close.", "Docks[ii]",
        "[2] By night.", "And by day.", "[1] In May.", "* Some.", "[i] A law.", "[ii] A rule.",
    ]  # fmt: skip


EVEN, FIRST = (lambda opened: setattr(opened.settings, "odd_and_even_pages_header_footer", True)), (
    lambda opened: setattr(opened.sections[-1], "different_first_page_header_footer", True)
)  # fmt: skip


@pytest.mark.parametrize(
    ("switches", "shown"),
    [
        ((), ["Header: Odd", "Footer: Low"]),
        ((EVEN,), ["Header: Odd", "Header: Even", "Footer: Low"]),
        ((FIRST,), ["Header: Odd", "Header: First", "Footer: Low"]),
    ],
)
def test_edges_of_pages_that_the_document_does_not_have_are_left_out(
    tmp_path: Path, switches: tuple[Callable[[Any], None], ...], shown: list[str]
) -> None:
    opened = docx.Document()
    opened.add_paragraph("Quay")
    section = opened.sections[0]
    for edge, text in ((section.header, "Odd"), (section.even_page_header, "Even"),
                       (section.first_page_header, "First"), (section.footer, "Low")):  # fmt: skip
        edge.is_linked_to_previous = False
        edge.paragraphs[0].text = text
    # A later section has the edges of the one before it.
    opened.add_section()
    for switch in switches:
        switch(opened)
    opened.save(str(tmp_path / "a.docx"))
    found = read(tmp_path / "a.docx")
    assert sorted(text_of(found).split("\n\n")[1:]) == sorted(shown)
    assert said(found) == [f"{len(shown)} headers or footers: read once, at the end"]


def test_merged_cells_stand_once_over_the_whole_table_and_else_in_each_row_and_column(tmp_path: Path) -> None:
    opened = docx.Document()
    rows = ["Dues of the year||", "Port|Fee|Limit", "Vik|5|none", "Moss|6|", "Tinn||", "A note below all of it||"]
    table = opened.add_table(len(rows), 3)
    for at, row in enumerate(rows):
        for column, text in enumerate(row.split("|")):
            if text:
                table.cell(at, column).text = text
    for whole in (0, 5):
        table.cell(whole, 0).merge(table.cell(whole, 2))
    table.cell(4, 0).merge(table.cell(4, 1))
    table.cell(2, 2).merge(table.cell(4, 2))
    opened.save(str(tmp_path / "a.docx"))
    assert text_of(read(tmp_path / "a.docx")) == (
        "| Dues of the year / Port | Fee | Limit |\n| --- | --- | --- |\n| Vik | 5 | none |\n| Moss | 6 | none |\n"
        "| Tinn | Tinn | none |\n| A note below all of it |  |  |"
    )
