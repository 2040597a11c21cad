"""A part of a document that cannot be read costs itself: the rest is read, and a remark names the place."""

import io
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from lxml import etree
from openpyxl.chart import BarChart, Reference
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from querymill_reading.child import bounded
from querymill_reading.document import Document, Page, Remark, Remarks, Unreadable
from querymill_reading.formats import html, html_tables, pdf
from querymill_reading.formats import pptx as slides_of
from querymill_reading.reports import report_of
from tests.fixtures import documents
from tests.fixtures.reading import LIMITS, read, said, text_of

TROUBLES = Path(__file__).parents[2] / "fixtures" / "troubles"
OFFICE = "http://schemas.openxmlformats.org"
NAMES = f'xmlns:c="{OFFICE}/drawingml/2006/chart" xmlns:r="{OFFICE}/officeDocument/2006/relationships"'
#: Any change of the members of a package: what is None is left out.
Change = Mapping[str, Callable[[bytes], bytes] | None]


def changed(path: Path, changes: Change) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        assert changes.keys() <= set(archive.namelist()), archive.namelist()
        for name in archive.namelist():
            change = changes.get(name, bytes)
            if change is not None:
                copy.writestr(name, change(archive.read(name)))
    path.write_bytes(written.getvalue())


def with_wrong_checksum(path: Path, member: str) -> None:
    """Damage a member, as a disk does."""
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        found = archive.getinfo(member)
    name, extra = struct.unpack("<HH", raw[found.header_offset + 26 : found.header_offset + 30])
    start = found.header_offset + 30 + name + extra
    raw[start + 2 : start + found.compress_size - 2] = b"\x55" * (found.compress_size - 4)
    path.write_bytes(bytes(raw))


def replaced(old: str, new: str) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert re.search(old.encode(), content), (old, content[:2_000])
        return re.sub(old.encode(), new.encode(), content, count=1)

    return change


