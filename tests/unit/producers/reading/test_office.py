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
from docx.oxml import parse_xml
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from querymill.reading.document import Document, Limits
from querymill.reading.formats import Asked
from querymill.reading.recognising import recognise
from tests.fixtures import documents

NAMES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
}
DECLARED = " ".join(f'xmlns:{short}="{name}"' for short, name in NAMES.items())


def read(path: Path) -> Document:
    return recognise(path, path.name, Limits()).read(Asked(path, path.name))


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


def test_rows_that_are_empty_before_the_last_one(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Harbour", "Toll"])
    sheet.append(["Tinn", 12])
    sheet["A200000"] = "The end."
    book.save(tmp_path / "a.xlsx")
    assert texts(tmp_path / "a.xlsx") == ["Sheet\n\n| Harbour | Toll |\n| --- | --- |\n| Tinn | 12 |\n\nThe end."]
