"""What Office writes besides paragraphs and tables: formulas, diagrams, charts of any type, strict files."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from openpyxl.chart import BarChart
from openpyxl.comments import Comment
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from querymill_reading.document import Document, ReadLimits
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from tests.fixtures import documents

NAMES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
}
DECLARED = " ".join(f'xmlns:{short}="{name}"' for short, name in NAMES.items())


def read(path: Path) -> Document:
    return recognise(path, path.name, ReadLimits()).read(ReadRequest(path, path.name))


def texts(path: Path) -> list[str]:
    return [page.text for page in read(path).pages]


def changed(path: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> None:
    """Write a ZIP archive again, with other members."""
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w") as copy:
        for name in archive.namelist():
            copy.writestr(*change(name, archive.read(name)))
    path.write_bytes(written.getvalue())


def strict(name: str, content: bytes) -> tuple[str, bytes]:
    """Give a member the namespaces of Strict Open XML."""
    named = re.sub(
        rb"http://schemas.openxmlformats.org/(\w+)/2006/(\w+)", rb"http://purl.oclc.org/ooxml/\1/\2", content
    )
    kept = re.sub(
        rb"http://purl.oclc.org/ooxml/package/(\w+)", rb"http://schemas.openxmlformats.org/package/2006/\1", named
    )
    return name, kept.replace(b"relationships/extended-properties", b"relationships/extendedProperties")


def test_strict_files_of_each_program_are_read(tmp_path: Path) -> None:
    documents.write_docx(tmp_path / "a.docx")
    documents.write_pptx(tmp_path / "a.pptx")
    documents.write_xlsx(tmp_path / "a.xlsx")
    for name in ("a.docx", "a.pptx", "a.xlsx"):
        before = texts(tmp_path / name)
        changed(tmp_path / name, strict)
        assert texts(tmp_path / name) == before


def test_a_document_is_known_wherever_its_main_part_stands(tmp_path: Path) -> None:
    documents.write_docx(tmp_path / "a.docx")
    before = texts(tmp_path / "a.docx")
    changed(
        tmp_path / "a.docx",
        lambda name, content: (
            name.replace("word/document.xml", "word/document2.xml"),
            content.replace(b"word/document.xml", b"word/document2.xml"),
        ),
    )
    changed(
        tmp_path / "a.docx", lambda name, content: (name.replace("_rels/document.xml", "_rels/document2.xml"), content)
    )
    assert texts(tmp_path / "a.docx") == before


def test_formulas_are_text(tmp_path: Path) -> None:
    written = docx.Document()
    part = "<m:r><m:t>{}</m:t></m:r>".format
    fraction = f"<m:f><m:num>{part('m')}</m:num><m:den>{part('a')}</m:den></m:f>"
    power = f"<m:sSup><m:e><m:d><m:e>{part('x')}</m:e></m:d></m:e><m:sup>{part('2')}</m:sup></m:sSup>"
    paragraph = f"<w:p {DECLARED}><m:oMath>{part('y=')}{fraction}{part('+')}{power}</m:oMath></w:p>"
    written.element.body.insert(0, parse_xml(paragraph))
    written.save(str(tmp_path / "a.docx"))
    assert texts(tmp_path / "a.docx") == ["y=m/a+(x)^2"]


def test_content_controls_in_rows_and_cells_are_read(tmp_path: Path) -> None:
    written = docx.Document()
    table = written.add_table(2, 2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    row = table.rows[1]._tr
    control = parse_xml(f"<w:sdt {DECLARED}><w:sdtContent/></w:sdt>")
    last = row.tc_lst[1]
    row.replace(last, control)
    control[0].append(last)
    inner = parse_xml(f"<w:sdt {DECLARED}><w:sdtContent><w:p><w:r><w:t>chosen</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    row.tc_lst[0].append(inner)
    written.save(str(tmp_path / "a.docx"))
    assert texts(tmp_path / "a.docx") == ["| cell 0 | cell 1 |\n| --- | --- |\n| cell 2 chosen | cell 3 |"]


def with_chart(path: Path, name: bytes = b"") -> None:
    """Write a slide with a chart of bars, or of another type by its name."""
    made = pptx.Presentation()
    figures: Any = CategoryChartData()  # type: ignore[no-untyped-call]
    figures.categories = ["Tinn", "Moss"]
    figures.add_series("Ferries", (3, 4.5))
    slide = made.slides.add_slide(made.slide_layouts[6])
    slide.shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED,
        Inches(1),
        Inches(1),
        Inches(4),
        Inches(3),
        figures,
    )
    made.save(str(path))
    if name:
        changed(path, lambda member, content: (member, content.replace(b"barChart", name)))


def test_charts_of_any_type_give_their_figures(tmp_path: Path) -> None:
    expected = ["|  | Ferries |\n| --- | --- |\n| Tinn | 3 |\n| Moss | 4.5 |"]
    for name in (b"", b"ofPieChart", b"surfaceChart"):
        with_chart(tmp_path / "a.pptx", name)
        assert texts(tmp_path / "a.pptx") == expected
        assert read(tmp_path / "a.pptx").proposed["title"] == "a"


def with_chart_in_text(path: Path) -> None:
    """Write a document with a chart between two paragraphs: the chart of a slide, moved there."""
    slides = path.with_suffix(".pptx")
    with_chart(slides)
    with zipfile.ZipFile(slides) as archive:
        chart = archive.read(next(name for name in archive.namelist() if name.startswith("ppt/charts/chart")))
    opened = docx.Document()
    opened.add_paragraph("Pumps by month.")
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/chart"
    content = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml"
    part = Part(PackURI("/word/charts/chart1.xml"), content, chart, opened.part.package)
    drawing = parse_xml(
        f'<w:drawing {DECLARED}><c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        f'r:id="{opened.part.relate_to(part, kind)}"/></w:drawing>'
    )
    opened.add_paragraph().add_run()._r.append(drawing)
    opened.add_paragraph("That is all.")
    opened.save(str(path))


def test_charts_of_a_document_give_their_figures_where_they_stand(tmp_path: Path) -> None:
    with_chart_in_text(tmp_path / "a.docx")
    (text,) = texts(tmp_path / "a.docx")
    (chart,) = texts(tmp_path / "a.pptx")
    table = chart[chart.index("|") :]
    assert table in text
    assert text.index("Pumps by month.") < text.index(table) < text.index("That is all.")


@pytest.mark.parametrize("damage", [(b'<c:pt idx="', b'<c:pt at="'), (b"</c:chartSpace>", b"")])
def test_a_damaged_chart_costs_its_figures_and_not_the_document(tmp_path: Path, damage: tuple[bytes, bytes]) -> None:
    with_chart_in_text(tmp_path / "a.docx")
    changed(tmp_path / "a.docx", lambda name, content: (name, content.replace(*damage) if "chart" in name else content))
    (text,) = texts(tmp_path / "a.docx")
    assert text.index("Pumps by month.") < text.index("That is all.")


def test_rows_that_are_empty_before_the_last_one(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Harbour", "Toll"])
    sheet.append(["Tinn", 12])
    sheet["A200000"] = "The end."
    book.save(tmp_path / "a.xlsx")
    assert texts(tmp_path / "a.xlsx") == ["Sheet\n\n| Harbour | Toll |\n| --- | --- |\n| Tinn | 12 |\n\nThe end."]


def test_what_stands_beside_the_cells_of_a_sheet_is_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["", "2025", None, "2026"])
    sheet.append(["Team", "plan", "actual", "plan"])
    sheet.append(["Sales", 3, 0.425, 4])
    sheet.merge_cells("B1:C1")
    sheet["C3"].number_format = "0.0%"
    sheet["D3"].comment = Comment("with the Oslo deal", "Mia")
    book.save(tmp_path / "a.xlsx")
    (text,) = texts(tmp_path / "a.xlsx")
    assert text.split("\n\n")[1:] == [
        "| Team | 2025 / plan | 2025 / actual | 2026 / plan |\n| --- | --- | --- | --- |\n| Sales | 3 | 42.5% | 4 |",
        "Note on D3: with the Oslo deal",
    ]


def test_text_boxes_of_a_sheet_are_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Harbour", "Toll"])
    sheet.add_chart(BarChart(), "D1")
    book.save(tmp_path / "a.xlsx")
    declared = b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    box = b"<a:p " + declared + b"><a:r><a:t>Closed in May</a:t></a:r></a:p>"

    def with_box(name: str, content: bytes) -> tuple[str, bytes]:
        return name, content.replace(b"</wsDr>", box + b"</wsDr>") if "drawing1.xml" in name else content

    changed(tmp_path / "a.xlsx", with_box)
    assert texts(tmp_path / "a.xlsx")[0].endswith("Closed in May")


def test_a_merged_cell_of_a_slide_stands_in_each_of_its_columns(tmp_path: Path) -> None:
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(3, 3, Inches(1), Inches(1), Inches(4), Inches(3)).table
    for cell, text in zip(
        table.iter_cells(), ["", "2025", "", "Team", "plan", "actual", "Sales", "3", "4"], strict=True
    ):
        cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    made.save(str(tmp_path / "a.pptx"))
    assert texts(tmp_path / "a.pptx") == [
        "| Team | 2025 / plan | 2025 / actual |\n| --- | --- | --- |\n| Sales | 3 | 4 |"
    ]


def test_a_name_of_several_rows_is_the_name_of_each(tmp_path: Path) -> None:
    written = docx.Document()
    table = written.add_table(3, 3)
    texts_of_cells = ["Site", "Year", "t", "Cork", "2024", "91", "", "2025", "60"]
    for cell, text in zip((cell for row in table.rows for cell in row.cells), texts_of_cells, strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(2, 0))
    written.save(str(tmp_path / "a.docx"))
    (text,) = texts(tmp_path / "a.docx")
    assert text.splitlines()[2:] == ["| Cork | 2024 | 91 |", "| Cork | 2025 | 60 |"]


def test_comments_are_read_with_their_authors(tmp_path: Path) -> None:
    written = docx.Document()
    paragraph = written.add_paragraph("It applies to all staff.")
    written.add_comment(paragraph.runs, text="Contractors too?", author="Ben")
    written.save(str(tmp_path / "a.docx"))
    assert texts(tmp_path / "a.docx") == ["It applies to all staff.\n\nComment by Ben: Contractors too?"]
