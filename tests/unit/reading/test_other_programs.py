"""Sheets, slides, pages and mails as other programs write them: what is left out is said."""

import io
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import openpyxl
import pptx
import pytest
from pptx.util import Inches

from querymill_reading.document import Unreadable
from querymill_reading.formats.encodings import codec_of
from querymill_reading.rules.number_formats import shown_number, shown_time
from querymill_reading.rules.separated import separator_of
from tests.fixtures import documents
from tests.fixtures.reading import read, said, text_of

TROUBLES = Path(__file__).parents[2] / "fixtures" / "troubles"


def replaced(path: Path, name: str, old: str, new: str) -> None:
    """Change a member of a package."""
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w") as copy:
        for member in archive.namelist():
            content = archive.read(member).decode(errors="surrogateescape")
            if member == name:
                assert old in content, content
                content = content.replace(old, new)
            copy.writestr(member, content.encode(errors="surrogateescape"))
    path.write_bytes(written.getvalue())


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("style_without_name.xlsx", "| Nordhav | 4 |"),
        ("formula.xlsx", "| Nordhav | 4 | 120 | =B2*C2 |"),
        ("formula.xlsx", "| Sum |  |  | =SUM(D2:D3) |"),
        ("vmerge.xlsx", "| North | Q2 | 12 |"),
        ("latin1.html", "The ferryman’s “night fare” is €14 – children pay half."),
        ("ruby.html", "彼は横浜港で働いている。"),
        ("book.epub", "彼は横浜港で働いている。"),
        ("wrapped.md", "\nimport the dump with the admin tool, never by hand,\n"),
        ("wrapped.md", "\nexport PATH_OF_LOG so that support can read it."),
        ("note.rtf", "The keeper sleeps at noon."),
        ("semicolon.csv", "| Nordhav | 4 | 120,50 |"),
    ],
)
def test_what_other_programs_wrote_is_read(name: str, held: str) -> None:
    assert held in text_of(read(TROUBLES / name))


# Sheets


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (501, "00000", "00501"), (1250, '#,##0.00\\ "€"', "1,250.00 €"), (0.125, "0%", "13%"),
        (-3.5, "0.00_);(0.00)", "(3.50)"),
        (0, '0;-0;"nil"', "nil"), (1234567, "#,##0,", "1,235"), (1234567, '0.0,,"M"', "1.2M"), (1.25, "# ?/?", "1 1/4"),
        (5551234567, "(000) 000-0000", "(555) 123-4567"), (12345.678, "0.00E+00", "1.23E+04"),
        (14, "[$€-407] #,##0", "€ 14"),
        (1500, '[>=1000]#,##0,"K";0', "2K"), (3, '0 "kg"', "3 kg"), (0.1 + 0.2, "General", "0.3"), (7, ";;;", "7"),
        (0.5, "#.00", ".50"), (-0.001, "0.00", "0.00"), (2, "0.###", "2"), (float("inf"), "0", "inf"),
    ],
)  # fmt: skip
def test_a_number_is_shown_as_the_sheet_shows_it(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (timedelta(hours=49, minutes=30), "[h]:mm", "49:30"),
        (timedelta(minutes=90), "[mm]:ss", "90:00"),
        (datetime(2024, 5, 1, tzinfo=UTC).replace(tzinfo=None), "mmm yyyy", "2024-05"),
        (datetime(2024, 5, 1, tzinfo=UTC).replace(tzinfo=None), "yyyy", "2024"),
        (datetime(2024, 5, 1, tzinfo=UTC).replace(tzinfo=None), "d. mmmm yyyy", "2024-05-01"),
        (datetime(2024, 5, 1, 7, 3, tzinfo=UTC).replace(tzinfo=None), "d.m.yy h:mm", "2024-05-01 07:03"),
    ],
)
def test_a_time_is_shown_as_exactly_as_the_sheet_shows_it(value: datetime | timedelta, code: str, shown: str) -> None:
    assert shown_time(value, code) == shown


