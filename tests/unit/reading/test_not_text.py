"""What a document shows and is no text is counted: pictures, films, sounds, and what takes the place of them."""

from collections.abc import Callable
from pathlib import Path

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from PIL import Image
from pptx.util import Inches

from querymill_reading.document import Document
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from querymill_reading.rules.pictures import is_small, points
from tests.fixtures import documents
from tests.fixtures.reading import LIMITS, read, said, text_of
from tests.unit.reading.test_other_programs import open_document

#: Names of Word's elements that drawings have.
DRAWN = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
    ' xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
    ' xmlns:adec="http://schemas.microsoft.com/office/drawing/2017/decorative"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)
DECORATIVE = '<wp:docPr descr="A line"><adec:decorative val="1"/></wp:docPr>'


def pictures(count: int, described: int = 0) -> list[str]:
    """Return what is said of pictures, some of which are described."""
    whole = count - described
    told = [f"{whole} {'picture' if whole == 1 else 'pictures'}: left out"] if whole else []
    what = "picture: left out, but for its description", "pictures: left out, but for their descriptions"
    return [*told, f"{described} {what[described > 1]}"] if described else told


@pytest.mark.parametrize(
    ("written", "length"),
    [("1in", 72), ("2.54cm", 72), ("25.4 mm", 72), ("16", 12), ("16PX", 12), ("1pc", 12), ("50%", None), (None, None)],
)
def test_lengths_are_points(written: str | None, length: float | None) -> None:
    assert points(written) == length
    assert is_small(None, length) is False


# HTML and EPUB


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("<p>a <img src=a.png> b <img src=b.png alt='The harbour at noon'>", 2),
        ("<p>a</p><figure><img src=a.png alt=''><figcaption>Quay</figcaption></figure>", 1),
        ("<p>a</p><picture><source srcset=a.webp><img src=a.png></picture>", 1),
        ("<table><tr><td>a<td><img src=a.png><tr><td>b<td>c</table>", 1),
        ("<table><tr><td><table><tr><td>a</table><td><img src=a.png></table>", 1),
        ("<p>a</p><svg><image href=a.png></image></svg><svg><path d=M0></path></svg>", 1),
        ("<p>a<img src=a.png alt=''><img src=b.gif width=1 height=1><img src=c.png style='width: 4px; height:4px'>", 0),
        ("<p>a<img src=a.png alt='✓'><img role=presentation src=b.png><img hidden src=c.png><img alt=lost>", 0),
        ("<p>a<img src=a.png width='100%' style='max-width:1px'>", 1),
    ],
)
def test_pictures_of_a_page_are_counted(tmp_path: Path, body: str, count: int) -> None:
    assert said(read(tmp_path / "a.html", f"<html><body>{body}</body></html>")) == pictures(
        count, body.count("harbour")
    )


@pytest.mark.parametrize(
    ("body", "text", "remarks"),
    [
        ("<p>a</p><audio src=a.mp3>no audio</audio>b", "a\n\nb", ["1 sound: left out"]),
        ("<p>a<video controls><source src=a.mp4><p>no film</p></video>b<video src=b></video>", "ab",
         ["2 films: left out"]),
        ("<p>a<canvas>no drawing</canvas>b", "ab", ["1 drawing by a script: left out"]),
        ("<p>a<embed src=a.swf>b</p>c", "ab\n\nc", ["1 embedded object: left out"]),
        ("<p>a<iframe src=https://example.org></iframe>b<iframe src=x width=0 height=0></iframe>", "ab",
         ["1 embedded page: left out"]),
        ("<p>a<object data=a.swf><embed src=a.swf>no film</object>b", "ab", ["1 embedded object: left out"]),
        ("<table><tr><td>a<td>b<audio>none</audio><tr><td>c<td>d</table>",
         "| a | b |\n| --- | --- |\n| c | d |", ["1 sound: left out"]),
        ("<p>a<map name=m><area alt=east href=e></map>b", "ab", []),
        ("<details><summary>More</summary><p>a</p></details>", "More\n\na", []),
        ("<p>a</p><dialog>Sure?</dialog><dialog open>b</dialog>", "a\n\nb", ["1 hidden part: left out"]),
        ("<p>a<span class=sr-only>b</span><span aria-hidden=true>c</span>", "abc", []),
        ("<p>a<noembed>none</noembed><datalist><option>one</datalist>b", "ab",
         ["1 text for browsers without embedded objects: left out"]),
    ],
)  # fmt: skip
def test_a_text_for_programs_that_cannot_show_something_is_left_out(
    tmp_path: Path, body: str, text: str, remarks: list[str]
) -> None:
    found = read(tmp_path / "a.html", f"<html><body>{body}</body></html>")
    assert (text_of(found), said(found)) == (text, remarks)


