"""Mailboxes and mails of many programs: where a message ends, what it says, and what it only quotes."""

from email.message import EmailMessage
from pathlib import Path

import pytest

from querymill_histories.rules.quotations import own_words
from tests.fixtures.histories import one, read_back, said

FIRST = """From 1812@xxx Mon May 06 09:00:00 +0000 2024
Message-ID: <m1@example.org>
From: Ada Lund <ada@example.org>
Date: Mon, 6 May 2024 09:00:00 +0000
Subject: Winch
Content-Type: text/plain; charset=utf-8

"""
REPLY = """
From 1813@xxx Mon May 06 10:00:00 +0000 2024
Message-ID: <m2@example.org>
In-Reply-To: <m1@example.org>
From: Bo Berg <bo@example.org>
Date: Mon, 6 May 2024 10:00:00 +0000
Subject: Re: Winch

"""
BODIES = {
    "a sentence after a blank line": "The winch is repaired.\n\nFrom Monday on the crane may lift,\nbut not in wind.\n",
    "twice": "From the stern you see the weld.\n\nFrom the bow you do not.\n\nFrom: nobody\n",
    "a day and a time, and no header below": "Watch.\n\nFrom Mon May 06 at 09:00 the pier is closed.\n",
    "what looks like a header": "Watch.\n\nFrom Oslo to Bergen\nNote: by night\n",
    "at the end": "Watch.\n\nFrom Bo\n",
}


@pytest.mark.parametrize("body", BODIES)
def test_a_line_that_begins_with_from_is_of_the_text(tmp_path: Path, body: str) -> None:
    path = tmp_path / "mail.mbox"
    path.write_text(f"{FIRST}{BODIES[body]}{REPLY}Good.\n")
    assert said(one(path)) == [("Ada Lund", BODIES[body].strip()), ("Bo Berg", "Good.")]


@pytest.mark.parametrize(
    "line",
    [
        "From - Mon May 06 10:00:00 2024", "From bo at example.org  Mon May  6 10:00:00 2024",
        "From MAILER-DAEMON Mon May  6 10:00 2024", "From bo@example.org 2024-05-06 10:00:00",
        "From bo@example.org Mon, 06 May 2024 10:00:00 +0000",
    ],
)  # fmt: skip
def test_every_program_has_a_line_of_its_own_between_messages(tmp_path: Path, line: str) -> None:
    path = tmp_path / "mail.mbox"
    path.write_text(f"{FIRST}One.\n{REPLY.replace('From 1813@xxx Mon May 06 10:00:00 +0000 2024', line)}Two.\n")
    assert [text for _, text in said(one(path))] == ["One.", "Two."]


def test_the_mark_before_from_is_taken_away_and_that_of_a_quotation_is_not(tmp_path: Path) -> None:
    path = tmp_path / "mail.mbox"
    path.write_text(f"{FIRST}Hi,\n\n>From Monday on.\n>>From here.\n{REPLY}Yes.\n\n>Why\n>From Oslo\n>to Bergen?\n")
    assert said(one(path)) == [("Ada Lund", "Hi,\n\nFrom Monday on.\n>From here."), ("Bo Berg", "Yes.")]


def test_a_thread_over_several_mailboxes_and_mails_is_one_session(tmp_path: Path) -> None:
    (tmp_path / "Inbox.mbox").write_text(f"{FIRST}One.\n")
    (tmp_path / "Sent.mbox").write_text(REPLY.lstrip("\n") + "Two.\n")
    (tmp_path / "cur").mkdir()
    third = REPLY.lstrip("\n").split("\n", 1)[1].replace("m2@", "m3@").replace("10:00", "11:00")
    (tmp_path / "cur" / "1714990000.M1.host:2,S").write_text(third + "Three.\n")
    (tmp_path / "copy.eml").write_text(third + "Three.\n")
    row = one(tmp_path)
    assert said(row) == [("Ada Lund", "One."), ("Bo Berg", "Two."), ("Bo Berg", "Three.")]


