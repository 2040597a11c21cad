"""Kinds that documents of other projects showed: each with a minimal file that was written for this."""

import zipfile
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import openpyxl
import pptx
import pytest

from querymill_reading.document import ReadLimits, Unreadable
from querymill_reading.formats.rtf import text_of_rtf
from querymill_reading.read_request import ReadRequest
from querymill_reading.recognising import recognise
from querymill_reading.rules.directions import count_aslant
from querymill_reading.rules.letters import with_parted_ligatures, words_of
from querymill_reading.rules.member_names import names_meant
from querymill_reading.rules.sections import SectionPart, sections
from tests.fixtures import documents
from tests.fixtures.reading import LIMITS, read, said, text_of

ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in {"o": "office", "t": "text", "b": "table", "d": "drawing", "m": "manifest"}.items()
)


def changed(path: Path, member: str, old: str, new: str) -> Path:
    """Change a member of a package."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in members[member]
    members[member] = members[member].replace(old.encode(), new.encode())
    path.write_bytes(documents.zipped(members))
    return path


def open_document(body: str, kind: str = "text", **others: str) -> bytes:
    content = f"<o:document-content {ODF}><o:body><o:{kind}>{body}</o:{kind}></o:body></o:document-content>"
    members = {"mimetype": f"application/vnd.oasis.opendocument.{kind}"} | others | {"content.xml": content}
    return documents.zipped({name: text for name, text in members.items() if text})


# Headings


@pytest.mark.parametrize(
    ("parts", "read_as"),
    [
        ("1 A | 1 B | text", ["A\n\nB\n\ntext"]),
        ("1 A | 1 B | 1 C | text | 1 D | more", ["A\n\nB\n\nC\n\ntext", "D\n\nmore"]),
        ("1 A | 2 B | 1 C | text", ["A › B\n\nC\n\ntext"]),
        ("1 A | 2 B | 2 C | text", ["A › B\n\nA › C\n\ntext"]),
        ("1 A | 1 A | text", ["A\n\ntext"]),
        ("1 A | 2 B | text", ["A › B\n\ntext"]),
        ("1 A | 1 B", ["A\n\nB"]),
    ],
)
def test_a_heading_without_text_stands_above_the_next(parts: str, read_as: list[str]) -> None:
    given = (part.strip() for part in parts.split("|"))
    made = [SectionPart(part[2:], int(part[0])) if part[0].isdecimal() else SectionPart(part) for part in given]
    assert sections(made) == read_as


def test_very_many_headings_without_text_are_cut_as_texts_are() -> None:
    pages = sections([SectionPart(f"heading number {number}", 1) for number in range(1_000)])
    assert "".join(pages).count("heading number") == 1_000
    assert max(map(len, pages)) < 10_000


# Packages


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("xl\\workbook.xml", "xl/workbook.xml"),
        ("XL/Workbook.XML", "xl/workbook.xml"),
        ("/xl/workbook.xml", "xl/workbook.xml"),
        ("[content_types].xml", "[Content_Types].xml"),
        ("_RELS\\.RELS", "_rels/.rels"),
        ("xl/media/A.png", "xl/media/A.png"),
    ],
)
def test_a_member_has_the_name_that_is_meant(written: str, meant: str) -> None:
    assert names_meant([written], b'<Override PartName="/xl/workbook.xml"/>') == {written: meant}


@pytest.mark.parametrize("ending", ["xlsx", "docx", "pptx"])
@pytest.mark.parametrize("how", [str.lower, lambda name: name.replace("/", "\\")])
def test_a_package_with_names_of_other_forms_is_read(tmp_path: Path, ending: str, how: Callable[[str], str]) -> None:
    path = tmp_path / f"a.{ending}"
    {"xlsx": documents.write_xlsx, "docx": documents.write_docx, "pptx": documents.write_pptx}[ending](path)
    before = text_of(read(path))
    with zipfile.ZipFile(path) as archive:
        held = {how(name): archive.read(name) for name in archive.namelist()}
    assert text_of(read(path, documents.zipped(held))) == before


@pytest.mark.parametrize(
    ("declared", "is_read"),
    [
        ('<!DOCTYPE l:library PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "library.dtd">', True),
        ("<!DOCTYPE a SYSTEM 'a.dtd'>", True),
        ("<!DOCTYPE a>", True),
        ('<!DOCTYPE a [<!ENTITY b "c">]>', False),
        ('<!DOCTYPE a SYSTEM "a.dtd" [ ]>', False),
        ('<!DOCTYPE a PUBLIC ">" "[" [ ]>', False),
        ('<!ENTITY b "c">', False),
    ],
)
def test_a_document_type_that_is_only_named_costs_nothing(tmp_path: Path, declared: str, is_read: bool) -> None:
    macro = {"Basic/Standard/module.xml": f"<?xml version='1.0'?>\n{declared}<a/>"}
    content = open_document("<t:p>ferry</t:p>", **macro)
    if is_read:
        assert text_of(read(tmp_path / "a.odt", content)) == "ferry"
    else:
        with pytest.raises(Unreadable, match=r"module\.xml declares XML entities"):
            read(tmp_path / "a.odt", content)


def test_an_open_document_without_its_first_member_is_known_by_its_list(tmp_path: Path) -> None:
    listed = f'<m:manifest {ODF}><m:file-entry m:media-type="application/vnd.oasis.opendocument.text"/></m:manifest>'
    content = open_document("<t:p>ferry</t:p>", mimetype="", **{"META-INF/manifest.xml": listed})
    assert text_of(read(tmp_path / "a.odt", content)) == "ferry"


def test_a_package_of_a_test_version_of_office_is_named(tmp_path: Path) -> None:
    relations = '<Relationships xmlns="http://schemas.microsoft.com/package/2005/06/relationships"/>'
    with pytest.raises(Unreadable, match="a test version of Office 2007"):
        read(tmp_path / "a.xlsx", documents.zipped({"_rels/.rels": relations, "xl/workbook.xml": "<workbook/>"}))


def test_a_sheet_that_no_part_belongs_to_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["ferry", 4])
    book.create_sheet("lost")
    book.save(path)
    found = read(changed(path, "xl/workbook.xml", 'r:id="rId2"', ""))
    assert "ferry" in text_of(found)
    assert said(found) == ["sheet lost: left out: the workbook does not say which part it is"]


def test_a_broken_main_part_says_what_is_broken(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    documents.write_docx(path)
    with pytest.raises(Unreadable, match=r"a broken DOCX file: word/document\.xml: broken XML"):
        read(changed(path, "word/document.xml", "<w:document", "</w:document"))


# Slides and texts


def test_what_a_drawing_says_in_a_docx_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    documents.write_docx(path)
    drawing = (
        '<w:p><w:r><w:t>before</w:t><w:drawing xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:sp>'
        "<a:p><a:r><a:t>pier</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r></a:p><a:p><a:r><a:t>three</a:t></a:r></a:p>"
        "</a:sp></w:drawing></w:r></w:p>"
    )
    found = read(changed(path, "word/document.xml", "<w:sectPr", f"{drawing}<w:sectPr"))
    assert "before\npier\ntwo\nthree" in text_of(found)


def test_all_of_a_page_of_notes_is_read_and_its_edges_are_counted(tmp_path: Path) -> None:
    deck = pptx.Presentation()
    for number in (1, 2):
        slide = deck.slides.add_slide(deck.slide_layouts[5])
        slide.shapes.title.text = f"Slide {number}"
        notes = slide.notes_slide
        notes.notes_text_frame.text = f"say {number}"
        box = notes.notes_placeholder._element
        for kind, text in (("hdr", "Harbour board"), ("sldNum", "7"), (None, "and smile")):
            other = deepcopy(box)
            place = next(other.iter("{*}ph"))
            if kind is None:
                place.getparent().remove(place)
            else:
                place.set("type", kind)
            next(other.iter("{*}t")).text = text
            box.getparent().append(other)
    deck.save(str(tmp_path / "a.pptx"))
    found = read(tmp_path / "a.pptx")
    assert [page.text for page in found.pages] == [
        "Slide 1\n\nNotes: say 1\nand smile", "Slide 2\n\nNotes: say 2\nand smile",
    ]  # fmt: skip
    assert said(found) == ["1 header or footer of the notes: left out: Harbour board"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"{\rtf1 a {\pict\jpegblip\bin ffd8ff}b}", "a b"),
        ("{\\rtf1 a {\\pict\\bin3 {\\}}b}", "a b"),
        ("{\\rtf1 a {\\pict\\bin99 {x}b}", "a "),
        (r"{\rtf1 {\loch\f2\*\cs7\cf0 fox}}", "fox"),
        (r"{\rtf1 {\*\generator Writer;}fox}", "fox"),
        ("{\\rtf1 {\n\\*\\generator Writer;}fox}", "fox"),
        (r"{\rtf1 a\\*b\{*}", "a\\*b{*"),
    ],
)
def test_bytes_and_marks_of_an_rtf_cost_no_text(written: str, shown: str) -> None:
    assert text_of_rtf(written).strip("\n") == shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<b:table><b:table-row><b:table-cell><t:p>a</t:p><b:table><b:table-row><b:table-cell><t:p>in</t:p>"
         "</b:table-cell></b:table-row></b:table></b:table-cell></b:table-row></b:table>", "a in"),
        ("<b:table><b:table-row><b:table-cell><t:p>a</t:p><d:frame><d:text-box><t:p>in</t:p></d:text-box></d:frame>"
         "</b:table-cell></b:table-row></b:table>", "in"),
        ("<b:table><b:table-row><b:table-cell><t:p>a</t:p><d:custom-shape><t:p>in</t:p></d:custom-shape>"
         "</b:table-cell></b:table-row></b:table><t:p>after</t:p>", "in"),
        ("<b:table><b:table-row><b:table-cell><t:p>a<o:annotation><t:p>in</t:p></o:annotation></t:p>"
         "</b:table-cell></b:table-row></b:table>", "Comment: in"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["text", "spreadsheet"])
def test_what_stands_in_a_cell_is_read(tmp_path: Path, body: str, shown: str, kind: str) -> None:
    assert text_of(read(tmp_path / "a.odt", open_document(body, kind))).count(shown) == 1


# Mails and books


@pytest.mark.parametrize(
    ("head", "border"),
    [
        ("multipart/alternative; boundary=----=_NextPart_1", "----=_NextPart_1"),
        ("multipart/mixed; boundary=a b", "a b"),
        ("multipart/mixed", "x"),
        ('multipart/mixed; boundary="other"', "x"),
    ],
)
def test_the_parts_of_a_mail_are_found_where_its_head_names_them_badly(tmp_path: Path, head: str, border: str) -> None:
    mail = (
        f"From: a@example.org\nSubject: Pier\nContent-Type: {head}\n\npreamble\n--{border}\nContent-Type: text/plain;"
        f" charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nf=E4hre\n--{border}--\n"
    )
    found = read(tmp_path / "a.eml", mail.encode())
    assert (text_of(found).splitlines()[-1], said(found)) == ("fähre", [])


@pytest.mark.parametrize(
    ("body", "remark", "shown"),
    [
        ("plain words\n", "its parts cannot be told apart, so it is read as one text", "plain words"),
        ("\n", "there is nothing in it", "From: a@example.org"),
    ],
)
def test_a_mail_of_parts_that_has_none_says_so(tmp_path: Path, body: str, remark: str, shown: str) -> None:
    mail = f"From: a@example.org\nSubject: Pier\nContent-Type: multipart/mixed; boundary=x\n\n{body}"
    found = read(tmp_path / "a.eml", mail.encode())
    assert said(found) == [f"a part of type multipart/mixed: {remark}"]
    assert text_of(found).endswith(shown)


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("Tue, 20 Oct 2026 10:00:00 +0200", "2026-10-20"),
        ("2026-10-20T10:00:00.000Z", "2026-10-20"),
        ("20 October 2026", "2026-10-20"),
        ("soon", None),
        ("<hr>", None),
    ],
)
def test_a_date_of_a_mail_is_read_or_named(tmp_path: Path, written: str, day: str | None) -> None:
    found = read(tmp_path / "a.eml", f"From: a@example.org\nDate: {written}\n\nferry".encode())
    assert found.proposed.get("published_at") == day
    assert said(found) == ([] if day else [f"the date: not understood: {written}"])


@pytest.mark.parametrize("ending", ["msg", "mht", "dat"])
def test_a_mail_is_known_by_its_head_whatever_its_name(tmp_path: Path, ending: str) -> None:
    found = read(tmp_path / f"a.{ending}", b"From: a@example.org\nDate: Tue, 20 Oct 2026 10:00:00 +0200\n\nferry")
    assert (found.format, found.proposed["published_at"]) == ("eml", "2026-10-20")


@pytest.mark.parametrize(
    ("items", "shown", "remarks"),
    [
        ('<item id="a" href="a.svg" media-type="image/svg+xml"/>', "pier two", []),
        ('<item id="a" href="a.jpg" media-type="image/jpeg" fallback="b"/>'
         '<item id="b" href="a.svg" media-type="image/svg+xml"/>', "pier two", []),
        ('<item id="a" href="a.jpg" media-type="image/jpeg" fallback="a"/>', None,
         "a.jpg: left out: it is of type image/jpeg"),
        ('<item id="a" href="a.jpg" media-type="image/jpeg"/>', None, "a.jpg: left out: it is of type image/jpeg"),
    ],
)  # fmt: skip
def test_a_chapter_that_is_a_drawing_is_read_and_a_picture_is_named(
    tmp_path: Path, items: str, shown: str | None, remarks: object
) -> None:
    book = documents.zipped(
        {
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="p.opf"/></rootfiles></container>',
            "p.opf": f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest>'
            '<spine><itemref idref="a"/></spine></package>',
            "a.svg": '<svg xmlns="http://www.w3.org/2000/svg"><text>pier <tspan>two</tspan></text></svg>',
            "a.jpg": "picture",
        }
    )
    if shown is None:
        with pytest.raises(Unreadable, match=str(remarks)):
            read(tmp_path / "a.epub", book)
    else:
        found = read(tmp_path / "a.epub", book)
        assert (text_of(found), said(found)) == (shown, remarks)


def test_what_stands_beside_the_table_of_contents_of_a_book_is_read(tmp_path: Path) -> None:
    book = documents.zipped(
        {
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="p.opf"/></rootfiles></container>',
            "p.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="n" href="n.xhtml"'
            ' properties="nav" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="n"/></spine>'
            "</package>",
            "n.xhtml": "<html><body><p>piers</p><nav><ol><li>one</li></ol></nav></body></html>",
        }
    )
    found = read(tmp_path / "a.epub", book)
    assert (text_of(found), said(found)) == ("piers", [])


# Pages and letters


@pytest.mark.parametrize(
    ("table", "texts"),
    [
        (
            "<table><caption>Tolls <b>2024</b></caption><tr><td>a</td><td>b</td></tr></table>",
            ["Tolls 2024", "| a | b |"],
        ),
        ("<table><tr><td>a</td><td>b</td></tr><caption>below</caption></table>", ["below", "| a | b |"]),
        ("<table><caption></caption><tr><td>a</td><td>b</td></tr></table>", ["| a | b |"]),
        ("<table><caption>alone</caption></table>", ["alone"]),
    ],
)
def test_the_caption_of_a_table_is_read(tmp_path: Path, table: str, texts: list[str]) -> None:
    found = text_of(read(tmp_path / "a.html", f"<html><body>{table}</body></html>".encode()))
    assert [text.split("\n")[0] for text in found.split("\n\n")] == texts


def test_a_text_beside_a_text_box_is_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    documents.write_docx(path)
    box = "<w:p><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></w:pict></w:r>"
    inside = f"{box}<w:r><w:t>beside</w:t></w:r></w:p><w:sectPr"
    assert "box\nbeside" in text_of(read(changed(path, "word/document.xml", "<w:sectPr", inside)))


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be", "utf-32", "utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize(
    "text", ["name,toll\nÅse,3\n", "première,second,troisième\nQuatrième,cinq,six\n", "😀,😀\n1,2\n"]
)
def test_wide_letters_are_read_with_and_without_a_mark(tmp_path: Path, encoding: str, text: str) -> None:
    if encoding in ("utf-16-le", "utf-16-be") and text.startswith("😀"):
        return  # too few letters to tell
    found = text_of(read(tmp_path / "a.csv", text.encode(encoding)))
    assert all(word in found for word in text.replace("\n", ",").split(","))


@pytest.mark.parametrize("beginning", [b"", b"%\xe2\xe3\xcf\xd3\n", b"%!PS-Adobe-3.0\n"])
def test_a_pdf_without_its_first_line_is_read(tmp_path: Path, beginning: bytes) -> None:
    whole = documents.pdf(documents.lines("The ferry calls at Tinn."))
    content = beginning + whole.partition(b"\n")[2]
    assert text_of(read(tmp_path / "a.pdf", content)) == "The ferry calls at Tinn."


@pytest.mark.parametrize("ligature", ["ff", "fi", "ffi", "ffl"])
def test_letters_of_a_ligature_stand_beside_each_other(ligature: str) -> None:
    width = 10.0 * len(ligature)
    boxes = [(ord("D"), 0.0, 0.0, 10.0, 20.0), *((ord(each), 10.0, 0.0, 10.0 + width, 20.0) for each in ligature)]
    assert [word.text for word in words_of(with_parted_ligatures(boxes))] == [f"D{ligature}"]


def test_a_letter_that_is_drawn_twice_is_no_ligature() -> None:
    twice = [(ord("o"), 0.0, 0.0, 10.0, 20.0)] * 2
    assert with_parted_ligatures(twice) == twice


@pytest.mark.parametrize(
    ("angles", "count"), [([0, 0], 0), ([90, 180, 270, 355], 0), ([45, 30, 0], 2), ([8, 82], 0), ([], 0)]
)
def test_letters_aslant_are_counted(angles: list[float], count: int) -> None:
    assert count_aslant(angles) == count


@pytest.mark.parametrize("box", ["d:text-box", "d:custom-shape"])
def test_a_text_beside_a_box_of_open_document_is_a_line_of_its_own(tmp_path: Path, box: str) -> None:
    content = open_document(f"<t:p><d:frame><{box}><t:p>in</t:p></{box}></d:frame>beside</t:p>")
    assert text_of(read(tmp_path / "a.odt", content)) == "in\nbeside"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"{\rtf1 {\pntext\pard\plain\f2 1.\tab}{\*\pn\pnlvlbody{\pntxta .}}ferry}", "1.\tferry"),
        (r"{\rtf1 {\listtext a)\tab}ferry}", "a)\tferry"),
        (r"{\rtf1 {\*\pnseclvl1\pndec{\pntxta .}}ferry}", "ferry"),
    ],
)
def test_the_numbers_of_lists_in_rtf_are_shown(written: str, shown: str) -> None:
    assert text_of_rtf(written) == shown


def test_letters_of_a_font_that_names_no_characters_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path / "a.pdf", nameless_pdf())
    assert [told.partition(": ")[2] for told in said(found)] == [
        "3 letters of a font that names no characters: perhaps read as others"
    ]


def nameless_pdf() -> bytes:
    """Write a page of two lines, the second in a font of codes of two bytes that stand for no characters."""
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>",
        "<< /Length 78 >>\nstream\nBT /F1 12 Tf 72 700 Td (Tinn) Tj /F2 12 Tf 0 -40 Td <000700080009> Tj ET\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Font /Subtype /Type0 /BaseFont /Nameless /Encoding /Identity-H /DescendantFonts [7 0 R] >>",
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Nameless /CIDToGIDMap /Identity /FontDescriptor 8 0 R"
        " /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        "<< /Type /FontDescriptor /FontName /Nameless /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800"
        " /Descent -200 /CapHeight 700 /StemV 80 >>",
    )
    numbered = (f"{number} 0 obj\n{content}\nendobj\n" for number, content in enumerate(objects, 1))
    return f"%PDF-1.7\n{''.join(numbered)}trailer\n<< /Size 9 /Root 1 0 R >>\n%%EOF\n".encode()


def test_text_in_no_paragraph_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    documents.write_docx(path)
    loose = "<w:p2><w:r><w:t>lost</w:t></w:r></w:p2><w:sectPr"
    found = read(changed(path, "word/document.xml", "<w:sectPr", loose))
    assert said(found) == ["1 piece of text in no paragraph: left out"]


def test_a_sheet_whose_cells_share_a_long_text_is_refused_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    for _ in range(9):
        book.active.append(["x" * 30_000] * 10)
    book.create_sheet("Tolls").append(["ferry", 4])
    book.save(path)
    limits = ReadLimits(characters=1_000_000)
    found = recognise(path, path.name, LIMITS).read(ReadRequest(path, path.name, limits))
    assert said(found) == ["sheet Sheet: more than 1000000 characters"]
    assert "ferry" in text_of(found)