def book(*chapters: str) -> bytes:
    """Write an EPUB whose chapters have these bodies; one that begins with ``<svg`` is a drawing."""
    items, refs, members = "", "", {}
    for at, body in enumerate(chapters):
        is_drawn = body.startswith("<svg")
        name, kind = (f"{at}.svg", "image/svg+xml") if is_drawn else (f"{at}.xhtml", "application/xhtml+xml")
        items += f'<item id="c{at}" href="{name}" media-type="{kind}"/>'
        refs += f'<itemref idref="c{at}"/>'
        members[name] = body if is_drawn else f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
    inside = f"<manifest>{items}</manifest><spine>{refs}</spine>"
    package = f'<package xmlns="http://www.idpf.org/2007/opf">{inside}</package>'
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="p"/>'
        "</rootfiles></container>"
    )
    return documents.zipped({"META-INF/container.xml": container, "p": package, **members})


def test_pictures_of_a_book_are_counted_together_and_what_is_played_where_it_stands(tmp_path: Path) -> None:
    found = read(
        tmp_path / "a.epub",
        book(
            '<p>One</p><img src="a.png"/>',
            '<p>Two</p><img src="b.png" alt="The harbour at noon"/><audio src="a.mp3">none</audio>',
            '<svg xmlns="http://www.w3.org/2000/svg"><text>Three</text></svg>',
            '<svg xmlns="http://www.w3.org/2000/svg"><image/></svg>',
        ),
    )
    assert text_of(found) == "One\n\nTwo\n\n[Picture: The harbour at noon]\n\nThree"
    assert sorted(said(found)) == sorted(["1.xhtml: 1 sound: left out", *pictures(3, 1)])


# OpenDocument

FRAME = '<draw:frame xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" {}>{}</draw:frame>'
IMAGE = '<draw:image xmlns:x="http://www.w3.org/1999/xlink" x:href="Pictures/a.png"/>'


@pytest.mark.parametrize(
    ("inside", "remarks"),
    [
        (FRAME.format('svg:width="2cm" svg:height="2cm"', IMAGE), pictures(1)),
        (FRAME.format("", IMAGE * 2) + FRAME.format("", IMAGE), pictures(2)),
        (FRAME.format("", f"<svg:desc>Quay</svg:desc>{IMAGE}"), pictures(1, 1)),
        (FRAME.format('svg:width="2mm" svg:height="2cm"', IMAGE), []),
        (FRAME.format('draw:decorative="true"', IMAGE), []),
        (FRAME.format("", "<draw:object/>" + IMAGE), ["1 embedded object: left out"]),
        (FRAME.format("", "<draw:plugin/>" + IMAGE), ["1 film or sound: left out"]),
        (FRAME.format("", "<draw:plugin/>") * 2, ["2 films or sounds: left out"]),
    ],
)
@pytest.mark.parametrize("kind", ["text", "presentation"])
def test_pictures_of_an_open_document_are_counted(tmp_path: Path, kind: str, inside: str, remarks: list[str]) -> None:
    body = f"<text:p>a {inside}</text:p>"
    if kind == "presentation":
        box = "<draw:frame><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame>"
        body = f"<draw:page>{box}{inside}</draw:page>"
    assert said(read(tmp_path / "a.odt", open_document(kind, body))) == remarks


# Word and PowerPoint


@pytest.fixture
def picture(tmp_path: Path) -> Callable[[int], str]:
    """Draw a square picture of a side in points, and return where it is."""

    def draw(side: int) -> str:
        Image.new("L", (side, side)).save(tmp_path / f"{side}.png", dpi=(72, 72))
        return str(tmp_path / f"{side}.png")

    return draw


def drawing(properties: str = "<wp:docPr/>", side: int = 914_400, image: str = "<pic:pic/>") -> str:
    return f'<w:drawing><wp:inline><wp:extent cx="{side}" cy="{side}"/>{properties}{image}</wp:inline></w:drawing>'


OLD = '<w:pict><v:shape style="{}"><v:imagedata/></v:shape></w:pict>'