def test_a_mail_of_parts_says_its_text_once_and_attachments_are_counted(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"], mail["Date"], mail["Subject"] = "Ada <ada@a.example>", "Mon, 06 May 2024 09:00:00 +0000", "Plan"
    mail.set_content("plain words")
    mail.add_alternative("<p>rich words</p>", subtype="html")
    mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="plan.pdf")
    within = EmailMessage()
    within["From"] = "Bo <bo@a.example>"
    within.set_content("another mail")
    mail.add_attachment(within)
    (tmp_path / "plan.eml").write_bytes(mail.as_bytes())
    row = one(tmp_path)
    assert (said(row), row["remarks"]) == ([("Ada", "plain words")], ["2 attachments"])


@pytest.mark.parametrize(
    ("plain", "rich", "told"),
    [
        ("plain words", "rich words", "plain words"),
        ("This mail is in HTML.", "We sail on Friday at dawn from the east quay.", ""),
        ("We sail on Friday at dawn.", "We sail on Friday at dawn. Unsubscribe", "We sail on Friday at dawn."),
        ("We sail on Friday at dawn.", "This mail has pictures.", "We sail on Friday at dawn."),
    ],
)
def test_of_two_forms_of_a_mail_that_is_read_which_says_all(tmp_path: Path, plain: str, rich: str, told: str) -> None:
    mail = EmailMessage()
    mail["From"], mail["Date"], mail["Subject"] = "Ada <ada@a.example>", "Mon, 06 May 2024 09:00:00 +0000", "Plan"
    mail.set_content(plain)
    mail.add_alternative(f"<p>{rich}</p>", subtype="html")
    (tmp_path / "plan.eml").write_bytes(mail.as_bytes())
    assert said(one(tmp_path)) == [("Ada", told or rich)]


@pytest.mark.parametrize(
    ("charset", "octets", "text"),
    [
        ("iso-8859-1", b"\x93dry\x94 \x96 5 \x80", "“dry” – 5 €"),
        ("us-ascii", "Grüße".encode(), "Grüße"),
        ("gb2312", "朱镕基".encode("gbk"), "朱镕基"),
        ("x-unknown", "Grüße".encode("latin-1"), "Grüße"),
        ("utf-8", "Grüße".encode("cp1252"), "Grüße"),
    ],
)
def test_encodings_are_read_as_programs_write_them(tmp_path: Path, charset: str, octets: bytes, text: str) -> None:
    head = FIRST.replace("utf-8", charset).encode()
    (tmp_path / "a.mbox").write_bytes(head + octets + b"\n")
    assert said(one(tmp_path)) == [("Ada Lund", text)]


def test_lines_that_a_program_broke_are_whole_again(tmp_path: Path) -> None:
    head = FIRST.replace("utf-8", "utf-8; format=flowed")
    (tmp_path / "a.mbox").write_text(f"{head}Good, we sail on \nFriday at dawn.\n\n- one\n- two\n-- \nAda\n")
    assert said(one(tmp_path)) == [("Ada Lund", "Good, we sail on Friday at dawn.\n\n- one\n- two\n-- \nAda")]


def test_what_is_sent_on_stays(tmp_path: Path) -> None:
    mail = FIRST.replace("Subject: Winch", "Subject: Fwd: Winch")
    (tmp_path / "a.mbox").write_text(f"{mail}FYI\n\n---------- Forwarded message ---------\nFrom: Bo\n\nAll is well.\n")
    assert said(one(tmp_path))[0][1].endswith("All is well.")


def test_a_bad_message_and_a_bad_file_cost_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.mbox").write_text(f"{FIRST}One.\n{REPLY}Two.\n")
    (tmp_path / "b.mbox.gz").write_bytes(b"\x1f\x8b\x08\x00 broken")
    (tmp_path / "c.mbox").write_text(
        "From ada@a.example Mon May 06 09:00:00 2024\nDate: \xff\nFrom: =?x?q?=FF?=\n\n" + "x"
    )
    rows, bad = read_back(tmp_path)
    assert [len(row["messages"]) for row in rows] == [2, 1]
    assert bad == []


