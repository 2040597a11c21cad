"""Further forms of what other people's files were read wrong for: beside each trouble, others of its kind."""

import re
from datetime import date
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from openpyxl.utils.datetime import CALENDAR_MAC_1904
from pptx.util import Inches

from querymill_reading.document import Unreadable
from tests.fixtures import documents
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_other_programs import open_document, replaced
from tests.unit.reading.test_word_forms import paragraph, run, word

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


# Word: wrappers, fields and boxes

BOX = f"<w:txbxContent>{paragraph(run('box'))}</w:txbxContent>"
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> PAGEREF _x </w:instrText></w:r>'
    f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("12")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
INNER = f"<w:tbl><w:tr><w:tc>{paragraph(run('in'))}</w:tc><w:tc>{paragraph(run('ner'))}</w:tc></w:tr></w:tbl>"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (paragraph(f'<w:ins w:id="1">{run("a")}<w:del w:id="2">{run("x")}</w:del></w:ins>{run("b")}'), "ab"),
        (paragraph(f'<w:hyperlink w:anchor="x">{run("a link")}</w:hyperlink>{run(" ends")}'), "a link ends"),
        (paragraph(f'<w:fldSimple w:instr="DATE">{run("1 May")}</w:fldSimple>'), "1 May"),
        (paragraph(run("page ") + FIELD), "page 12"),
        (paragraph(f'<w:dir w:val="rtl">{run("x")}</w:dir><w:bdo w:val="ltr">{run("y")}</w:bdo>'), "xy"),
        (paragraph(run("10\u00a0kg a\u202fb")), "10\u00a0kg a\u202fb"),
        (
            paragraph(
                f"{run('by')}<w:r><mc:AlternateContent><mc:Choice Requires='wps'>{BOX}</mc:Choice>"
                f"<mc:Fallback>{BOX}</mc:Fallback></mc:AlternateContent></w:r>"
            ),
            "by\nbox",
        ),
        (
            f"<w:tbl><w:tr><w:tc>{INNER}{paragraph('')}</w:tc><w:tc>{paragraph(run('y'))}</w:tc></w:tr></w:tbl>",
            "| in ¦ ner | y |\n| --- | --- |",
        ),
        (
            f'<w:tbl><w:tr><w:trPr><w:ins w:id="3"/></w:trPr><w:tc>{paragraph(run("new"))}</w:tc>'
            f'<w:tc>{paragraph(run("x"))}</w:tc></w:tr></w:tbl>',
            "| new | x |\n| --- | --- |",
        ),
        (f"<w:sdt><w:sdtContent><w:sdt><w:sdtContent>{INNER}</w:sdtContent></w:sdt></w:sdtContent></w:sdt>",
         "| in | ner |\n| --- | --- |"),
        (paragraph("<w:ruby><w:rt><w:r><w:t>かん</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase>"
                   "</w:ruby>" + run("字")), "漢字"),
    ],
    ids=["deleted in an insertion", "hyperlink", "field", "long field", "directions", "blanks that do not break",
         "text box", "table in a cell", "inserted row", "control in a control", "ruby"],
)  # fmt: skip
def test_a_text_of_word_is_read_once_and_as_it_is_shown(tmp_path: Path, body: str, shown: str) -> None:
    assert text_of(word(tmp_path / "a.docx", body)) == shown


DIAGRAM = (
    '<dgm:dataModel xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    ' xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
    "<a:p><a:r><a:t>Plan</a:t></a:r></a:p><a:p/><a:p><a:r><a:t>Build</a:t></a:r></a:p></dgm:dataModel>"
)


def test_the_texts_of_a_diagram_of_word_are_read(tmp_path: Path) -> None:
    opened = docx.Document()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
    part = Part(
        PackURI("/word/diagrams/data1.xml"), "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
        DIAGRAM.encode(), opened.part.package,
    )  # fmt: skip
    relation = opened.part.relate_to(part, kind)
    opened.add_paragraph("Steps")
    opened.save(str(tmp_path / "a.docx"))
    drawing = (
        '<w:r><w:drawing><d:relIds xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
        ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
        f' r:dm="{relation}"/></w:drawing></w:r></w:p>'
    )
    replaced(tmp_path / "a.docx", "word/document.xml", "</w:r></w:p>", f"</w:r>{drawing}")
    assert text_of(read(tmp_path / "a.docx")) == "Steps\n\nPlan\nBuild"


# Slides and sheets


