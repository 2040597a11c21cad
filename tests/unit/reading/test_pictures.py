"""The description of a picture is read where the picture stands, whatever the format calls it."""

from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from openpyxl.chart import BarChart
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image
from pptx.util import Inches

from querymill_reading.rules.pictures import described, in_line
from tests.fixtures.documents import zipped
from tests.fixtures.reading import read, text_of
from tests.unit.reading.test_other_programs import open_document, replaced

HARBOUR = "[Picture: The harbour at noon]"


@pytest.fixture
def picture(tmp_path: Path) -> str:
    Image.new("L", (4, 4)).save(tmp_path / "dot.png")
    return str(tmp_path / "dot.png")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("The harbour\n at noon", HARBOUR), ("", ""), (None, ""), ("image1.png", ""), (r"C:\a b\Quay.JPG", ""),
        ("Picture", ""), ("image 3", ""), ("See image1.png here", "[Picture: See image1.png here]"),
    ],
)  # fmt: skip
def test_a_description_stands_for_a_picture_unless_it_is_the_name_of_a_file(written: str | None, shown: str) -> None:
    assert described(written) == shown


def test_a_small_picture_in_a_line_is_its_sign() -> None:
    assert [in_line("✓"), in_line("The harbour at noon"), in_line("")] == ["✓", HARBOUR, ""]


def test_word(tmp_path: Path, picture: str) -> None:
    opened = docx.Document()
    paragraph = opened.add_paragraph("See ")
    paragraph.add_run().add_picture(picture)
    paragraph.add_run("there.")
    for shape in opened.inline_shapes:
        shape._inline.docPr.set("descr", "The harbour at noon")
    old = (
        '<w:p xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com'
    )
    opened.element.body.insert(0, parse_xml(f'{old}:vml"><w:r><w:pict><v:shape alt="A crane"/></w:pict></w:r></w:p>'))
    opened.add_paragraph().add_run().add_picture(picture)  # a name and no description
    opened.save(str(tmp_path / "a.docx"))
    assert text_of(read(tmp_path / "a.docx")) == f"[Picture: A crane]\n\nSee {HARBOUR} there."


def test_word_of_a_group_the_pictures_in_it_and_none_for_decoration(tmp_path: Path) -> None:
    names = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
        ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
        ' xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
        ' xmlns:adec="http://schemas.microsoft.com/office/drawing/2017/decorative"'
    )
    drawings = (
        '<w:drawing><wp:docPr descr="Two quays"/><pic:cNvPr descr="East quay"/><pic:cNvPr descr="Two quays"/>'
        "</w:drawing>"
        '<w:drawing><wp:docPr descr="A line"><adec:decorative val="1"/></wp:docPr></w:drawing>'
    )
    opened = docx.Document()
    opened.element.body.insert(0, parse_xml(f"<w:p {names}><w:r>{drawings}</w:r></w:p>"))
    opened.save(str(tmp_path / "a.docx"))
    assert text_of(read(tmp_path / "a.docx")) == "[Picture: Two quays] [Picture: East quay]"


def test_powerpoint(tmp_path: Path, picture: str) -> None:
    deck = pptx.Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
    shown = shapes.add_picture(picture, 0, 0)
    shown._element.nvPicPr.cNvPr.set("descr", "The harbour at noon")
    group = shapes.add_group_shape([shapes.add_picture(picture, 0, Inches(2))])
    group.shapes[0]._element.nvPicPr.cNvPr.set("descr", "East quay")
    deck.save(str(tmp_path / "a.pptx"))
    found = read(tmp_path / "a.pptx")
    assert text_of(found) == f"{HARBOUR}\n\n[Picture: East quay]"
    assert not found.remarks


def test_sheets_of_excel_count_their_pictures_and_charts(tmp_path: Path, picture: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Port", "Ships"])
    sheet.append(["Tinn", 3])
    for title in ("Ships by port", None):
        chart = BarChart()
        chart.title = title
        sheet.add_chart(chart, "D2")
    sheet.add_image(SheetImage(picture), "H2")
    book.save(tmp_path / "a.xlsx")
    replaced(tmp_path / "a.xlsx", "xl/drawings/drawing1.xml", 'descr="Picture"', 'descr="The harbour at noon"')
    found = read(tmp_path / "a.xlsx")
    assert text_of(found).endswith(f"| Tinn | 3 |\n\n{HARBOUR}\n\nShips by port")
    assert [(str(remark), remark.count) for remark in found.remarks] == [
        ("sheet Sheet: 1 picture: left out, but for its description", 1),
        ("sheet Sheet: 1 chart: left out", 1),
        ("sheet Sheet: 1 chart: left out, but for its title", 1),
    ]


def test_opendocument(tmp_path: Path) -> None:
    svg = 'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
    frame = f"<draw:frame {svg}><draw:image/><svg:title>{{}}</svg:title>{{}}</draw:frame>"
    body = (
        f"<text:p>See {frame.format('The harbour at noon', '')}there.</text:p>"
        + frame.format("Quay", "<svg:desc>seen from the east</svg:desc>")
    )  # fmt: skip
    found = read(tmp_path / "a.odt", open_document("text", body))
    assert text_of(found) == f"See {HARBOUR}there.\n\n[Picture: Quay: seen from the east]"


def test_html_and_what_is_written_in_it(tmp_path: Path) -> None:
    body = (
        "<p>See <img src=a.png alt='The harbour at noon'> there <img alt='✓'>.</p><img alt=''><img src=b>"
        "<img role=presentation alt=line><table><tr><td>Tinn<td><img alt=yes><tr><td>Moss<td>no</table>"
    )
    expected = f"See {HARBOUR} there ✓.\n\n| Tinn | yes |\n| --- | --- |\n| Moss | no |"
    assert text_of(read(tmp_path / "a.html", body)) == expected
    seen = '<p>See <img alt="The harbour at noon"/></p>'
    chapter = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{seen}</body></html>'
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.html"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="p"/>'
        "</rootfiles></container>"
    )
    book = zipped({"META-INF/container.xml": container, "p": package, "a.html": chapter})
    assert text_of(read(tmp_path / "a.epub", book)) == f"See {HARBOUR}"
