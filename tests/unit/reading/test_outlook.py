"""Mails of Outlook: texts in code pages, and mails whose only text is RTF or HTML."""

import struct
from pathlib import Path

import pytest

from tests.fixtures.outlook import Value, msg
from tests.fixtures.reading import read, text_of

SUBJECT, BODY, HTML, RTF, SENDER, SENT_FROM, HEAD = 0x37, 0x1000, 0x1013, 0x1009, 0x0C1A, 0x5D01, 0x7D
PAGE, WEB, NAME, ADDRESS, FILE = 0x3FFD, 0x3FDE, 0x3001, 0x39FE, 0x3707


def kept(rtf: bytes) -> bytes:
    """Return RTF as Outlook keeps it, uncompressed."""
    return struct.pack("<II4sI", len(rtf) + 12, len(rtf), b"MELA", 0) + rtf


RUSSIAN = {SUBJECT: "Порт", SENDER: "Ада", BODY: "Причал открыт."}


def test_a_mail_in_unicode_with_what_belongs_to_it(tmp_path: Path) -> None:
    mail: dict[int, Value] = {SUBJECT: "Quay", SENDER: "Ada", SENT_FROM: "ada@example.org", BODY: "It opens in May."}
    content = msg(mail, recipients=[{NAME: "Bo", ADDRESS: "bo@example.org"}], attachments=[{FILE: "plan.pdf"}])
    found = read(tmp_path / "a.msg", content)
    assert found.format == "msg"
    assert text_of(found) == "Quay\n\nFrom: Ada <ada@example.org>\nTo: Bo <bo@example.org>\n\nIt opens in May."
    assert [str(remark) for remark in found.remarks] == ["1 attachment: left out: plan.pdf"]


@pytest.mark.parametrize(
    ("codec", "pages"),
    [
        ("cp1251", {PAGE: 1251}),
        ("cp1251", {PAGE: 1251, WEB: 20866}),  # the other page is that of the HTML
        ("koi8-r", {WEB: 20866}),
        ("cp1251", {}),
        ("cp1251", {PAGE: 4_242}),
    ],
)
def test_texts_in_bytes_are_in_the_code_page_of_the_mail(tmp_path: Path, codec: str, pages: dict[int, int]) -> None:
    written = {name: text.encode(codec) for name, text in RUSSIAN.items()}
    long = "Причал открыт для всех судов порта.".encode(codec)
    content = msg({**written, BODY: long, **pages}, recipients=[{NAME: "Борис Борисов".encode(codec)}])
    text = text_of(read(tmp_path / "a.msg", content))
    assert "Причал открыт для всех судов порта." in text
    if pages.get(PAGE) != 4_242 and pages:
        assert text.startswith("Порт\n\nFrom: Ада\nTo: Борис Борисов <>")


def test_a_single_damaged_letter_costs_itself(tmp_path: Path) -> None:
    found = read(tmp_path / "a.msg", msg({PAGE: 932, BODY: "横浜港で働いている".encode("cp932") + b"\x81"}))
    assert text_of(found) == "横浜港で働いている\ufffd"


@pytest.mark.parametrize(
    ("mail", "shown"),
    [
        ({RTF: kept(rb"{\rtf1\ansi\ansicpg1251 \'cf\'ee\'f0\'f2\par}")}, "Порт"),
        ({RTF: kept(rb"{\rtf1\ansi \'cf\'ee\'f0\'f2\par}"), PAGE: 1251}, "Порт"),
        ({RTF: kept(rb"{\rtf1\ansi\fromhtml1{\*\htmltag64 <p>}Quay \'80\par{\*\htmltag72 </p>}}")}, "Quay €"),
        ({HTML: "<p>Порт</p>".encode("koi8-r"), WEB: 20866, PAGE: 1251}, "Порт"),
        ({HTML: "<meta charset=windows-1251><p>Порт</p>".encode("cp1251")}, "Порт"),
        ({HTML: "<p>Порт</p>"}, "Порт"),
    ],
    ids=["rtf", "rtf without a page", "html in rtf", "html of the web's page", "html that names it", "html in Unicode"],
)
def test_a_mail_whose_only_text_is_rtf_or_html(tmp_path: Path, mail: dict[int, Value], shown: str) -> None:
    assert text_of(read(tmp_path / "a.msg", msg(mail))) == shown


def test_the_head_as_it_was_sent_names_the_sender(tmp_path: Path) -> None:
    head = "From: =?utf-8?q?Ada_L=C3=BCnd?= <ada@example.org>\r\nTo: bo@example.org\r\n\r\n"
    assert "From: Ada Lünd <ada@example.org>" in text_of(read(tmp_path / "a.msg", msg({HEAD: head, BODY: "Quay"})))
