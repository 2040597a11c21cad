"""Forms in which other people's files say the same: of mails, of blanks and numbers, of names and capitals."""

import zipfile
from email.message import EmailMessage
from pathlib import Path

import pptx
import pytest
from pptx.util import Inches

from querymill_reading.document import Remarks, plural
from querymill_reading.rules.alternatives import says_more
from querymill_reading.rules.member_names import with_targets_as_named
from tests.fixtures import documents
from tests.fixtures.outlook import Value, msg
from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_lists import OPEN, lines
from tests.unit.reading.test_other_programs import open_document
from tests.unit.reading.test_outlook import BODY, HTML, WEB
from tests.unit.reading.test_word_forms import paragraph, word

LONG = "The inquiry is for a dinner in April for eight people at fifty each."
HINT = "This mail is in HTML."


# Mails in several forms


@pytest.mark.parametrize(
    ("form", "other", "is_more"),
    [
        (LONG, HINT, True),
        (f"{HINT} {LONG}", HINT, True),
        (LONG, LONG.upper().replace(" ", "\n> "), False),
        (f"{LONG} Unsubscribe here", LONG, False),
        (LONG, f"{LONG} <https://example.org/a/b/c?d=e&f=g>", False),
        (f"{LONG} https://example.org/a/b/c/d/e/f/g/h", LONG, False),
        ("Yes, at noon", "Yes", False),
        ("码头周五关闭请走东门", "这是网页邮件", True),
        ("码头周五关闭请走东门", "码头周五关闭，请走东门。", False),
        ("", LONG, False),
    ],
)
def test_a_form_of_a_text_says_more_by_its_words(form: str, other: str, is_more: bool) -> None:
    assert says_more(form, other) is is_more


OTHER = "the plain text: left out: the text in HTML is another, and has more words"


@pytest.mark.parametrize(
    ("plain", "rich", "text", "remarks"),
    [
        ("plain words", "rich words", "plain words", []),
        (HINT, LONG, LONG, []),
        ("", LONG, LONG, []),
        (LONG, "", LONG, []),
        (LONG, HINT, LONG, []),
        ("Your mail program cannot show the words of this mail", LONG, LONG, [OTHER]),
    ],
)
def test_of_two_forms_of_a_mail_that_is_read_which_says_all(
    tmp_path: Path, plain: str, rich: str, text: str, remarks: list[str]
) -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ada <ada@example.org>", "Plan"
    mail.set_content(plain)
    mail.add_alternative(f"<p>{rich}</p>", subtype="html")
    found = read(tmp_path / "a.eml", mail.as_bytes())
    assert (text_of(found).rpartition("\n\n")[2], said(found)) == (text, remarks)
    held: dict[int, Value] = {BODY: plain, HTML: f"<p>{rich}</p>".encode(), WEB: 65001}
    found = read(tmp_path / "a.msg", msg({name: value for name, value in held.items() if value}))
    assert (text_of(found), said(found)) == (text, remarks)