def test_what_a_sheet_hides_or_has_too_much_of_is_counted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Dues"
    sheet.append(["Port", "Fee", "Area"])
    for row in (["Nordhav", 3, "North"], ["Sydvik", 4, "North"]):
        sheet.append(row)
    sheet.merge_cells("C2:C3")
    sheet.row_dimensions[2].hidden = True
    sheet.column_dimensions["B"].hidden = True
    sheet.cell(2, 600, "far")
    sheet.oddHeader.center.text = "Secret"
    other = book.create_sheet("Back")
    other["A1"] = "kept"
    other.sheet_state = "hidden"
    book.save(tmp_path / "a.xlsx")
    found = read(tmp_path / "a.xlsx")
    assert "| Nordhav | 3 | North |\n| Sydvik | 4 | North |" in text_of(found)
    assert "kept" in text_of(found)
    assert said(found) == [
        "sheet Dues: 1 cell: beyond column 500 left out",
        "sheet Dues: 1 hidden row: read all the same",
        "sheet Dues: 1 hidden column: read all the same",
        "sheet Dues: 1 header or footer of the print: left out: Secret",
        "sheet Back: a hidden sheet, read all the same",
    ]


def test_a_damaged_cell_costs_itself(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["Port", "Fee"], ["Nordhav", 31], ["Sydvik", 42]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    replaced(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", "<v>31</v>", "<v>3 1x</v>")
    found = read(tmp_path / "a.xlsx")
    assert "| Nordhav | 3 1x |\n| Sydvik | 42 |" in text_of(found)
    assert said(found) == ["sheet Sheet: 1 damaged cell: left out or read as it is written"]


def test_a_formula_whose_value_is_an_empty_text_stays_empty(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, "=X"])
    book.save(tmp_path / "a.xlsx")
    replaced(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", '<c r="B2">', '<c r="B2" t="str">')
    assert "=X" not in text_of(read(tmp_path / "a.xlsx"))


# Slides


@pytest.mark.parametrize(
    "kind",
    [
        "ms-powerpoint.presentation.macroEnabled",
        "ms-powerpoint.slideshow.macroEnabled",
        "openxmlformats-officedocument.presentationml.slideshow",
        "openxmlformats-officedocument.presentationml.template",
    ],
)
def test_shows_and_templates_are_decks_and_hidden_slides_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.ppsx"
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "Nine ships fit."
    slide._element.set("show", "0")
    deck.save(str(path))
    plain = "openxmlformats-officedocument.presentationml.presentation.main+xml"
    replaced(path, "[Content_Types].xml", f"application/vnd.{plain}", f"application/vnd.{kind}.main+xml")
    found = read(path)
    assert text_of(found) == "Nine ships fit."
    assert said(found) == ["page 1: a hidden slide, read all the same"]


def test_a_shape_in_one_of_two_forms_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pptx"
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "new"
    deck.save(str(path))
    compatible = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    replaced(
        path, "ppt/slides/slide1.xml", "<p:sp>", f"<mc:AlternateContent {compatible}><mc:Choice Requires='x'><p:sp>"
    )
    replaced(path, "ppt/slides/slide1.xml", "</p:sp>", "</p:sp></mc:Choice></mc:AlternateContent>")
    assert text_of(read(path)) == "new"


# PDF


def test_notes_upon_a_page_are_read_and_stamps_are_counted(tmp_path: Path) -> None:
    whole = documents.pdf(documents.lines("The body."))
    note = b"/Annots [<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (Ask Ada) /T (Bo) >>"
    stamp = b" << /Type /Annot /Subtype /Stamp /Rect [0 0 9 9] >>]"
    found = read(tmp_path / "a.pdf", whole.replace(b"/Type /Page ", b"/Type /Page " + note + stamp + b" ", 1))
    assert text_of(found) == "The body.\n\nNote by Bo: Ask Ada"
    assert said(found) == ["page 1: 1 stamp: left out"]


# HTML and Markdown


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "cp1252"), ("US-ASCII", "cp1252"), ("shift_jis", "cp932"), ("ks_c_5601-1987", "cp949"),
        ("gb2312", "gb18030"),
        ("utf-16", "utf-8"), ("iso-8859-9", "cp1254"), ("x-sjis", "cp932"), ("no such", ""),
    ],
)  # fmt: skip
def test_labels_mean_what_they_mean_on_the_web(label: str, codec: str) -> None:
    assert codec_of(label) == codec


