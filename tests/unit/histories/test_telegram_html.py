"""Chats that Telegram's desktop program exports as web pages."""

from datetime import UTC, datetime
from pathlib import Path

from tests.fixtures.histories import one, read_back, said

TOP = """<!DOCTYPE html>
<html><head><meta charset="utf-8"/><title>Exported Data</title><link href="css/style.css" rel="stylesheet"/></head>
<body onload="CheckLocation();"><div class="page_wrap"><div class="page_header"><div class="content">
<div class="text bold">
Harbour &amp; Tides
</div></div></div><div class="page_body chat_page"><div class="history">
<div class="message service" id="message-1"><div class="body details">28 July 2025</div></div>
"""


def message(id_: int, body: str, *, author: str = "", at: str = "28.07.2025 01:29:21 UTC+02:00") -> str:
    name = f'<div class="from_name">\n{author}\n</div>' if author else ""
    return (
        f'<div class="message default clearfix{"" if author else " joined"}" id="message{id_}">'
        f'<div class="pull_left userpic_wrap"><div class="initials">AB</div></div><div class="body">'
        f'<div class="pull_right date details" title="{at}">01:29</div>{name}{body}</div></div>\n'
    )


def text(words: str) -> str:
    return f'<div class="text">\n{words}\n</div>'


def write(path: Path, *messages: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOP + "".join(messages) + "</div></div></div></body></html>", encoding="utf-8")
    return path


def test_authors_texts_and_times_are_read_and_what_is_no_text_is_not(tmp_path: Path) -> None:
    path = write(
        tmp_path / "messages.html",
        message(1, text('nine ships<br>and <a href="https://a.example">a boat</a> &lt;3'), author="Ann"),
        message(2, text("at the quay"), at="28.07.2025 01:30:00 UTC+02:00"),
        message(3, '<div class="media_wrap clearfix"><div class="media"><div class="title bold">Photo</div></div></div>'
                + text("a caption"), author="Bob"),
        message(4, '<div class="media_wrap clearfix"><div class="title bold">Sticker</div></div>'),
        message(5, '<div class="forwarded body"><div class="from_name">Cyd <span class="date details"'
                ' title="01.01.2020 00:00:00 UTC+00:00">then</span></div>' + text("from elsewhere") + "</div>"),
        message(6, '<div class="reply_to details">In reply to <a href="#m">this message</a></div>' + text("yes")),
    )  # fmt: skip
    row = one(path)
    assert said(row) == [
        ("Ann", "nine ships\nand a boat <3"), ("Ann", "at the quay"), ("Bob", "a caption"), ("Bob", "from elsewhere"),
        ("Bob", "yes"),
    ]  # fmt: skip
    assert row["name"] == "Harbour & Tides"
    assert row["messages"][0]["message_id"] == "1"
    assert row["messages"][0]["created_at"] == datetime(2025, 7, 27, 23, 29, 21, tzinfo=UTC)


def test_the_pages_of_a_chat_are_one_session_in_their_order(tmp_path: Path) -> None:
    folder = tmp_path / "ChatExport_2025-07-28"
    write(folder / "messages.html", message(1, text("one"), author="Ann"))
    for number in (10, 2):
        write(folder / f"messages{number}.html", message(number, text(f"page {number}"), author="Bob"))
    row = one(folder)
    assert [words for _, words in said(row)] == ["one", "page 2", "page 10"]


def test_chats_of_one_name_in_an_export_of_all_are_two_and_a_time_without_a_zone_is_read(tmp_path: Path) -> None:
    for number in (1, 2):
        write(
            tmp_path / "chats" / f"chat_00{number}" / "messages.html",
            message(number, text(f"chat {number}"), author="Ann", at="28.07.2025 01:29:21"),
        )
    rows, bad = read_back(tmp_path)
    assert (len(rows), bad) == (2, [])
    assert f"{rows[0]['messages'][0]['created_at']}"[:19] == "2025-07-28 01:29:21"


def test_a_time_that_cannot_be_leaves_the_message_without_one(tmp_path: Path) -> None:
    path = write(tmp_path / "messages.html", message(1, text("hi"), author="Ann", at="31.02.2025 01:29:21"))
    assert said(one(path)) == [("Ann", "hi")]