def test_what_any_form_of_a_mail_brings_is_attached(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Plan"
    mail.set_content(LONG)
    mail.add_alternative(f"<p>{LONG}</p><img src='cid:a'>", subtype="html")
    rich = list(mail.iter_parts())[1]
    assert isinstance(rich, EmailMessage)
    rich.add_related(b"x", maintype="image", subtype="png", cid="<a>", filename="a.png")
    found = read(tmp_path / "a.eml", mail.as_bytes())
    assert (text_of(found), said(found)) == (f"Plan\n\n{LONG}", ["1 attachment: left out: a.png"])


def test_the_last_of_several_forms_in_html_is_read(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["Subject"] = "Plan"
    mail.set_content(HINT)
    for words in ("old words of a mail that are many", LONG):
        mail.add_alternative(f"<p>{words}</p>", subtype="html")
    assert text_of(read(tmp_path / "a.eml", mail.as_bytes())) == f"Plan\n\n{LONG}"


# Blanks and numbers of OpenDocument


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("\n\t<text:span>Here </text:span>\n\t<text:span>\n\t<text:a>it</text:a>\n\t</text:span>\n", "Here it"),
        ("a\n\t\tb  c", "a b c"),
        ("a <text:s/> b", "a   b"),
        ("<text:span>a</text:span>\n<text:line-break/>\n\t<text:span>b</text:span>", "a\nb"),
        ("a<draw:frame>\n\t<draw:image/>\n</draw:frame>b", "ab"),
        ("a<text:tab/>b\u00a0 c", "a\tb\u00a0 c"),
        ("a<draw:frame>\n<draw:text-box>\n<text:p>\n in </text:p>\n</draw:text-box>\n</draw:frame>", "a\nin"),
        ("a <text:span> b</text:span>", "a b"),
    ],
)
def test_blanks_of_the_xml_are_one_blank(tmp_path: Path, inside: str, text: str) -> None:
    assert text_of(read(tmp_path / "a.odt", open_document("text", f"<text:p>{inside}</text:p>"))) == text


@pytest.mark.parametrize(
    ("more", "between", "labels"),
    [
        ('text:continue-numbering="true"', "", ["1. a", "2. b"]),
        ('text:continue-numbering="true"', "<text:p>text</text:p>", ["1. a", "text", "2. b"]),
        ('text:continue-numbering="true"', "L2", ["1. a", "1) in", "1. b"]),
        ('text:continue-list="one"', "L2", ["1. a", "1) in", "2. b"]),
        ("", "", ["1. a", "1. b"]),
    ],
)
def test_a_list_goes_on_with_one_it_names_or_the_one_before(
    tmp_path: Path, more: str, between: str, labels: list[str]
) -> None:
    def each(text: str, style: str, more: str) -> str:
        item = f"<text:list-item><text:p>{text}</text:p></text:list-item>"
        return f'<text:list text:style-name="{style}" {more}>{item}</text:list>'

    styles = "".join(
        f'<text:list-style style:name="{name}"><text:list-level-style-number text:level="1" style:num-format="1"'
        f' style:num-suffix="{sign}"/></text:list-style>'
        for name, sign in (("L1", "."), ("L2", ")"))
    )
    between = each("in", between, "") if between == "L2" else between
    body = each("a", "L1", 'xml:id="one"') + between + each("b", "L1", more)
    content = (
        f"<office:document-content {OPEN}><office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f"<office:text>{body}</office:text></office:body></office:document-content>"
    )
    kind = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    assert lines(read(tmp_path / "a.odt", documents.zipped(kind))) == labels


# Packages and PDF


@pytest.mark.parametrize(
    ("target", "relations", "named"),
    [
        ("docProps/thumbnail.jpeg", "_rels/.rels", "/docProps/Thumbnail.jpeg"),
        ("../docprops/Thumbnail.jpeg", "word/_rels/document.xml.rels", "/docProps/Thumbnail.jpeg"),
        ("/DocProps/Thumbnail.jpeg", "word/_rels/document.xml.rels", "/docProps/Thumbnail.jpeg"),
        ("docProps/Thumbnail.jpeg", "_rels/.rels", "docProps/Thumbnail.jpeg"),
        ("docProps/none.jpeg", "_rels/.rels", "docProps/none.jpeg"),
        ("https://example.org/A", "_rels/.rels", "https://example.org/A"),
    ],
)
def test_a_relation_means_a_member_in_any_case(target: str, relations: str, named: str) -> None:
    names = {"docprops/thumbnail.jpeg": "docProps/Thumbnail.jpeg"}
    written = f'<Relationship Id="a" Target="{target}"/>'
    assert with_targets_as_named(written.encode(), relations, names).decode() == written.replace(target, named)


