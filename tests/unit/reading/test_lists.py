"""Lists have the numbers that a person sees, though most formats store only how to count."""

import io
import zipfile
from pathlib import Path

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from pptx.util import Inches

from querymill_reading.document import Document
from querymill_reading.formats.html import parsed
from querymill_reading.formats.html_elements import labels_of
from querymill_reading.rules.list_numbers import ListCounter, ListLevel, shown
from tests.fixtures.documents import zipped
from tests.fixtures.reading import read

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def lines(document: Document) -> list[str]:
    return [line for page in document.pages for line in page.text.split("\n") if line]


@pytest.mark.parametrize(
    ("number", "form", "label"),
    [
        (4, "decimal", "4"), (4, "decimalZero", "04"), (12, "decimalZero", "12"), (1994, "upperRoman", "MCMXCIV"),
        (9, "lowerRoman", "ix"), (0, "upperRoman", "0"), (26, "lowerLetter", "z"), (28, "lowerLetter", "bb"),
        (28, "upperLetterPlaces", "AB"), (703, "lowerLetterPlaces", "aaa"), (22, "ordinal", "22nd"),
        (112, "ordinal", "112th"), (3, "decimalEnclosedCircle", "③"), (21, "decimalEnclosedCircle", "21"),
        (12, "decimalFullWidth", "１２"), (20, "chineseCounting", "二十"), (105, "ideographDigital", "一〇五"),
        (2, "russianUpper", "Б"), (7, "none", ""), (7, "of no known kind", "7"),
    ],
)  # fmt: skip
def test_numbers_in_each_form(number: int, form: str, label: str) -> None:
    assert shown(number, form) == label


def test_a_level_begins_anew_after_one_above_unless_it_counts_on() -> None:
    levels = {
        0: ListLevel("upperRoman", "%1."),
        1: ListLevel("decimal", "%1.%2", is_legal=True),
        2: ListLevel("lowerLetter", "%3)", start=3, restarts_after=0),
    }
    counter = ListCounter(levels)
    asked = [0, 1, 2, 1, 2, 0, 1, 2]
    assert [counter.next_label(level) for level in asked] == ["I.", "1.1", "c)", "1.2", "d)", "II.", "2.1", "e)"]
    assert ListCounter(levels).next_label(1) == "1.1"


# Word


def level(number: int, text: str, form: str = "decimal", more: str = "") -> str:
    head = f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>'
    return f'{head}{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(*levels: str, numbers: str = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>') -> str:
    return (
        f'<w:numbering xmlns:w="{WORD}"><w:abstractNum w:abstractNumId="0">{"".join(levels)}</w:abstractNum>{numbers}'
        "</w:numbering>"
    )


def item(text: str, level: int = 0, number: int = 1) -> str:
    properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def plain(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def word(path: Path, body: str, lists: str, styles: str = "") -> Document:
    """Write a document with a body and lists, and read it."""
    opened = docx.Document()
    opened.part.numbering_part  # noqa: B018  # it is made when it is asked for
    if styles:
        opened.styles.element.append(parse_xml(styles))
    opened.save(str(path))
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w") as copy:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "word/document.xml":
                content = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'.encode()
            copy.writestr(name, lists if name == "word/numbering.xml" else content)
    path.write_bytes(written.getvalue())
    return read(path)


LEGAL = numbering(level(0, "§ %1"), level(1, "(%2)"), level(2, "%3)", "lowerLetter"))
ORDERS = [
    (item("a") + item("b") + plain("between") + item("c"), LEGAL, ["§ 1 a", "§ 2 b", "between", "§ 3 c"]),
    (item("a") + item("b", 1) + item("c", 2) + item("d", 2) + item("e") + item("f", 1),
     LEGAL, ["§ 1 a", "(1) b", "a) c", "b) d", "§ 2 e", "(1) f"]),
    (item("a") + item("", 0) + item("b"), LEGAL, ["§ 1 a", "§ 3 b"]),
    (item("a") + item("b", number=0) + item("c"), LEGAL, ["§ 1 a", "b", "§ 2 c"]),
    (item("a") + item("b"), numbering(level(0, "\uf0b7", "bullet")), ["• a", "• b"]),
    (item("a", 1) + item("b", 1), numbering(level(0, "%1", "upperRoman"), level(1, "%1.%2", more="<w:isLgl/>")),
     ["1.1 a", "1.2 b"]),
    (item("a") + item("b", number=2) + item("c", number=3), numbering(
        level(0, "%1."),
        numbers='<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/>'
        '</w:num><w:num w:numId="3"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>'
        "</w:lvlOverride></w:num>",
     ), ["1. a", "2. b", "7. c"]),
    ("<w:tbl><w:tr><w:tc>" + item("x") + "</w:tc><w:tc>" + item("y") + "</w:tc></w:tr></w:tbl>" + item("z"),
     numbering(level(0, "%1.")), ["| 1. x | 2. y |", "| --- | --- |", "3. z"]),
    (item("a", 5), numbering(level(0, "%1.")), ["a"]),
    (item("a"), f'<w:numbering xmlns:w="{WORD}"/>', ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "lists", "shown_lines"), ORDERS)
def test_items_of_word_have_their_numbers(tmp_path: Path, body: str, lists: str, shown_lines: list[str]) -> None:
    assert lines(word(tmp_path / "a.docx", body, lists)) == shown_lines


def test_headings_of_word_are_numbered_by_their_style(tmp_path: Path) -> None:
    styles = (
        f'<w:style xmlns:w="{WORD}" w:type="paragraph" w:styleId="Clause"><w:name w:val="heading 1"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    lists = numbering(level(0, "Article %1:", "upperRoman", '<w:pStyle w:val="Clause"/>'))
    heading = '<w:p><w:pPr><w:pStyle w:val="Clause"/></w:pPr><w:r><w:t>Rent</w:t></w:r></w:p>'
    assert lines(word(tmp_path / "a.docx", heading + plain("Pay it."), lists, styles)) == ["Article I: Rent", "Pay it."]


def test_a_form_that_is_not_known_is_a_remark_and_damaged_lists_cost_no_text(tmp_path: Path) -> None:
    odd = word(tmp_path / "a.docx", item("a"), numbering(level(0, "%1.", "hebrew1")))
    assert lines(odd) == ["1. a"]
    (remark,) = odd.remarks
    assert (remark.count, str(remark)) == (
        1,
        "1 number of a list: of a form that is not known (hebrew1), shown in digits",
    )
    damaged = word(tmp_path / "b.docx", item("a"), "<w:numbering")
    assert lines(damaged)[0].endswith("a")
    assert damaged.remarks


# HTML, slides, OpenDocument, RTF


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("<ol><li>a<li>b</ol>", ["1.", "2."]),
        ("<ol start=3 type=a><li>a<li value=7>b<li>c</ol>", ["c.", "g.", "h."]),
        ("<ol reversed><li>a<li>b</ol>", ["2.", "1."]),
        ("<ol style='list-style: upper-roman inside'><li>a<li style='list-style-type:disc'>b</ol>", ["I.", "•"]),
        ("<ol style='list-style-type:none'><li>a</ol>", [""]),
        ("<ol style='list-style-type:georgian' start=x><li>a</ol>", ["1."]),
    ],
)
def test_labels_of_html(written: str, labels: list[str]) -> None:
    assert [label for _, label in labels_of(next(parsed(written.encode()).iter("ol")))] == labels


