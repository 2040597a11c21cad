"""Word files as other programs write them: characters stand for themselves, wrappers are alike at each level."""

import io
import zipfile
from pathlib import Path

import docx
import pytest

from querymill_reading.document import Document, Remark, Remarks, plural
from tests.fixtures.reading import read, said, text_of

TROUBLES = Path(__file__).parents[2] / "fixtures" / "troubles"
OFFICE = "http://schemas.openxmlformats.org"
NAMES = (
    f'xmlns:w="{OFFICE}/wordprocessingml/2006/main" xmlns:mc="{OFFICE}/markup-compatibility/2006"'
    ' xmlns:v="urn:schemas-microsoft-com:vml"'
)


def replaced(path: Path, name: str, old: bytes, new: bytes) -> None:
    """Change a member of a package."""
    written = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(written, "w") as copy:
        for member in archive.namelist():
            content = archive.read(member)
            if member == name:
                assert old in content
                content = content.replace(old, new)
            copy.writestr(member, content)
    path.write_bytes(written.getvalue())


def word(path: Path, body: str) -> Document:
    """Write a document with a body, and read it."""
    docx.Document().save(str(path))
    with zipfile.ZipFile(path) as archive:
        main = archive.read("word/document.xml")
    start, end = main.index(b"<w:body>"), main.index(b"</w:body>")
    replaced(path, "word/document.xml", main, f"<w:document {NAMES}><w:body>{body}</w:body></w:document>".encode())
    assert start < end
    return read(path)


def paragraph(inside: str) -> str:
    return f"<w:p>{inside}</w:p>"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("macro.docm", "Call the pilot before noon."),
        ("nobreakhyphen.docx", "2-36 hours"),
        ("nobreakhyphen.docx", "0800 555-0142"),
        ("nobreakhyphen.docx", "night-shift"),
        ("nobreakhyphen.docx", "KX-71"),
        ("rows_in_control.docx", "| Ada Lund | pilot |\n| Bo Berg | cook |"),
        ("ruby.docx", "彼は横浜港で働いている。"),
        ("ruby.docx", "電気料金は毎月支払う。"),
    ],
)
def test_what_other_programs_wrote_is_read(name: str, held: str) -> None:
    assert held in text_of(read(TROUBLES / name))


def test_what_was_moved_stands_once_where_it_was_moved_to() -> None:
    found = read(TROUBLES / "moved.docx")
    assert text_of(found).split("\n\n")[1] == "Rent is due on the third working day."
    assert text_of(found).count("Rent is due") == 1
    assert said(found) == ["1 moved piece: read where it was moved to"]
    assert found.remarks[0].count == 1


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("application/vnd.ms-word.document.macroEnabled.main+xml", ".docm"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml", ".dotx"),
        ("application/vnd.ms-word.template.macroEnabledTemplate.main+xml", ".dotm"),
        ("application/vnd.ms-word.document.macroEnabled.main+xml", ".bin"),
    ],
)
def test_macro_files_and_templates_are_documents(tmp_path: Path, kind: str, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    opened = docx.Document()
    opened.add_paragraph("Call the pilot.")
    opened.save(str(path))
    plain = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    replaced(path, "[Content_Types].xml", plain.encode(), kind.encode())
    assert text_of(read(path)) == "Call the pilot."


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r>", "a-b"),
        ("<w:r><w:t>a</w:t><w:softHyphen/><w:t>b</w:t></w:r>", "ab"),
        ("<w:r><w:t>a</w:t><w:cr/><w:t>b</w:t></w:r>", "a\nb"),
        ("<w:r><w:t>a</w:t><w:ptab/><w:t>b</w:t></w:r>", "a\tb"),
        ('<w:r><w:t>5 </w:t><w:sym w:font="Symbol" w:char="F06D"/><w:t>m</w:t></w:r>', "5 μm"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:t> done</w:t></w:r>', "✓ done"),
        ('<w:r><w:sym w:font="Segoe UI Symbol" w:char="2611"/><w:t> open</w:t></w:r>', "☑ open"),
        ('<w:r><w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr><w:t>\uf061</w:t></w:r>', "α"),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/>'
            "</w:checkBox>"
            "</w:ffData></w:fldChar><w:t> agreed</w:t></w:r>",
            "[x] agreed",
        ),
        (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/>'
            '<w:listEntry w:val="blue"/></w:ddList></w:ffData></w:fldChar></w:r>',
            "blue",
        ),
        ('<w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r>', "DRAFT"),
    ],
)
def test_what_stands_for_a_character_is_one(tmp_path: Path, inside: str, shown: str) -> None:
    assert text_of(word(tmp_path / "a.docx", paragraph(inside))) == shown


def test_a_symbol_of_an_unknown_font_is_a_remark(tmp_path: Path) -> None:
    found = word(tmp_path / "a.docx", paragraph(f'{run("a")}<w:r><w:sym w:font="My Signs" w:char="F0AA"/></w:r>'))
    assert text_of(found) == "a\ufffd"
    assert said(found) == ["1 symbol: of a font that is not known, shown as \ufffd"]