def cut(content: bytes) -> bytes:
    """End XML in the middle."""
    return content[: len(content) // 2]


# PDF


@pytest.mark.parametrize(
    ("old", "new", "remark"),
    [
        (b"Td (two)", b"Td <<<two", "page 2: no text"),
        (b"Td (two) Tj ET", b"\xff\xfe\x00 garbage ]] Q Tj", "page 2: no text"),
        (b"/Contents 7 0 R", b"/Contents 99 0 R", "page 2: no text"),
        (b"6 0 obj\n<< /Type /Page", b"6 0 obj\n<< /Type /Font", "page 2: "),
    ],
    ids=["string", "content", "no content", "no page"],
)
def test_a_damaged_page_of_a_pdf_is_a_remark(tmp_path: Path, old: bytes, new: bytes, remark: str) -> None:
    whole = documents.pdf(*(documents.lines(text) for text in ("one", "two", "three")))
    assert whole.count(old) == 1
    found = read(tmp_path / "a.pdf", whole.replace(old, new))
    assert [page.text for page in found.pages] == ["one", "three"]
    assert [told[: len(remark)] for told in said(found)] == [remark]


@pytest.mark.parametrize("box", ["[0 0 0 0]", "[0 0 nan 792]", "[]", "[612 792 0 0]"])
def test_a_page_without_a_size_costs_no_other(tmp_path: Path, box: str) -> None:
    whole = documents.pdf(documents.lines("one"), documents.lines("two")).replace(b"[0 0 612 792]", box.encode(), 1)
    assert read(tmp_path / "a.pdf", whole).pages[-1].text == "two"


def test_a_missing_font_costs_no_text(tmp_path: Path) -> None:
    whole = documents.pdf(documents.lines("one"), documents.lines("two"))
    found = read(tmp_path / "a.pdf", whole.replace(b"/F1 3 0 R", b"/F9 3 0 R", 1))
    assert found.pages[-1].text == "two"


@pytest.mark.parametrize("rule", ["words_of", "with_tables", "blocks", "_drawn", "without_furniture", "letters_on"])
def test_an_error_of_any_rule_on_a_page_is_a_remark_on_that_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """No file is known that makes these rules fail: the one that was is read now."""
    whole, calls = getattr(pdf, rule), []

    def second_fails(*given: object) -> object:
        calls.append(given)
        if len(calls) == 2 or rule == "without_furniture":
            raise ValueError("no such thing")
        return whole(*given)

    monkeypatch.setattr(pdf, rule, second_fails)
    found = read(tmp_path / "a.pdf", documents.pdf(*(documents.lines(text) for text in ("one", "two", "three"))))
    keeps_all = rule in ("_drawn", "without_furniture")
    assert [page.text for page in found.pages] == (["one", "two", "three"] if keeps_all else ["one", "three"])
    (told,) = said(found)
    assert "ValueError: no such thing" in told
    assert told.startswith("headers and footers:" if rule == "without_furniture" else "page 2:")


def test_a_document_whose_every_part_failed_is_refused_with_the_first_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(pdf, "words_of", fails)
    with pytest.raises(Unreadable, match="no text in it: page 1: cannot be read: ValueError: no such thing"):
        read(tmp_path / "a.pdf", documents.pdf(documents.lines("one"), documents.lines("two")))


@pytest.mark.parametrize("error", [MemoryError(), ImportError("no engine")])
def test_what_concerns_the_process_is_no_remark(error: Exception) -> None:
    with pytest.raises(type(error)), Remarks().part("table 1"):
        raise error


# PPTX


def picture(path: Path) -> Path:
    """Write a PNG of one point."""
    Image.new("RGB", (1, 1)).save(path)
    return path


def deck(path: Path) -> None:
    """Write three slides: a text, a chart with a group, a text."""
    opened = pptx.Presentation()
    for number, text in enumerate(("Nine ships", "Figures", "Two moles")):
        slide = opened.slides.add_slide(opened.slide_layouts[5])
        slide.shapes.title.text = text
        if number == 1:
            chart: Any = CategoryChartData()  # type: ignore[no-untyped-call]
            chart.categories = ["Tinn", "Moss"]
            chart.add_series("Ships", (7, 9))
            place = (Inches(1), Inches(2), Inches(4), Inches(3))
            slide.shapes.add_chart(XL_CHART_TYPE.PIE, *place, chart)
            group = slide.shapes.add_group_shape()
            group.shapes.add_textbox(Inches(1), Inches(6), Inches(3), Inches(1)).text_frame.text = "in a group"
            table = slide.shapes.add_table(1, 2, Inches(5), Inches(2), Inches(3), Inches(1)).table
            table.cell(0, 0).text = "in a table"
            slide.shapes.add_picture(str(picture(path.with_suffix(".png"))), Inches(0), Inches(0))
    opened.save(str(path))


SLIDE, CHART = "ppt/slides/slide2.xml", "ppt/charts/chart{}.xml"


def chart_of(path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        return next(name for name in archive.namelist() if re.fullmatch(r"ppt/charts/chart\w+\.xml", name))


@pytest.mark.parametrize(
    ("old", "new", "lost", "place"),
    [
        ('gridCol w="[0-9]+"', 'gridCol w="wide"', None, None),
        ('<a:tc>', '<a:tc gridSpan="three">', "in a table", "page 2: Table"),
        ('<c:chart [^>]*r:id="[^"]*"', '<c:chart ' + NAMES + ' r:id="rId99"', "Ships", "page 2: Chart"),
        ('<a:off x="[0-9]+"', '<a:off x="left"', None, "page 2: the place of"),
    ],
    ids=["width", "table", "chart", "place"],
)  # fmt: skip
def test_a_damaged_shape_costs_itself(tmp_path: Path, old: str, new: str, lost: str | None, place: str | None) -> None:
    path = tmp_path / "a.pptx"
    deck(path)
    whole = read(path)
    assert not said(whole)
    changed(path, {SLIDE: replaced(old, new)})
    found = read(path)
    for text in ("Nine ships", "Figures", "Two moles", "in a table", "in a group", "Ships"):
        assert (text in text_of(found)) == (text != lost), text
    assert [told[: len(place or "")] for told in said(found)] == ([place] if place else [])


def test_a_chart_without_its_workbook_is_read_and_one_that_is_damaged_is_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    deck(path)
    with zipfile.ZipFile(path) as archive:
        book = next(name for name in archive.namelist() if name.endswith(".xlsx"))
    changed(path, {book: None})
    assert "| Tinn | 7 |" in text_of(read(path))
    deck(path)
    changed(path, {chart_of(path): lambda _: b"<a>"})
    found = read(path)
    assert "Ships" not in text_of(found)
    assert "in a group" in text_of(found)
    assert [told.startswith(f"page 2: {chart_of(path)}: broken XML") for told in said(found)] == [True]
    deck(path)
    changed(path, {chart_of(path): replaced('idx="1"', 'idx="one"')})
    assert "| Tinn | 7 |" in text_of(read(path))


@pytest.mark.parametrize("how", ["cut", "missing", "not XML", "checksum"])
def test_a_damaged_slide_costs_no_other(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.pptx"
    deck(path)
    if how == "checksum":
        with_wrong_checksum(path, SLIDE)
    else:
        damage = {"cut": cut, "not XML": lambda _: b"\x00\x01", "missing": None}
        changed(path, {SLIDE: damage[how]})
    found = read(path)
    assert (found.pages[0].text, found.pages[-1].text) == ("Nine ships", "Two moles")
    assert any(told.startswith(("page 2: ", SLIDE)) for told in said(found)), said(found)


@pytest.mark.parametrize("kind", ["picture", "table", "chart"])
def test_a_title_of_any_kind_is_read_as_what_it_is(tmp_path: Path, kind: str) -> None:
    """A title placeholder that holds a picture, a table or a chart."""
    path = tmp_path / "a.pptx"
    deck(path)
    ids = {"picture": "<p:nvPr/>", "table": "<p:nvPr/>", "chart": "<p:nvPr/>"}
    about = {"picture": "p:nvPicPr", "table": "p:nvGraphicFramePr", "chart": "p:nvGraphicFramePr"}[kind]
    after = {"picture": "", "table": ' name="Table', "chart": ' name="Chart'}[kind]

    def titled(content: bytes) -> bytes:
        text = content.decode()
        text = text.replace('<p:ph type="title"/>', "")
        begin = text.index(f"<{about}>", text.index(after) - 60 if after else 0)
        at = text.index(ids[kind], begin)
        return (text[:at] + '<p:nvPr><p:ph type="title"/></p:nvPr>' + text[at + len(ids[kind]) :]).encode()

    changed(path, {SLIDE: titled})
    found = read(path)
    assert not said(found)
    for text in ("Nine ships", "Figures", "in a table", "in a group", "Ships", "Two moles"):
        assert text in text_of(found)


def test_damaged_properties_and_pictures_cost_no_slide(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    deck(path)
    changed(path, {"docProps/core.xml": lambda _: b"<a"})
    found = read(path)
    assert [page.number for page in found.pages] == [1, 2, 3]
    assert any("docProps/core.xml" in told or "properties" in told for told in said(found))
    deck(path)
    with zipfile.ZipFile(path) as archive:
        media = next(name for name in archive.namelist() if name.startswith("ppt/media/"))
    with_wrong_checksum(path, media)
    found = read(path)
    assert [page.number for page in found.pages] == [1, 2, 3]
    assert [told.startswith(f"page 2: {media}: ") for told in said(found)] == [True]


def test_an_error_of_the_engine_on_a_slide_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = slides_of._plain_text

    def fails(shape: object) -> str:
        text = whole(shape)
        if text == "in a group":
            raise AttributeError("no text_frame")
        return text

    deck(tmp_path / "a.pptx")
    monkeypatch.setattr(slides_of, "_plain_text", fails)
    found = read(tmp_path / "a.pptx")
    assert "Ships" in text_of(found)
    assert [told.startswith("page 2: TextBox") for told in said(found)] == [True]


# DOCX


def paper(path: Path) -> None:
    """Write paragraphs, two tables, a picture and a comment."""
    written = docx.Document()
    written.add_heading("Harbours", 1)
    written.add_paragraph("The ferry calls at Tinn.")
    for name in ("first", "second"):
        table = written.add_table(2, 2)
        for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
            cell.text = f"{name} {number}"
    written.add_picture(str(picture(path.with_suffix(".png"))))
    paragraph = written.add_paragraph("The end.")
    written.add_comment(paragraph.runs, text="who said so?", author="Ann")
    written.save(str(path))


BODY, RELATIONS = "word/document.xml", "word/_rels/document.xml.rels"


@pytest.mark.parametrize(
    ("changes", "lost", "place"),
    [
        ({BODY: replaced("<w:tcPr>", '<w:tcPr><w:gridSpan w:val="two"/>')}, "first 0", "table 1: "),
        ({BODY: replaced("<w:tr>", '<w:tr><w:trPr><w:gridBefore w:val="x"/></w:trPr>')}, "first 0", "table 1: "),
        ({"word/styles.xml": cut}, None, "word/styles.xml: broken XML"),
        ({"word/styles.xml": lambda _: b""}, None, "word/styles.xml: broken XML"),
        ({"word/comments.xml": lambda _: b"<a><b>"}, "who said so?", "word/comments.xml: broken XML"),
        ({"word/comments.xml": None}, "who said so?", "word/comments.xml: "),
        ({"word/media/image1.png": None}, None, "word/media/image1.png: "),
        ({RELATIONS: replaced('Target="media/image1.png"', 'Target="NULL"')}, None, "word/NULL: "),
        ({RELATIONS: replaced('Target="media/image1.png"', 'Target="#_Toc1"')}, None, "word/#_Toc1: "),
        ({"[Content_Types].xml": replaced('<Default Extension="png"[^>]*>', "")}, None, "word/media/image1.png: "),
        ({"docProps/core.xml": lambda _: b"no XML"}, None, "docProps/core.xml: "),
    ],
    ids=[
        "gridSpan", "gridBefore", "styles", "no styles", "comments", "no comments", "no picture", "NULL", "anchor",
        "type", "properties",
    ],
)  # fmt: skip
def test_a_damaged_part_of_a_docx_costs_itself(tmp_path: Path, changes: Change, lost: str | None, place: str) -> None:
    path = tmp_path / "a.docx"
    paper(path)
    assert not said(read(path))
    changed(path, changes)
    found = read(path)
    for text in ("Harbours", "The ferry calls at Tinn.", "first 0", "second 3", "The end.", "who said so?"):
        assert (text in text_of(found)) == (text != lost), text
    assert any(told.startswith(place) for told in said(found)), said(found)


def test_a_picture_with_a_wrong_checksum_costs_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    paper(path)
    with_wrong_checksum(path, "word/media/image1.png")
    found = read(path)
    assert "The end." in text_of(found)
    assert any(told.startswith("word/media/image1.png: ") for told in said(found))


def test_a_docx_without_its_main_part_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    paper(path)
    changed(path, {BODY: lambda _: b"<w:document"})
    with pytest.raises(Unreadable, match=r"a broken DOCX file|no text in it"):
        read(path)


# XLSX


CHART = "sheet Ships: 1 chart: left out"


def book(path: Path) -> None:
    """Write three sheets; the second has a chart and a share in percent."""
    written = openpyxl.Workbook()
    written.remove(written.active)
    for name in ("Tolls", "Ships", "Crew"):
        sheet = written.create_sheet(name)
        for row in (["Port", "Amount"], [f"{name} of Tinn", 0.25], [f"{name} of Moss", 9]):
            sheet.append(row)
        sheet["B2"].number_format = "0%"
    chart = BarChart()
    chart.add_data(Reference(written["Ships"], min_col=2, min_row=1, max_row=3), titles_from_data=True)
    written["Ships"].add_chart(chart, "E2")
    written.save(path)


SHEET, BOOK_RELATIONS = "xl/worksheets/sheet2.xml", "xl/_rels/workbook.xml.rels"


@pytest.mark.parametrize(
    ("changes", "lost", "place"),
    [
        ({SHEET: lambda _: b"<a><b"}, "Ships of", "sheet Ships: "),
        ({SHEET: lambda _: b""}, "Ships of", "sheet Ships: "),
        ({SHEET: None}, "Ships of", "sheet Ships: "),
        ({SHEET: replaced("<v>9</v>", "<v>nine</v>")}, "Ships of Moss", "sheet Ships: "),
        ({SHEET: replaced('ref="A1:B3"', 'ref="everywhere"')}, None, None),
        ({"xl/charts/chart1.xml": lambda _: b"<a"}, None, "sheet Ships, chart: "),
        ({"xl/drawings/drawing1.xml": lambda _: b"<a"}, None, "sheet Ships, drawing: "),
        ({"xl/worksheets/_rels/sheet2.xml.rels": lambda _: b"<a"}, None, "sheet Ships: "),
        ({BOOK_RELATIONS: replaced('<Relationship [^>]*sheet2.xml"[^>]*>', "")}, "Ships of", "sheet Ships"),
        ({"docProps/core.xml": replaced("(<dcterms:created[^>]*>)", r"\1then")}, None, "properties: "),
        ({"docProps/core.xml": lambda _: b"<a"}, None, "properties: "),
        ({"xl/styles.xml": cut}, None, None),
        ({"xl/styles.xml": replaced("<cellStyle name=\"Normal\"", "<cellStyle")}, None, None),
        ({"xl/styles.xml": replaced('patternType="gray125"', 'patternType="odd"')}, None, None),
    ],
    ids=[
        "sheet", "empty sheet", "no sheet", "cell", "size", "chart", "drawing", "relations", "relation", "date",
        "properties", "cut styles", "style", "fill",
    ],
)  # fmt: skip
def test_a_damaged_part_of_an_xlsx_costs_itself(
    tmp_path: Path, changes: Change, lost: str | None, place: str | None
) -> None:
    path = tmp_path / "a.xlsx"
    book(path)
    assert said(read(path)) == [CHART]
    changed(path, changes)
    found = read(path)
    text = text_of(found)
    assert "Tolls of Tinn | 25% |" in text
    assert ("Ships of Tinn | 25% |" in text) == (lost != "Ships of")
    assert "Crew of Moss | 9 |" in text
    assert ("Ships of Moss | 9 |" in text) == (lost is None)
    told = [remark for remark in said(found) if remark != CHART]
    assert [remark[: len(place or "")] for remark in told] == ([place] if place else []), said(found)


def test_a_workbook_with_a_wrong_checksum_keeps_its_other_sheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book(path)
    with_wrong_checksum(path, SHEET)
    found = read(path)
    assert "Crew of Moss | 9 |" in text_of(found)
    assert all(told.startswith("sheet Ships") for told in said(found))
    assert said(found)


@pytest.mark.parametrize(
    ("strings", "kept"),
    [
        ("<si><t>Port</t></si><si><t>Amount</t></si><si><t>Tolls of Ti", ["Port", "Amount"]),
        ("<si><t>Port</t></si><si><r><rPr><sz val='x'/></rPr><t>Amount</t></r></si>", ["Port", "Amount"]),
        ("<si><t>Port</t></si></sst>", ["Port"]),
    ],
    ids=["cut", "a wrong size", "too few"],
)
def test_figures_stay_where_shared_texts_are_damaged(tmp_path: Path, strings: str, kept: list[str]) -> None:
    path = tmp_path / "a.xlsx"
    book(path)

    def sharing(content: bytes) -> bytes:
        numbers = iter(range(100))
        inline = rb't="inlineStr"><is><t>[^<]*</t></is>'
        return re.sub(inline, lambda _: b't="s"><v>%d</v>' % next(numbers), content)

    main = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{main}.sharedStrings+xml"/></Types>'
    changed(path, {"xl/worksheets/sheet1.xml": sharing, "[Content_Types].xml": replaced("</Types>", part)})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{main_namespace()}">{strings}')
    found = read(path)
    assert [text in found.pages[0].text for text in (*kept, "25%", "9")] == [True] * (len(kept) + 2)
    assert "Crew of Moss | 9 |" in text_of(found)
    assert all(told.startswith("shared strings: ") for told in said(found) if told != CHART)


def main_namespace() -> str:
    return "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


# EPUB, HTML, Markdown


@pytest.mark.parametrize("damage", [None, lambda _: b"", lambda _: b"\x00\xff"], ids=["missing", "empty", "no text"])
def test_a_damaged_chapter_costs_no_other(tmp_path: Path, damage: Callable[[bytes], bytes] | None) -> None:
    path = tmp_path / "a.epub"
    path.write_bytes(documents.epub())
    changed(path, {"book/text/one.xhtml": damage})
    found = read(path)
    assert "The sea returns." in text_of(found)
    assert "withdraws" not in text_of(found)
    if damage is None:
        assert [told.startswith("book/text/one.xhtml: ") for told in said(found)] == [True]


def test_a_chapter_with_a_wrong_checksum_is_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    path.write_bytes(documents.epub())
    with_wrong_checksum(path, "book/text/one.xhtml")
    found = read(path)
    assert "The sea returns." in text_of(found)
    assert [told.startswith("book/text/one.xhtml: ") for told in said(found)] == [True]


def test_an_error_in_a_table_or_a_chapter_costs_that_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = html_tables.table_texts

    def fails(table: etree._Element) -> object:
        if "Tinn" in "".join(table.itertext()):
            raise ValueError("no such thing")
        return whole(table)

    monkeypatch.setattr(html, "table_texts", fails)
    row = "<table><tr><td>Port</td><td>2024</td></tr><tr><td>{}</td><td>7</td></tr></table>".format
    page = f"<html><body><p>Before.</p>{row('Tinn')}<p>Between.</p>{row('Moss')}</body></html>"
    found = read(tmp_path / "a.html", page.encode())
    for text in ("Before.", "Tinn", "Between.", "| Moss | 7 |"):
        assert text in text_of(found)
    assert said(found) == ["table 1: cannot be read: ValueError: no such thing"]


@pytest.mark.parametrize("value", ["!!bool maybe", "!!int ''", "!!timestamp soon", "!!float ''"])
def test_front_matter_of_any_kind_costs_no_text(tmp_path: Path, value: str) -> None:
    found = read(tmp_path / "a.md", f"---\ntitle: Tides\nkept: {value}\n---\n# Ebb\n\nThe sea withdraws.\n".encode())
    assert "The sea withdraws." in text_of(found)


# What becomes of remarks


def test_many_remarks_leave_room_for_the_first(tmp_path: Path) -> None:
    remarks = [Remark(f"cannot be read: {'x' * 200}", number) for number in range(1, 5_001)]
    kept = bounded(Document("pdf", [Page(1, "one")], remarks=remarks), LIMITS)
    assert str(kept.remarks[-1]) == "and 4000 more remarks"
    row = report_of(kept, "a", {}, {})
    assert row["remarks"][0].startswith("page 1: ")
    assert row["remarks"][-1] == "and 981 more"


# Files that users of other projects could not read


def test_words_that_are_drawn_from_their_end_and_the_page_behind_them_are_read() -> None:
    first, second = read(TROUBLES / "reversed.pdf").pages
    assert first.text.endswith("\n\ntilli villi titi")
    assert second.text == "The second page names the harbour master: Ada Lund."


def test_a_slide_with_a_picture_for_a_title_is_read() -> None:
    found = read(TROUBLES / "picture_title.pptx")
    assert [page.text for page in found.pages] == ["Harbour plan\n\nThe new quay opens in May.", "Nine ships fit."]
    assert not said(found)
