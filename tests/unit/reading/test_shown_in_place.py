"""What a page shows and no text says by itself: controls of forms, navigation alone, marks of notes, edges of pages."""

from pathlib import Path

import openpyxl
import pytest

from tests.fixtures.reading import read, said, text_of
from tests.unit.reading.test_not_text import book
from tests.unit.reading.test_other_programs import open_document

FORM = "urn:oasis:names:tc:opendocument:xmlns:form:1.0"


def with_control(control: str, *, kind: str = "text") -> bytes:
    """Write a document with a control of a form within a line."""
    name, _, properties = control.partition(" ")
    inside = properties.partition(">")[2]
    properties = properties.partition(">")[0]
    form = f'<form:form><form:{name} form:id="c" {properties}>{inside}</form:{name}></form:form>'
    forms = f'<office:forms xmlns:form="{FORM}">{form}</office:forms>'
    place = '<draw:control draw:control="c"/>'
    if kind == "text":
        return open_document(kind, f"{forms}<text:p>Port: {place}by day</text:p>")
    sheet = f"<table:table-row><table:table-cell><text:p>Port</text:p>{place}</table:table-cell></table:table-row>"
    return open_document(kind, f'<table:table table:name="Dues">{forms}{sheet}</table:table>')


CONTROLS = [
    ('fixed-text form:label="First name"', "First name"),
    ('text form:current-value="Ada" form:value="Bo"', "Ada"),
    ('textarea form:value="By the\nquay"', "By the quay"),
    ('date form:current-value="2026-05-01"', "2026-05-01"),
    ('checkbox form:label="Agree" form:current-state="checked"', "[x] Agree"),
    ('checkbox form:label="Agree" form:state="checked" form:current-state="unchecked"', "[ ] Agree"),
    ('radio form:label="Night" form:selected="true"', "[x] Night"),
    ('radio form:label="Night"', "[ ] Night"),
    ('combobox form:value="Vik"', "Vik"),
    ('listbox ><form:option form:label="Vik"/><form:option form:label="Moss" form:selected="true"/>', "Moss"),
    ('button form:label="Send"', "Send"),
    ('text form:name="empty"', ""),
    ('hidden form:value="x"', ""),
]


@pytest.mark.parametrize(("control", "shown"), CONTROLS)
def test_a_control_of_a_form_shows_its_label_and_its_value(tmp_path: Path, control: str, shown: str) -> None:
    found = read(tmp_path / "a.odt", with_control(control))
    assert text_of(found) == " ".join(filter(None, ("Port:", shown, "by day")))
    assert said(found) == []


def test_a_control_upon_a_cell_is_read(tmp_path: Path) -> None:
    found = read(tmp_path / "a.ods", with_control('checkbox form:label="Agree"', kind="spreadsheet"))
    assert text_of(found).endswith("[ ] Agree")


@pytest.mark.parametrize("control", ['password form:value="x"', 'image-frame form:image-data="x"', "grid "])
def test_a_control_that_is_not_read_is_counted(tmp_path: Path, control: str) -> None:
    found = read(tmp_path / "a.odt", with_control(control))
    assert (text_of(found), said(found)) == ("Port: by day", ["1 form field: left out"])


NAVIGATION = "<nav><ol><li><a href=a>Vik</a><li><a href=b>Moss</a></ol></nav>"


@pytest.mark.parametrize(
    ("body", "text", "remarks"),
    [
        (NAVIGATION, "1. Vik\n\n2. Moss", []),
        (f"<div>{NAVIGATION}</div><nav>Tinn</nav>", "1. Vik\n\n2. Moss\n\nTinn", []),
        (f"{NAVIGATION}<select><option>Sand</select>", "1. Vik\n\n2. Moss", ["1 form field: left out"]),
        (f"{NAVIGATION}<p>Quay</p>", "Quay", ["1 navigation: left out"]),
    ],
)
def test_navigation_is_read_where_nothing_else_is(tmp_path: Path, body: str, text: str, remarks: list[str]) -> None:
    found = read(tmp_path / "a.html", f"<html><body>{body}</body></html>")
    assert (text_of(found), said(found)) == (text, remarks)