def test_items_of_html_have_their_numbers_before_the_first_paragraph_in_them(tmp_path: Path) -> None:
    written = (
        "<ol><li><p>one</p><p>more</p><li>two<ul><li>in</ul><li></ol><table><tr><td>a<td><ol><li>x<li>y</ol></table>"
        "<ul><li><table><tr><td>1<td>2<tr><td>3<td>4</table></ul>"
    )
    found = lines(read(tmp_path / "a.html", written))
    assert found[:4] == ["1. one", "more", "2. two", "• in"]
    assert "| a | 1. x 2. y |" in found


def test_paragraphs_of_a_slide_have_their_numbers(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    frame = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame
    asked = [
        ("a", 0, "arabicPeriod", 1), ("b", 0, "arabicPeriod", 1), ("in", 1, "alphaLcParenR", 1),
        ("c", 0, "arabicPeriod", 1), ("plain", 0, "", 1), ("d", 0, "romanUcParenBoth", 4),
    ]  # fmt: skip
    for text, depth, form, start in asked:
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, depth
        if form:
            name = "http://schemas.openxmlformats.org/drawingml/2006/main"
            paragraph._p.get_or_add_pPr().append(
                parse_xml(f'<a:buAutoNum xmlns:a="{name}" type="{form}" startAt="{start}"/>')
            )
    deck.save(str(tmp_path / "a.pptx"))
    assert lines(read(tmp_path / "a.pptx")) == ["1. a", "2. b", "a) in", "3. c", "plain", "(IV) d"]


OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "style", "table")
)


def test_items_and_headings_of_opendocument_have_their_numbers(tmp_path: Path) -> None:
    def each(*items: str, more: str = "", name: str = "L1") -> str:
        inside = "".join(f"<text:list-item><text:p>{text}</text:p></text:list-item>" for text in items)
        return f'<text:list text:style-name="{name}" {more}>{inside}</text:list>'

    levels = (
        '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
        '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"'
        ' text:display-levels="2"/>'
    )
    outline = '<text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/>'
    nested = (
        '<text:list text:style-name="L1"><text:list-item text:start-value="4"><text:p>d</text:p>'
        "<text:p>still d</text:p>"
        "<text:list><text:list-item><text:p>e</text:p></text:list-item></text:list></text:list-item></text:list>"
    )
    body = (
        '<text:h text:outline-level="1">Port</text:h>'
        + each("a", "b") + each("c", more='text:continue-numbering="true"') + nested + each("f") + each("g", name="no")
    )  # fmt: skip
    styles = (
        f'<text:list-style style:name="L1">{levels}</text:list-style><text:outline-style>{outline}</text:outline-style>'
    )
    content = (
        f"<office:document-content {OPEN}><office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f"<office:text>{body}</office:text></office:body></office:document-content>"
    )
    kind = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    assert lines(read(tmp_path / "a.odt", zipped(kind))) == [
        "I. Port", "1. a", "2. b", "3. c", "4. d", "still d", "4.a) e", "1. f", "• g",
    ]  # fmt: skip


def test_items_of_rtf_have_the_numbers_that_are_written_for_other_programs(tmp_path: Path) -> None:
    written = r"{\rtf1{\listtext 1.\tab}one\par{\pntext 2.\tab}two\par {\v secret}\par}"
    found = read(tmp_path / "a.rtf", written)
    assert lines(found) == ["1.\tone", "2.\ttwo", "secret"]
    assert [str(remark) for remark in found.remarks] == ["1 hidden piece of text: read all the same"]