#: Answers in the forms of mail programs: each says "Yes, at nine." and quotes the rest.
CLIENTS = {
    "Gmail": (
        "Yes, at nine.\n\nOn Mon, 6 May 2024 at 09:00, Ada Lund <ada@example.org> wrote:\n\n> Shall we sail?\n> Ada\n"
    ),
    "Gmail, broken": (
        "Yes, at nine.\n\nOn Mon, May 6, 2024 at 9:00 AM Ada Margarete Lund-Berg\n<ada@example.org>\n"
        "wrote:\n\n> Shall we?\n"
    ),
    "Gmail, German": (
        "Yes, at nine.\n\nAm Mo., 6. Mai 2024 um 09:00 Uhr schrieb Ada Lund <\nada@example.org>:\n\n> Shall we?\n"
    ),
    "Gmail, French": (
        "Yes, at nine.\n\nLe lun. 6 mai 2024 à 09:00, Ada Lund <ada@example.org> a écrit :\n\n> Shall we?\n"
    ),
    "Gmail, Spanish": (
        "Yes, at nine.\n\nEl lun, 6 may 2024 a las 9:00, Ada Lund (<ada@example.org>)\nescribió:\n\n> Shall we?\n"
    ),
    "Gmail, Portuguese": (
        "Yes, at nine.\n\nEm seg., 6 de mai. de 2024 às 09:00, Ada <ada@example.org>\nescreveu:\n\n> Shall we?\n"
    ),
    "Gmail, Japanese": ("Yes, at nine.\n\n2024年5月6日(月) 9:00 Ada Lund <ada@example.org>:\n\n> Shall we?\n"),
    "Gmail, Chinese": ("Yes, at nine.\n\nAda Lund <ada@example.org> 于2024年5月6日周一 09:00写道：\n\n> Shall we?\n"),
    "Gmail, Russian": ("Yes, at nine.\n\nпн, 6 мая 2024 г. в 09:00, Ada Lund <ada@example.org>:\n\n> Shall we?\n"),
    "Gmail, Polish": (
        "Yes, at nine.\n\npon., 6 maj 2024 o 09:00 Ada Lund <ada@example.org> napisał(a):\n\n> Shall we?\n"
    ),
    "Outlook": (
        "Yes, at nine.\n\nFrom: Ada Lund <ada@example.org>\nSent: Monday, May 6, 2024 9:00 AM\n"
        "To: Bo\nSubject: Sail\n\nShall we?\n"
    ),
    "Outlook of the web": (
        "Yes, at nine.\n________________________________\nFrom: Ada Lund\n"
        "Sent: Monday, May 6, 2024 9:00 AM\nTo: Bo\nSubject: Sail\n\nShall we?\n"
    ),
    "Outlook, German": (
        "Yes, at nine.\n\nVon: Ada Lund\nGesendet: Montag, 6. Mai 2024 09:00\nAn: Bo\nBetreff: Sail\n\nShall we?\n"
    ),
    "Outlook, French": (
        "Yes, at nine.\n\nDe : Ada Lund\nEnvoyé : lundi 6 mai 2024 09:00\nÀ : Bo\nObjet : Sail\n\nShall we?\n"
    ),
    "Outlook, Chinese": (
        "Yes, at nine.\n\n发件人: Ada Lund\n发送时间: 2024年5月6日 9:00\n收件人: Bo\n主题: Sail\n\nShall we?\n"
    ),
    "Outlook, bold": ("Yes, at nine.\n\n*From:* Ada\n*Sent:* Monday\n*To:* Bo\n*Subject:* Sail\n\nShall we?\n"),
    "Outlook 2003": (
        "Yes, at nine.\n\n-----Original Message-----\nFrom: Ada\nSent: Monday\nTo: Bo\nSubject: Sail\n\nShall we?\n"
    ),
    "Apple Mail": ("Yes, at nine.\n\n> On 6 May 2024, at 09:00, Ada Lund <ada@example.org> wrote:\n> \n> Shall we?\n"),
    "iPhone": (
        "Yes, at nine.\n\nSent from my iPhone\n\n"
        "> On May 6, 2024, at 9:00 AM, Ada <ada@example.org> wrote:\n> \n> ﻿Shall we?\n"
    ),
    "iPhone, German": (
        "Yes, at nine.\n\nVon meinem iPhone gesendet\n\n"
        "> Am 06.05.2024 um 09:00 schrieb Ada <ada@example.org>:\n> \n> Shall we?\n"
    ),
    "Thunderbird": ("On 5/6/24 09:00, Ada Lund wrote:\n> Shall we?\nYes, at nine.\n"),
    "Thunderbird, German": (
        "Am 06.05.24 um 09:00 schrieb Ada Lund:\n> Shall we?\nYes, at nine.\n\n-- \nBo Berg\nOslo\n"
    ),
    "Mutt": ("On Mon, May 06, 2024 at 09:00:00AM +0000, Ada Lund wrote:\n> Shall we?\n\nYes, at nine.\n"),
    "Gnus": ("Ada Lund <ada@example.org> writes:\n\n> Shall we?\n\nYes, at nine.\n"),
    "Yahoo": (
        "Yes, at nine.\n\n"
        "    On Monday, May 6, 2024 at 09:00:00 AM GMT, Ada Lund <ada@example.org> wrote:  \n \n"
        " Shall we?\nAda\n"
    ),
    "Proton": ("Yes, at nine.\n\nOn Monday, May 6th, 2024 at 9:00 AM, Ada <ada@example.org> wrote:\n\n> Shall we?\n"),
    "Proton, old": (
        "Yes, at nine.\n\n‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐\n"
        "On Monday, May 6, 2024 9:00 AM, Ada <a@b.example> wrote:\n\n> Shall we?\n"
    ),
    "K-9": ("Yes, at nine.\n\n-------- Original Message --------\nFrom: Ada\nSent: 6 May 2024 09:00\n\nShall we?\n"),
    "Roundcube": ("On 2024-05-06 09:00, Ada Lund wrote:\n> Shall we?\n\nYes, at nine.\n"),
    "Yandex": ('Yes, at nine.\n\n06.05.2024, 09:00, "Ada Lund" <ada@example.org>:\n> Shall we?\n'),
    "QQ": (
        'Yes, at nine.\n\n------------------ 原始邮件 ------------------\n发件人: "Ada" <ada@example.org>;\n'
        "\nShall we?\n"
    ),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_is_without_what_its_program_quotes(client: str) -> None:
    assert own_words(CLIENTS[client]) == "Yes, at nine."


@pytest.mark.parametrize(
    "text",
    [
        "Here is what I need:\n\n- a rope\n- a chart of 2024",
        "From: is a header, and To: is one too.\nThat is all.",
        "Ada wrote:\n\nand nobody answered.",
        "On Monday 6 May 2024 we need three things:\n\nrope, tar, time.",
        "Am Montag um 9:00 brauchen wir:\nSeile",
    ],
)
def test_own_words_that_look_like_the_beginning_of_a_quotation_stay(text: str) -> None:
    assert own_words(text) == text


def test_an_answer_in_html_is_without_what_it_quotes(tmp_path: Path) -> None:
    page = (
        '<html><head><title>x</title><body><div dir="ltr">Yes, at nine.</div><br><div class="gmail_quote">'
        '<div class="gmail_attr">On Mon, 6 May 2024 at 09:00, Ada &lt;<a href="mailto:a@b.c">a@b.example</a>&gt; '
        "wrote:<br>"
        "</div><blockquote><div>Shall we?</div><div>Ada</div></blockquote></div></body></html>"
    )
    text = REPLY.lstrip("\n").replace("Subject:", "Content-Type: text/html; charset=utf-8\nSubject:")
    (tmp_path / "a.mbox").write_text(text + page + "\n")
    assert said(one(tmp_path)) == [("Bo Berg", "Yes, at nine.")]