WRAPPERS = [
    '<w:ins w:id="1" w:author="a">{}</w:ins>',
    '<w:moveTo w:id="1" w:author="a">{}</w:moveTo>',
    "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
    '<w:smartTag w:element="x">{}</w:smartTag>',
    '<w:customXml w:element="x">{}</w:customXml>',
    '<w:customXml w:element="x"><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:customXml>',
]
LEFT_OUT = ['<w:del w:id="1" w:author="a">{}</w:del>', '<w:moveFrom w:id="1" w:author="a">{}</w:moveFrom>']


def levels(wrapper: str) -> list[str]:
    """Return a body for each level at which something is wrapped."""
    cell = f"<w:tc>{paragraph(run('in'))}</w:tc>"
    other = f"<w:tc>{paragraph(run('by'))}</w:tc>"
    return [
        paragraph(run("out ") + wrapper.format(run("in"))),
        paragraph(run("out")) + wrapper.format(paragraph(run("in"))),
        f"<w:tbl><w:tr>{other}</w:tr>{wrapper.format(f'<w:tr>{cell}</w:tr>')}</w:tbl>",
        f"<w:tbl><w:tr>{other}{wrapper.format(cell)}</w:tr></w:tbl>",
        f"<w:tbl><w:tr>{other}<w:tc>{wrapper.format(paragraph(run('in')))}</w:tc></w:tr></w:tbl>",
    ]


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("level", range(5), ids=["run", "block", "row", "cell", "in a cell"])
def test_what_is_wrapped_is_read_at_each_level(tmp_path: Path, wrapper: str, level: int) -> None:
    assert text_of(word(tmp_path / "a.docx", levels(wrapper)[level])).count("in") == 1


@pytest.mark.parametrize("wrapper", LEFT_OUT)
@pytest.mark.parametrize("level", range(5), ids=["run", "block", "row", "cell", "in a cell"])
def test_what_was_deleted_or_moved_away_is_not_shown_at_any_level(tmp_path: Path, wrapper: str, level: int) -> None:
    assert "in" not in text_of(word(tmp_path / "a.docx", levels(wrapper)[level]))


def test_a_row_and_a_cell_that_were_deleted_as_tracked_changes_are_counted(tmp_path: Path) -> None:
    cells = "".join(f"<w:tc>{paragraph(run(text))}</w:tc>" for text in "ab")
    gone = f"<w:tr><w:trPr><w:del w:id='1' w:author='a'/></w:trPr><w:tc>{paragraph(run('gone'))}</w:tc></w:tr>"
    found = word(tmp_path / "a.docx", f"<w:tbl><w:tr>{cells}</w:tr>{gone}</w:tbl>")
    assert "gone" not in text_of(found)
    assert said(found) == ["1 row or cell: left out: deleted as a tracked change"]


def test_tracked_changes_and_hidden_text_are_counted(tmp_path: Path) -> None:
    deleted = '<w:del w:id="1" w:author="a"><w:r><w:delText>old</w:delText></w:r></w:del>'
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
    shown = '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> plain</w:t></w:r>'
    found = word(tmp_path / "a.docx", paragraph(deleted * 2 + WRAPPERS[0].format(run("new ")) + hidden + shown))
    assert text_of(found) == "new secret plain"
    assert said(found) == [
        "2 tracked deletions: left out",
        "1 tracked insertion: read as text",
        "1 hidden piece of text: read all the same",
    ]


def test_one_of_two_forms_of_the_same_thing_is_read(tmp_path: Path) -> None:
    forms = (
        f"<mc:AlternateContent><mc:Choice Requires='wps'>{run('new')}</mc:Choice>"
        f"<mc:Fallback>{run('old')}</mc:Fallback></mc:AlternateContent>"
    )
    only_old = (
        f"<mc:AlternateContent><mc:Choice Requires='x'/><mc:Fallback>{run('old')}</mc:Fallback></mc:AlternateContent>"
    )
    assert text_of(word(tmp_path / "a.docx", paragraph(forms))) == "new"
    assert text_of(word(tmp_path / "b.docx", paragraph(only_old))) == "old"


def test_headers_and_footers_are_read_once_and_counted(tmp_path: Path) -> None:
    opened = docx.Document()
    opened.add_paragraph("Body")
    section = opened.sections[0]
    section.header.paragraphs[0].text = "Harbour office"
    section.footer.paragraphs[0].text = "12"
    opened.save(str(tmp_path / "a.docx"))
    found = read(tmp_path / "a.docx")
    assert text_of(found) == "Body\n\nHeader: Harbour office"
    assert said(found) == ["1 header or footer: read once, at the end"]


def test_a_remark_says_place_and_count() -> None:
    remarks = Remarks()
    remarks.count(0, "cell", "left out")
    remarks.count(1, "formula without a value", "shown as the formula", "sheet A", 2)
    remarks.count(3, "formula without a value", "shown as the formula", "sheet A")
    assert [str(remark) for remark in remarks.noted] == [
        "page 2: sheet A: 1 formula without a value: shown as the formula",
        "sheet A: 3 formulas without a value: shown as the formula",
    ]
    assert remarks.noted[1] == Remark("3 formulas without a value: shown as the formula", 0, "sheet A", 3)
    assert [plural(one) for one in ("embedded file", "query", "reading of a word", "part that is nested")] == [
        "embedded files", "queries", "readings of a word", "parts that are nested",
    ]  # fmt: skip