def test_a_damaged_letter_of_html_costs_itself(tmp_path: Path) -> None:
    found = read(tmp_path / "a.html", "<meta charset=utf-8><p>Grüße aus Köln, Österreich, äöü".encode() + b" \xff.</p>")
    assert text_of(found) == "Grüße aus Köln, Österreich, äöü \ufffd."
    assert said(found) == ["1 letter: damaged, shown as \ufffd"]


def test_what_html_does_not_show_is_counted(tmp_path: Path) -> None:
    found = read(
        tmp_path / "a.html",
        "<nav>Home</nav><p>Text</p><div hidden>one</div><p style='display:none'>two</p><script>x</script>"
        "<table><tr><td>a</td><td><select><option>no</option></select>b</td></tr></table>",
    )
    assert "Home" not in text_of(found)
    assert "no" not in text_of(found)
    assert said(found) == ["1 navigation: left out", "2 hidden parts: left out", "1 form field: left out"]


def test_markdown_keeps_what_is_no_html(tmp_path: Path) -> None:
    written = (
        "# A <b>x</b>\n\nUse `List<String>`, Vec<u8> or <your-name>.<br>\n`[a](b)`\n\n<!-- gone\nfor good -->\nText"
    )
    assert (
        text_of(read(tmp_path / "a.md", written))
        == "A x\n\nUse `List<String>`, Vec<u8> or <your-name>.\n`[a](b)`\n\nText"
    )


def test_only_statements_of_a_module_are_left_out_of_mdx(tmp_path: Path) -> None:
    written = (
        'import X from "./x"\nimport {\n  a,\n} from "y"\n\nexport const meta = {\n  title: "t"\n}\n\n'
        'import the dump by hand\nexport it\n\n<Note kind="x">Hello</Note>\n\n```js\nimport Y from "y"\n```\n'
    )
    found = read(tmp_path / "a.mdx", written)
    assert text_of(found) == 'import the dump by hand\nexport it\n\nHello\n\n```js\nimport Y from "y"\n```'
    assert said(found) == ["3 statements of a module: left out"]


# RTF, OpenDocument, separated values, mails, JSON


def test_rtf_with_code_pages_tables_and_what_is_left_out(tmp_path: Path) -> None:
    found = read(
        tmp_path / "note.txt",
        r"{\rtf1\ansi\ansicpg1251{\info{\title Port notes}}{\header Head\par}"
        r"\'cf\'f0\'e8\'e2\'e5\'f2 \u8364?14 KX\_71\par"
        r"\trowd A\cell B\cell\row C\cell D\cell\row {\deleted gone}{\footnote A note}\par}",
    )
    assert found.format == "rtf"
    assert text_of(found).startswith("Привет €14 KX-71\n\n| A | B |\n| --- | --- |\n| C | D |")
    assert "A note" in text_of(found)
    assert "gone" not in text_of(found)
    assert said(found) == ["1 header or footer: left out", "1 tracked deletion: left out"]
    assert found.proposed["title"] == "Port notes"