def test_the_same_holds_for_what_is_written_in_html(tmp_path: Path) -> None:
    mail = f"From: ada@example.org\nContent-Type: text/html\n\n{NAVIGATION}"
    assert text_of(read(tmp_path / "a.eml", mail)).endswith("1. Vik\n\n2. Moss")
    closed = NAVIGATION.replace("</a><li>", "</a></li><li>").replace("</a></ol>", "</a></li></ol>")
    chapter = closed.replace("=a", "='a'").replace("=b", "='b'")
    assert text_of(read(tmp_path / "a.epub", book(chapter))) == "1. Vik\n\n2. Moss"


def test_a_note_of_an_open_document_stands_behind_its_mark(tmp_path: Path) -> None:
    note = (
        "<text:note><text:note-citation>{0}</text:note-citation><text:note-body><text:p>{1}</text:p></text:note-body>"
        "</text:note>"
    )
    body = f"<text:p>Fees{note.format('1', 'By day.')} rise{note.format('ii', 'A law.')}.</text:p>"
    found = text_of(read(tmp_path / "a.odt", open_document("text", body)))
    assert found == "Fees[1] rise[ii].\n\nNote [1]: By day.\n\nNote [ii]: A law."


STYLES = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"


@pytest.mark.parametrize(
    ("masters", "shown"),
    [
        ("Standard: header Odd, header-left Left, header-first First", ["Odd", "Left", "First"]),
        ("Standard: header Odd, header-left! Left, footer! Low", ["Odd"]),
        ("Standard: header Odd; Index: header Unused", ["Odd"]),
        ("Standard: header Odd; Report: header Used, footer Low", ["Odd", "Used", "Low"]),
        ("Standard: ; Report>Rest: header First; Rest: header Next", ["First", "Next"]),
        ("Other: header Odd", ["Odd"]),
    ],
)
def test_edges_of_pages_of_an_open_document_are_read_if_a_page_shows_them(
    tmp_path: Path, masters: str, shown: list[str]
) -> None:
    written = ""
    for master in masters.split("; "):
        name, _, edges = master.partition(": ")
        own, _, following = name.partition(">")
        written += f'<style:master-page style:name="{own}" style:next-style-name="{following}">'
        for edge in filter(None, edges.split(", ")):
            tag, _, text = edge.partition(" ")
            display = ' style:display="false"' if tag.endswith("!") else ""
            tag = tag.rstrip("!")
            written += f"<style:{tag}{display}><text:p>{text}</text:p></style:{tag}>"
        written += "</style:master-page>"
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "style")
    )
    used = '<style:style style:name="P1" style:master-page-name="Report"/>'
    path = tmp_path / "a.fodt"
    path.write_text(
        f'<office:document {names} office:mimetype="application/vnd.oasis.opendocument.text">'
        f"<office:automatic-styles>{used}</office:automatic-styles><office:master-styles>{written}"
        "</office:master-styles><office:body><office:text><text:p>Quay</text:p></office:text></office:body>"
        "</office:document>"
    )
    assert [text.partition(": ")[2] for text in text_of(read(path)).split("\n\n")[1:]] == shown


@pytest.mark.parametrize(
    ("switch", "told"),
    [("", "Odd"), ("differentOddEven", "Odd; Even"), ("differentFirst", "Odd; First")],
)
def test_edges_of_a_print_that_no_page_has_are_not_told(tmp_path: Path, switch: str, told: str) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Port", "Fee"])
    sheet.oddHeader.center.text, sheet.evenHeader.center.text, sheet.firstHeader.center.text = "Odd", "Even", "First"
    if switch:
        setattr(sheet.HeaderFooter, switch, True)
    book.save(tmp_path / "a.xlsx")
    (remark,) = said(read(tmp_path / "a.xlsx"))
    assert remark.endswith(f"left out: {told}")