@pytest.mark.parametrize(
    ("drawn", "count"),
    [
        (drawing() + drawing('<wp:docPr descr="Quay"/>'), 2),
        (drawing(image="<pic:pic/><pic:pic/>"), 2),
        (drawing(DECORATIVE) + drawing(side=12_700), 0),
        (OLD.format("width:90pt;height:90pt") + OLD.format("") + OLD.format("width:90pt; height:1.5pt"), 2),
        (f"<mc:AlternateContent><mc:Choice>{drawing()}</mc:Choice><mc:Fallback>{OLD}</mc:Fallback>"
         "</mc:AlternateContent>", 1),
        (f"<w:object>{OLD.removeprefix('<w:pict>').removesuffix('</w:pict>')}</w:object>", 0),
        (f'<w:del w:id="1"><w:r>{drawing()}</w:r></w:del>', 0),
    ],
)  # fmt: skip
def test_pictures_of_word_are_counted(tmp_path: Path, drawn: str, count: int) -> None:
    opened = docx.Document()
    opened.element.body.insert(0, parse_xml(f"<w:p {DRAWN}><w:r><w:t>a</w:t></w:r><w:r>{drawn}</w:r></w:p>"))
    opened.save(str(tmp_path / "a.docx"))
    assert said(read(tmp_path / "a.docx")) == pictures(count, drawn.count("Quay"))


def test_a_picture_at_the_edge_of_pages_is_counted_and_a_header_comes_first(
    tmp_path: Path, picture: Callable[[int], str]
) -> None:
    opened = docx.Document()
    opened.add_paragraph("Body")
    section = opened.sections[0]
    section.footer.paragraphs[0].text = "Harbour office"
    section.header.paragraphs[0].text = "Plan"
    section.header.paragraphs[0].add_run().add_picture(picture(40))
    opened.save(str(tmp_path / "a.docx"))
    found = read(tmp_path / "a.docx")
    assert text_of(found) == "Body\n\nHeader: Plan\n\nFooter: Harbour office"
    assert said(found) == ["2 headers or footers: read once, at the end", *pictures(1)]


def test_pictures_of_slides_are_counted_by_their_pages(tmp_path: Path, picture: Callable[[int], str]) -> None:
    deck = pptx.Presentation()
    for sides in ((40,), (40, 40), (4,), ()):
        shapes = deck.slides.add_slide(deck.slide_layouts[6]).shapes
        shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "text"
        for side in sides:
            shapes.add_picture(picture(side), 0, 0)
    film = deck.slides.add_slide(deck.slide_layouts[5]).shapes
    film.title.text = "A film"
    film.add_movie(picture(40), 0, 0, Inches(1), Inches(1), mime_type="video/mp4")
    deck.save(str(tmp_path / "a.pptx"))
    assert said(read(tmp_path / "a.pptx")) == [f"pages 1-2: {pictures(3)[0]}", "page 5: 1 film: left out"]


@pytest.mark.parametrize("layout", [6, 5])
def test_a_slide_without_anything_is_empty(tmp_path: Path, layout: int, picture: Callable[[int], str]) -> None:
    deck = pptx.Presentation()
    for drawn in ("", "picture", "shape"):
        shapes = deck.slides.add_slide(deck.slide_layouts[layout]).shapes
        if drawn == "picture":
            shapes.add_picture(picture(4), 0, 0)
        elif drawn:
            shapes.add_shape(1, 0, 0, Inches(1), Inches(1))
    deck.save(str(tmp_path / "a.pptx"))
    remarks = said(pages_of(tmp_path / "a.pptx"))
    assert remarks == ["page 2: no text: a picture?", "page 3: no text: a picture?"]


@pytest.mark.parametrize(
    ("drawn", "remarks"),
    [
        ("", []),
        ('<draw:frame presentation:placeholder="true"><draw:text-box/></draw:frame>', []),
        ("<presentation:notes/>", []),
        ("<draw:rect/>", ["page 1: no text: a picture?"]),
    ],
)
def test_a_slide_of_an_open_document_without_anything_is_empty(tmp_path: Path, drawn: str, remarks: list[str]) -> None:
    names = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    (tmp_path / "a.odp").write_bytes(open_document("presentation", f"<draw:page {names}>{drawn}</draw:page>"))
    assert said(pages_of(tmp_path / "a.odp")) == remarks


def pages_of(path: Path) -> Document:
    """Read a document that may have no text at all."""
    return recognise(path, path.name, LIMITS).read(ReadRequest(path, path.name))