def test_shapes_in_groups_in_groups_are_read_in_their_places(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    outer = shapes.add_group_shape()
    inner = outer.shapes.add_group_shape()
    for top, (tree, text) in enumerate([(inner.shapes, "first"), (outer.shapes, "second"), (shapes, "third")]):
        tree.add_textbox(0, Inches(top), Inches(1), Inches(1)).text_frame.text = text
    deck.save(str(tmp_path / "a.pptx"))
    assert text_of(read(tmp_path / "a.pptx")) == "first\n\nsecond\n\nthird"


def test_days_since_1904_sheets_that_no_menu_shows_and_readings_of_names(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    sheet = book.active
    sheet.append(["名", "Day", "Open"])
    sheet.append(["東京", date(2024, 5, 1), True])
    deep = book.create_sheet("Deep")
    deep["A1"], deep.sheet_state = "kept", "veryHidden"
    book.save(tmp_path / "a.xlsx")
    name = "&#26481;&#20140;</t>"
    replaced(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", name, f'{name}<rPh sb="0" eb="2"><t>とうきょう</t></rPh>')
    found = read(tmp_path / "a.xlsx")
    assert "| 東京 | 2024-05-01 | TRUE |" in text_of(found)
    assert said(found) == ["sheet Deep: a hidden sheet, read all the same"]


@pytest.mark.parametrize("ending", [".xlsx", ".xlsm", ".xltx", ".xltm"])
@pytest.mark.parametrize("kind", ["sheet.macroEnabled", "template.macroEnabled", "template"])
def test_workbooks_with_macros_and_templates_are_workbooks(tmp_path: Path, ending: str, kind: str) -> None:
    path = tmp_path / f"a{ending}"
    documents.write_xlsx(path)
    family = "ms-excel" if "macro" in kind else "openxmlformats-officedocument.spreadsheetml"
    plain = "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
    replaced(path, "[Content_Types].xml", plain, f"vnd.{family}.{kind}.main+xml")
    assert "| Tinn | 12.5 |" in text_of(read(path))


# Readings of words in OpenDocument and in tables of HTML


def test_readings_between_letters_are_left_out_in_each_format(tmp_path: Path) -> None:
    ruby = "<ruby>横<rp>(</rp><rt>よこ</rt><rp>)</rp>浜<rt>はま</rt></ruby>港"
    page = read(tmp_path / "a.html", f"<meta charset=utf-8><table><tr><td>{ruby}<td>1<tr><td>a<td>2</table><p>{ruby}")
    assert text_of(page).count("横浜港") == 2
    assert said(page) == ["4 readings of a word (ruby): left out"]
    own = "<text:ruby><text:ruby-base>横浜</text:ruby-base><text:ruby-text>よこはま</text:ruby-text></text:ruby>港"
    cell = f"<table:table-cell><text:p>{own}</text:p></table:table-cell>"
    sheet = f'<table:table table:name="A"><table:table-row>{cell * 2}</table:table-row></table:table>'
    assert "横浜港" in text_of(read(tmp_path / "a.ods", open_document("spreadsheet", sheet)))
    slide = f"<draw:page><draw:frame><draw:text-box><text:p>{own}</text:p></draw:text-box></draw:frame></draw:page>"
    assert text_of(read(tmp_path / "a.odp", open_document("presentation", slide))) == "横浜港"


# Files under other names, and files of nothing


@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a.xlsx", "a", "a.DOC"])
def test_a_word_file_under_any_name_is_read_as_what_it_is(tmp_path: Path, name: str) -> None:
    documents.write_docx(tmp_path / "ok.docx")
    assert read(tmp_path / name, (tmp_path / "ok.docx").read_bytes()).format == "docx"


@pytest.mark.parametrize(
    ("name", "content", "format_", "held"),
    [
        ("a.docx", documents.pdf(documents.lines("one")), "pdf", "one"),
        ("a.doc", b"<html><body><p>saved by a web page</body></html>", "html", "saved by a web page"),
        ("a.doc", rb"{\rtf1 old}", "rtf", "old"),
        (
            "a.mht",
            b"From: <Saved>\nSubject: S\nMIME-Version: 1.0\nContent-Type: text/html\n\n<p>a page",
            "eml",
            "a page",
        ),
        ("a.log", b"line one\nline two", "text", "line two"),
    ],
)
def test_what_a_file_holds_decides_before_its_name(
    tmp_path: Path, name: str, content: bytes, format_: str, held: str
) -> None:
    found = read(tmp_path / name, content)
    assert (found.format, held in text_of(found)) == (format_, True)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        *((f"a.{ending}", b"", "the file is empty (0 bytes)") for ending in ("docx", "csv", "html", "msg", "json")),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), "encrypted with a password"),
        ("a.doc", OLE + b"\0" * 600, "an Office file of before 2007"),
        ("a.xml", b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook/>', "Office 2003 in XML"),
        ("a.xml", b'\xef\xbb\xbf<?xml version="1.0"?>\n<pkg:package xmlns:pkg="x"/>', "in one piece of XML"),
        ("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"><text>x</text></svg>', "a drawing in SVG"),
        ("a.pem", b"-----BEGIN CERTIFICATE-----\nAAAA", "a key or a certificate"),
    ],
)  # fmt: skip
def test_what_is_not_read_says_what_it_is(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=re.escape(reason)):
        read(tmp_path / name, content)
