"""Exports of chats between people, and mailboxes."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from querymill_histories.formats.mbox import sender_of
from querymill_histories.formats.slack_blocks import plain
from querymill_histories.rules.day_order import DayOrder, WrittenDate, order_of
from querymill_histories.rules.quotations import own_words
from querymill_histories.session import ReadOptions
from tests.fixtures.histories import one, read_back, said, write_json


def test_slack_reads_a_channel_in_the_order_of_time_with_names_and_plain_links(tmp_path: Path) -> None:
    write_json(tmp_path / "users.json", [{"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}}])
    write_json(tmp_path / "channels.json", [{"id": "C1", "name": "general"}])
    write_json(
        tmp_path / "general" / "2016-01-15.json",
        [
            {
                "type": "message",
                "user": "U1",
                "text": "late reply",
                "ts": "1452900000.000002",
                "thread_ts": "1452800000.000001",
            },
            {
                "type": "message",
                "subtype": "channel_join",
                "user": "U1",
                "text": "<@U1> has joined",
                "ts": "1452800000.000000",
            },
            {"type": "message", "subtype": "bot_message", "text": "", "ts": "1452800001.000000"},
        ],
    )
    asked = {
        "type": "message",
        "user": "U1",
        "text": "<@U1>: see <http://a.b|here> &lt;b&gt;",
        "ts": "1452800000.000001",
    }
    write_json(tmp_path / "general" / "2016-01-14.json", [asked])
    row = one(tmp_path)
    assert said(row) == [("Ann", "@Ann: see here (http://a.b) <b>"), ("Ann", "late reply")]
    assert (row["session_id"], row["name"], row["messages"][0]["message_id"]) == (
        "C1",
        "general",
        "C1-1452800000.000001",
    )


def test_marks_of_slack_become_what_it_shows() -> None:
    text = "<@U1> see <https://a.example|the page> &lt;b&gt; <#C1|general> <!here> <https://b.example>"
    assert plain(text, {"U1": "Ann"}) == "@Ann see the page (https://a.example) <b> #general @here https://b.example"


def test_telegram_joins_texts_and_reads_local_times_in_the_zone_of_the_caller(tmp_path: Path) -> None:
    chat = {"name": "Bob", "type": "personal_chat", "id": 7, "messages": [
        {"id": 3, "type": "message", "date_unixtime": "1652138769", "from": "Ann", "text": "second"},
        {"id": 2, "type": "message", "date": "2019-07-12T16:55:32", "from": "Bob", "from_id": "user7",
         "text": [{"type": "link", "text": "https://a.example"}, " look"]},
        {"id": 1, "type": "service", "action": "phone_call", "text": "", "date": "2019-07-05T16:55:32"},
    ]}  # fmt: skip
    row = one(write_json(tmp_path / "result.json", chat), asked=ReadOptions(ZoneInfo("Asia/Shanghai")))
    assert said(row) == [("Bob", "https://a.example look"), ("Ann", "second")]
    assert (row["session_id"], row["started_at"].isoformat()) == ("7", "2019-07-12T16:55:32+08:00")
    rows, _ = read_back(write_json(tmp_path / "all.json", {"about": "", "chats": {"list": [chat, {**chat, "id": 8}]}}))
    assert [row["session_id"] for row in rows] == ["7", "8"]


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        (["06.08.2016, 13:23 - Ann: hi", "31.10.2016, 12:23 - Bob: ho"], "2016-08-06T13:23"),
        (["[12/9/20, 11:55:12 PM] Ann: hi", "[12/13/20, 1:00:00 AM] Bob: ho"], "2020-12-09T23:55"),
        (["9/12/20, 11:55 p.\u00a0m. - Ann: hi", "13/12/20, 1:00 a.\u00a0m. - Bob: ho"], "2020-12-09T23:55"),
        (["\u200e[09.12.20, 23:55:12] Ann: hi", "[10.12.20, 01:00:00] Bob: ho"], "2020-12-09T23:55"),
        (["2020/12/9 下午11:55 - Ann: hi", "2020/12/10 上午1:00 - Bob: ho"], "2020-12-09T23:55"),
        (["12/9/20, 23:55 - Ann: hi", "12/9/20, 23:56 - Bob: ho"], "2020-12-09T23:55"),
    ],
)
def test_whatsapp_dates_are_read_as_the_phone_wrote_them(tmp_path: Path, lines: list[str], start: str) -> None:
    path = tmp_path / "WhatsApp Chat with Friends.txt"
    path.write_text("\r\n".join(lines), encoding="utf-8")
    row = one(path)
    assert said(row) == [("Ann", "hi"), ("Bob", "ho")]
    assert (row["started_at"].isoformat()[:16], row["name"]) == (start, "Friends")


def test_whatsapp_says_things_itself_and_a_line_without_a_date_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        "15.04.2016, 15:04 - The Group: Messages and calls are end-to-end encrypted.\n"
        '15.04.2016, 15:05 - Ann created group "a: b"\n'
        "15.04.2016, 15:06 - Bob & Co.: first\nsecond: line\n15.04.2016, 15:07 - Ann: <Media omitted>\n"
        "15.04.2016, 15:08 - Ann: \u200eimage omitted\n",
        encoding="utf-8",
    )
    assert said(one(path)) == [("Bob & Co.", "first\nsecond: line")]


def test_the_order_of_day_and_month_follows_from_all_dates() -> None:
    def stamps(*days: str) -> list[WrittenDate]:
        return [WrittenDate((a, b, "20"), (12, 0, 0)) for a, b in (day.split("/") for day in days)]

    assert order_of(stamps("9/12", "13/9")) is DayOrder.DAY_FIRST
    assert order_of(stamps("9/12", "9/13")) is DayOrder.MONTH_FIRST
    assert order_of(stamps("8/1", "9/1", "10/1", "1/2")) is DayOrder.DAY_FIRST, "month first would go back by months"
    assert order_of(stamps("09/01", "10/01")) is DayOrder.DAY_FIRST, "padded"


def test_discord_ids_stay_text_and_occur_once(tmp_path: Path) -> None:
    message = {"id": "1045178587575242772", "type": "Default", "timestamp": "2023-01-06T14:03:03.853+00:00",
               "content": "hi", "author": {"name": "adam", "nickname": "Adam"}}  # fmt: skip
    joined = message | {"id": "2", "type": "GuildMemberJoin", "content": "Joined the server."}
    whole = {"guild": {"id": "7", "name": "Server"}, "channel": {"id": "1012224565567721552", "name": "general"}}
    for part in (1, 2):
        messages = [message, message, joined, message | {"id": f"3{part}", "content": f"part {part}"}]
        write_json(
            tmp_path / f"Server - general [1012224565567721552] [part {part}].json", whole | {"messages": messages}
        )
    row = one(tmp_path)
    assert said(row) == [("Adam", "hi"), ("Adam", "part 1"), ("Adam", "part 2")]
    assert (row["session_id"], row["name"]) == ("1012224565567721552", "general (Server)")


def test_mbox_makes_threads_sessions_and_keeps_quotations_out(tmp_path: Path) -> None:
    path = tmp_path / "list.mbox"
    path.write_bytes(
        b"From g\xf6ran at a.example  Wed Dec  1 08:26:40 2010\n"
        b"From: goran at a.example (=?ISO-8859-1?Q?G=F6ran_Other?=)\nDate: Wed, 01 Dec 2010 14:26:40 +0100\n"
        b"Subject: =?utf-8?q?Protocol_Buffers=3F?=\nMessage-ID: <1@a>\n\nHi!\nAnyone?\n\n"
        b"From ann at a.example  Thu Dec  2 08:26:40 2010\nFrom: \"Ann\" <ann@a.example>\n"
        b"Date: Thu, 02 Dec 2010 14:26:40 +0100\nSubject: Re: Protocol Buffers?\nMessage-ID: <2@a>\n"
        b"In-Reply-To: <1@a>\n"
        b"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        b"On Wed, 1 Dec 2010, goran wrote:\n> Hi!\n> Anyone?\n\nYes, gr=C3=BC=C3=9Fe.\n\n"
        b"From b@a.example  Thu Dec  2 09:26:40 2010\nFrom: B\xf6b <b@a.example>\nSubject: Other\nMessage-ID: <3@a>\n"
        b"Date: Thu, 02 Dec 2010 15:26:40 +0100\n\nAlone.\n"
    )  # fmt: skip
    rows, bad = read_back(path)
    assert bad == []
    assert [row["name"] for row in rows] == ["Protocol Buffers?", "Other"]
    assert said(rows[0]) == [("Göran Other", "Hi!\nAnyone?"), ("Ann", "Yes, grüße.")]
    assert said(rows[1]) == [("Böb", "Alone.")]


def test_names_of_senders_and_own_words() -> None:
    assert sender_of("ann at example.org (Ann Other)") == "Ann Other"
    assert own_words("On Monday, Ann wrote:\n> Why?\nBecause.") == "Because."
    assert own_words("> only a quotation") == "> only a quotation"
