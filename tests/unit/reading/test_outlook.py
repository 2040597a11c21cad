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


KIND, SHOWN_CC, SHOWN_BCC, ANSWERED = 0x0C15, 0x0E03, 0x0E02, 0x50
ADA, BO, CY, DI = ({NAME: name, ADDRESS: f"{name.lower()}@example.org"} for name in ("Ada", "Bo", "Cy", "Di"))
ALL = "To: Ada <ada@example.org>\nCc: Bo <bo@example.org>; Di <di@example.org>\nBcc: Cy <cy@example.org>"


def test_recipients_stand_in_the_line_of_their_kind(tmp_path: Path) -> None:
    recipients: list[dict[int, Value]] = [
        {**BO, KIND: 2}, {**ADA, KIND: 1}, {**CY, KIND: 3}, {**DI, KIND: 0x1000_0002},
    ]  # fmt: skip
    assert text_of(read(tmp_path / "a.msg", msg({BODY: "Quay"}, recipients=recipients))) == f"{ALL}\n\nQuay"


@pytest.mark.parametrize("kind", [{}, {KIND: 0}, {KIND: 9}])
def test_recipients_of_no_kind_are_those_of_the_mail(tmp_path: Path, kind: dict[int, Value]) -> None:
    content = msg({BODY: "Quay"}, recipients=[{**ADA, **kind}])
    assert text_of(read(tmp_path / "a.msg", content)) == "To: Ada <ada@example.org>\n\nQuay"


def test_a_mail_without_a_list_of_recipients_names_those_that_it_shows(tmp_path: Path) -> None:
    content = msg({BODY: "Quay", SHOWN_CC: "Bo; Di", SHOWN_BCC: "Cy"})
    assert text_of(read(tmp_path / "a.msg", content)) == "Cc: Bo; Di\nBcc: Cy\n\nQuay"


@pytest.mark.parametrize(
    ("mail", "answered"),
    [
        ({ANSWERED: "Office"}, "Reply-To: Office"),
        ({HEAD: "From: ada@example.org\r\nReply-To: Office <office@example.org>\r\n\r\n"},
         "Reply-To: Office <office@example.org>"),
        ({HEAD: "From: Ada <ada@example.org>\r\nReply-To: ADA@example.org\r\n\r\n"}, ""),
    ],
)  # fmt: skip
def test_to_whom_an_answer_goes_is_told_if_that_is_another(
    tmp_path: Path, mail: dict[int, Value], answered: str
) -> None:
    lines = text_of(read(tmp_path / "a.msg", msg({BODY: "Quay", **mail}))).split("\n")
    assert [line for line in lines if line.startswith("Reply-To")] == list(filter(None, [answered]))


@pytest.mark.parametrize(
    ("answered", "shown"),
    [
        ("office@example.org", "From: ada@example.org\nReply-To: office@example.org"),
        ("<ada@example.org>", "From: ada@example.org"),
    ],
)
def test_a_mail_of_the_internet_shows_each_line_of_recipients(tmp_path: Path, answered: str, shown: str) -> None:
    head = f"From: ada@example.org\nReply-To: {answered}\nTo: bo@example.org\nCc: cy@example.org\nCc: di@example.org\n"
    found = text_of(read(tmp_path / "a.eml", f"{head}Bcc: ed@example.org\n\nQuay"))
    copies = "To: bo@example.org\nCc: cy@example.org, di@example.org\nBcc: ed@example.org"
    assert found == f"{shown}\n{copies}\n\nQuay"