OPEN = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def open_document(kind: str, body: str) -> bytes:
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content {OPEN}>{content}</office:document-content>"
    return documents.zipped({"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content})


def test_odt(tmp_path: Path) -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        "</text:changed-region>"
        '</text:tracked-changes><text:h text:outline-level="1">Port</text:h><text:p>a<text:s text:c="2"/>b<text:tab/>c'
        "<text:ruby><text:ruby-base>横浜</text:ruby-base><text:ruby-text>よこ</text:ruby-text></text:ruby>"
        "<text:note><text:note-body><text:p>Mind it</text:p></text:note-body></text:note></text:p>"
        "<text:section><text:list><text:list-item><text:p>item</text:p></text:list-item></text:list></text:section>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>"
        "<table:table-cell><text:p>y</text:p></table:table-cell></table:table-row></table:table-header-rows>"
        "<table:table-row>"
        "<table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )
    found = read(tmp_path / "a.odt", open_document("text", body))
    assert text_of(found) == "Port\n\na  b\tc横浜\n\nNote: Mind it\n\n• item\n\n| x | y |\n| --- | --- |\n| 1 | 2 |"
    assert said(found) == ["1 tracked deletion: left out", "1 reading of a word (ruby): left out"]


def test_ods_and_odp(tmp_path: Path) -> None:
    def cells(*texts: str) -> str:
        return "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in texts)

    empty = '<table:table-cell table:formula="of:=[.A1]*2"/>'
    body = (
        f'<table:table table:name="Dues"><table:table-row>{cells("Port", "Fee")}</table:table-row>'
        f'<table:table-row table:visibility="collapse">{cells("Nordhav", "1,250.00 €")}</table:table-row>'
        f"<table:table-row>{cells('Sydvik')}{empty}</table:table-row></table:table>"
    )
    found = read(tmp_path / "a.ods", open_document("spreadsheet", body))
    assert text_of(found) == "Dues\n\n| Port | Fee |\n| --- | --- |\n| Nordhav | 1,250.00 € |\n| Sydvik | =[.A1]*2 |"
    assert said(found) == [
        "sheet Dues: 1 hidden row: read all the same",
        "1 formula without a value: shown as the formula",
    ]
    slide = (
        "<draw:page><draw:frame><draw:text-box><text:p>Nine ships fit.</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Smile</text:p></draw:text-box></draw:frame>"
        "</presentation:notes>"
        "</draw:page>"
    )
    deck = read(tmp_path / "a.odp", open_document("presentation", slide))
    assert text_of(deck) == "Nine ships fit.\n\nNotes: Smile"


@pytest.mark.parametrize(
    ("written", "sign"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\nx, y\tz\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('"a;b",c\n"d;e",f\n', ","),
    ],
)
def test_what_separates_values_is_found(written: str, sign: str) -> None:
    assert separator_of(written) == sign


def test_long_tables_repeat_their_names_and_rows_without_names_get_numbers(tmp_path: Path) -> None:
    long = read(tmp_path / "a.csv", "Port,Fee\n" + "".join(f"P{number},{number}\n" for number in range(250)))
    assert [page.text.count("| Port | Fee |") for page in long.pages] == [1, 1, 1]
    assert "| column 1 | column 2 |" in text_of(read(tmp_path / "b.csv", "1,Ada\n2,Bo\n3,Cy\n"))
    assert "| b | 2 |" in text_of(read(tmp_path / "c.csv", "sep=;\na;1\nb;2\n"))


MAIL = b"""\
From: =?utf-8?q?Ada_L=C3=BCnd?= <ada@example.org>
To: bo@example.org
Subject: =?iso-8859-1?Q?Gr=FC=DFe?=
Date: Tue, 3 Feb 2026 10:00:00 +0100
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<p>Price =8014</p>
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename=bill.pdf

AAAA
--b--
"""


def test_a_mail_under_any_name(tmp_path: Path) -> None:
    found = read(tmp_path / "mail", MAIL)
    assert found.format == "eml"
    assert text_of(found).endswith("To: bo@example.org\nDate: Tue, 03 Feb 2026 10:00:00 +0100\n\nPrice €14")
    assert found.proposed == {"title": "Grüße", "published_at": "2026-02-03"}
    assert said(found) == ["1 attachment: left out: bill.pdf"]


def test_json(tmp_path: Path) -> None:
    found = read(tmp_path / "a.json", '{"title":"T","rows":[{"a":1,"b":0.10},{"a":2,"b":3}],"deep":{"x":{"y":"z"}}}')
    assert text_of(found) == "title: T\n\nrows\n\n| a | b |\n| --- | --- |\n| 1 | 0.10 |\n| 2 | 3 |\n\ndeep › x\n\ny: z"
    with pytest.raises(Unreadable, match="broken JSON"):
        read(tmp_path / "b.json", '{"a":')


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"%!PS-Adobe-3.0\n", "PostScript"),
        (documents.zipped({"xl/workbook.bin": b""}), "binary workbook"),
        (documents.zipped({"Index/Document.iwa": b""}), "Pages, Numbers or Keynote"),
    ],
)
def test_what_is_not_read_is_refused_by_its_name(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(tmp_path / "a", content)