@pytest.mark.parametrize("ending", ["docx", "pptx", "xlsx"])
def test_a_member_in_another_case_than_its_relation_has_is_no_damage(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    {"xlsx": documents.write_xlsx, "docx": documents.write_docx, "pptx": documents.write_pptx}[ending](path)
    before = read(path)
    relation = (
        '<Relationship Id="rId99" Target="docProps/Thumb.jpeg" Type="http://schemas.openxmlformats.org/package/2006/'
        'relationships/metadata/thumbnail"/></Relationships>'
    )
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    held["_rels/.rels"] = held["_rels/.rels"].replace(b"</Relationships>", relation.encode())
    held["[Content_Types].xml"] = held["[Content_Types].xml"].replace(
        b"</Types>", b'<Default Extension="jpeg" ContentType="image/jpeg"/></Types>', 1
    )
    found = read(path, documents.zipped(held | {"docProps/thumb.JPEG": b"\xff\xd8"}))
    assert (text_of(found), said(found)) == (text_of(before), said(before))


def test_a_file_that_a_note_carries_is_counted_whatever_its_text_says(tmp_path: Path) -> None:
    whole = documents.pdf(documents.lines("The body."))
    kinds = ("FileAttachment", "FileAttachment", "Sound", "Movie", "Stamp")
    notes = "".join(f"<< /Type /Annot /Subtype /{kind} /Rect [0 0 9 9] /Contents (a.xlsx) >> " for kind in kinds)
    found = read(tmp_path / "a.pdf", whole.replace(b"/Type /Page ", f"/Type /Page /Annots [{notes}] ".encode(), 1))
    assert text_of(found).count("Note: a.xlsx") == 5
    counted = "2 attached files", "1 sound", "1 film"
    assert said(found) == [f"page 1: {each}: left out" for each in counted]


# Capitals, and plurals of remarks


@pytest.mark.parametrize(
    ("properties", "shown"),
    [
        ("<w:caps/>", "QUAY 4"), ('<w:caps w:val="true"/>', "QUAY 4"), ('<w:caps w:val="0"/>', "Quay 4"),
        ("<w:smallCaps/>", "Quay 4"), ("", "Quay 4"),
    ],
)  # fmt: skip
def test_capitals_are_read_as_they_are_shown(tmp_path: Path, properties: str, shown: str) -> None:
    body = paragraph(f"<w:r><w:rPr>{properties}</w:rPr><w:t>Quay 4</w:t></w:r>")
    assert text_of(word(tmp_path / "a.docx", body)) == shown


def test_capitals_of_a_slide_are_read_as_they_are_shown(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    box = deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_textbox(0, 0, Inches(1), Inches(1))
    for text, capitals in (("Quay ", "all"), ("four", "none"), (" east", "small")):
        run = box.text_frame.paragraphs[0].add_run()
        run.text = text
        run.font._element.set("cap", capitals)
    deck.save(str(tmp_path / "a.pptx"))
    assert text_of(read(tmp_path / "a.pptx")) == "QUAY four east"


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("header or footer", "headers or footers"), ("row or cell", "rows or cells"),
        ("header or footer of the notes", "headers or footers of the notes"), ("damaged query", "damaged queries"),
        ("text for browsers without scripts", "texts for browsers without scripts"), ("key", "keys"),
        ("reading of a word (ruby)", "readings of a word (ruby)"), ("drawing by a script", "drawings by a script"),
        ("box", "boxes"), ("mark of what is to be blackened", "marks of what is to be blackened"),
    ],
)  # fmt: skip
def test_nouns_have_their_plurals(one: str, several: str) -> None:
    assert plural(one) == several


def test_what_became_of_several_things_is_said_of_several() -> None:
    remarks = Remarks()
    remarks.count(2, "moved piece", "read where it was moved to")
    remarks.count(2, "damaged cell", "left out or read as it is written")
    remarks.count(2, "attachment", "left out: its plan.pdf, it is.pdf")
    assert [str(remark) for remark in remarks.noted] == [
        "2 moved pieces: read where they were moved to",
        "2 damaged cells: left out or read as they are written",
        "2 attachments: left out: its plan.pdf, it is.pdf",
    ]
