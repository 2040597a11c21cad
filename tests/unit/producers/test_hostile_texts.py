"""What callers' texts and people's exports pass besides the rules: none of it takes more time than the text is long."""

from collections import Counter
from collections.abc import Callable
from email import message_from_string
from pathlib import Path

import pytest

from querymill.code_bases.secrets import secret_by_name, secret_in
from querymill.gateway.console.hits import answer_pieces
from querymill.gateway.console.reading import number_of, place_of, reading_of
from querymill_histories.formats import mbox, signal
from querymill_histories.formats.mail_body import body_of
from querymill_histories.rules.quotations import own_words
from querymill_reading import recognising
from querymill_reading.document import ReadLimits, Unreadable
from tests.fixtures.hostile_texts import STEEPEST, Timed, steepness

KEY = "-----BEGIN RSA PRIVATE KEY-----\n"


def html_body(text: str) -> str:
    return body_of(message_from_string(f"Content-Type: text/html\n\n{text}"), Counter())


def reactions(text: str) -> str:
    return signal._REACTIONS.sub("", text)


def pieces(text: str) -> int:
    return len(answer_pieces(text, [1]))


def looks_like_html(text: str) -> bool:
    return recognising._HTML.match(text.encode()) is not None


#: What is called, and what it repeats, begins and ends with. Many of them once took exponential time.
TEXTS: list[tuple[Callable[[str], object], str, str, str]] = [
    (secret_in, "a: b ", KEY, "!"),
    (secret_in, "a: b\n", KEY, "!"),
    (secret_in, f"{KEY}a: b\n", "", ""),
    (secret_in, "-----BEGIN A ", "", ""),
    (secret_in, "xoxb-1", "", ""),
    (secret_by_name, ".env", "", "x"),
    (signal._without_answered, "> a\n", "> a\n", "x"),
    (signal._without_answered, "\n", "\n", "x"),
    (reactions, ", a: 👍", " (a: 👍", "x"),
    (reactions, "👍", " (a: ", "x"),
    (html_body, "<a ", "<p>", ""),
    (html_body, "<a b='x\">", "<p>", ""),
    (html_body, "<!--", "<p>", ""),
    (html_body, "<![if>", "<p>", ""),
    (html_body, "<![CDATA[>", "<p>", ""),
    (html_body, "</a ", "<p>", ""),
    (mbox.sender_of, "@", "a", ""),
    (own_words, "a\n", "\n-- \n", "b"),
    (own_words, "a" * 40 + "\n\n\n", "\n-- \n", "b"),
    (looks_like_html, "<!---->", "<!-- -->", "x"),
    (pieces, "[", "[", ""),
    (pieces, "[1]", "[1]", ""),
    (lambda text: place_of(text, text[::-1]), "a ", "a", ""),
]


@pytest.mark.parametrize(("call", "unit", "head", "tail"), TEXTS)
def test_a_text_takes_time_by_its_length(call: Callable[[str], object], unit: str, head: str, tail: str) -> None:
    rule = Timed(call, {"text": str})
    assert steepness(rule, unit, tail, head=head) < STEEPEST


def test_private_keys_are_still_found() -> None:
    base64 = "QUJDRUZH" * 6
    for text in (
        f"{KEY}{base64}", f"{KEY}\n{base64}", f"{KEY}Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{base64}",
        f"-----BEGIN PRIVATE KEY----- {base64}", f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: a b\n\n{base64}",
    ):  # fmt: skip
        assert secret_in(text) == "a private key"
    assert secret_in(f"{KEY}…") == ""


def test_an_html_mail_is_still_read_as_text() -> None:
    page = (
        "<!--[if mso]><p>for Outlook</p><![endif]--><![if !mso]><title>t</title><p>Dear <b>Ann</b>,</p><![endif]>"
        "<p>2 &lt; 3 & 4 > 1<br>done</p><!-- <p>hidden</p> -->"
    )
    assert html_body(page) == "Dear Ann,\n2 < 3 & 4 > 1\ndone"


def test_what_a_mail_quotes_is_still_left_out() -> None:
    assert own_words("Yes.\n\n  \n----- Original Message -----\nFrom: Ann\nWhy?") == "Yes."
    assert own_words("On Monday, Ann\nat her desk wrote:\n\n \n> Why?\n> How?\n\nBecause.") == "Because."
    assert own_words("Yes.\n-- \nAnn\nNordhav") == "Yes."
    below = "\n".join(["Yes.", "-- ", *"abcdefghijklm"])
    assert own_words(below) == below, "thirteen lines are no signature"


def test_a_reply_in_signal_is_still_without_what_it_answers() -> None:
    assert signal._without_answered("> why?\n>how?\n\nbecause") == "because"
    assert reactions("good (Ann: 👍, Bob 2: 🎉❤️)") == "good"
    assert reactions("good (see: below)") == "good (see: below)"


def test_html_with_a_comment_in_front_is_still_html(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_text("  <!-- a --> <!-- b > c -->\n<!doctype html><p>x", encoding="utf-8")
    assert recognising.recognise(page, "page", ReadLimits()).name == "html"
    page.write_text("<!-- a --> x -->" * 3, encoding="utf-8")
    with pytest.raises(Unreadable):
        recognising.recognise(page, "page.pdf", ReadLimits())


@pytest.mark.parametrize(("written", "number"), [("7", 7), ("0", 0), ("9" * 5_000, None), ("²", None), ("", None)])
def test_a_link_names_a_number_or_none(written: str, number: int | None) -> None:
    assert number_of(written) == number


def test_a_page_whose_number_is_too_long_is_none_of_a_report() -> None:
    pages = [{"page": number, "text": f"text {number}"} for number in (1, 2)]
    assert reading_of("reports", "r1", {"pages": pages}, None, page="2").page == 2
    assert reading_of("reports", "r1", {"pages": pages}, None, page="9" * 5_000).page == 1
