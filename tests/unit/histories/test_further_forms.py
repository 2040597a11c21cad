"""Further forms of chats: rooms of Element, the package of one's own data at Discord, dates in other languages."""

import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from querymill_histories.beginnings import records_in
from querymill_histories.files import elements_of
from querymill_histories.rules.written_dates import written_moment
from querymill_histories.salvage import value_of
from tests.fixtures.foreign_histories import DISCORD_PAGE, ELEMENT_PAGE, TELEGRAM_PAGE
from tests.fixtures.histories import one, read_back, said, write_json

ELEMENT = """5/6/2024, 9:00:00 AM - Ada created this room.
5/6/2024, 9:00:01 AM - Ada changed the topic to "boats: old ones".
5/6/2024, 9:00:02 AM - Ada: The winch
is repaired.
5/6/2024, 9:01:02 AM - @bo:a.example: <Ada "The winch"> Good: thanks
5/6/2024, 9:01:03 AM - * Ada waves
5/6/2024, 9:01:04 AM - Ada sent an image. (Media omitted)
5/13/2024, 9:01:05 PM - Ada: a.pdf (File attached)
5/13/2024, 9:01:06 PM - Ada: done
"""


def test_a_text_of_element_tells_authors_answers_and_files_apart(tmp_path: Path) -> None:
    path = tmp_path / "matrix - Harbour - Chat Export - 2024-05-13T21-00-00.000Z.txt"
    path.write_text(ELEMENT, encoding="utf-8")
    row = one(path)
    assert (row["origin"], row["name"], row["dates"]) == ("matrix", "Harbour", "month first")
    assert said(row) == [
        ("Ada", "The winch\nis repaired."), ("@bo:a.example", "Good: thanks"), ("Ada", "waves"), ("Ada", "done"),
    ]  # fmt: skip
    assert row["messages"][-1]["created_at"] == datetime(2024, 5, 13, 21, 1, 6, tzinfo=UTC)
    assert row["remarks"] == ["2 attachments", "2 system lines"]


def test_pages_of_element_tell_answers_from_what_they_answer(tmp_path: Path) -> None:
    def event(id_: str, body: str) -> str:
        return f'<div class="mx_Export_EventWrapper" id="{id_}"><li>{body}</li></div>'

    answered = (
        '<div class="mx_ReplyChain"><div class="mx_ReplyTile">'
        '<span class="mx_DisambiguatedProfile_displayName">Ada</span>'
        '<div class="mx_EventTile_body">The winch</div></div></div>'
    )
    own = '<div class="mx_EventTile_content"><div class="mx_EventTile_body">Yes &amp; no.</div></div>'
    omitted = '<div class="mx_EventTile_content"><div class="mx_EventTile_body"><em>Media omitted</em></div></div>'
    more = [
        event("$3", answered + own), event("$4", '<div class="mx_TextualEvent">Bo left</div>'),
        event("$5", '<div class="mx_MImageBody mx_EventTile_content"></div>'), event("$6", omitted),
        event("$7", '<div class="mx_RedactedBody">Message deleted</div>'),
    ]  # fmt: skip
    (tmp_path / "messages.html").write_text(ELEMENT_PAGE, encoding="utf-8")
    (tmp_path / "messages2.html").write_text(ELEMENT_PAGE.replace("</ol>", f"{''.join(more)}</ol>"), encoding="utf-8")
    row = one(tmp_path)
    assert said(row) == [("Ada", "The winch\nis repaired."), ("Bo", "Good."), ("Bo", "Yes & no.")]
    assert row["messages"][0]["created_at"] == datetime(2024, 5, 6, 9, tzinfo=UTC)
    assert (row["name"], row["remarks"]) == ("Harbour", ["2 attachments", "1 deleted message", "1 system line"])


def test_the_package_of_discord_has_the_own_messages_under_the_own_name(tmp_path: Path) -> None:
    messages = tmp_path / "package" / "messages"
    write_json(tmp_path / "package" / "account" / "user.json", {"id": "9", "username": "ada", "global_name": "Ada L."})
    write_json(messages / "index.json", {"1": "general in Port", "2": None})
    write_json(messages / "c1" / "channel.json", {"id": "1", "type": 0, "name": "general", "guild": {"name": "Port"}})
    write_json(messages / "c1" / "messages.json", [
        {"ID": 12, "Timestamp": "2024-05-06 09:00:00", "Contents": "later", "Attachments": ""},
        {"ID": 11, "Timestamp": "2024-05-05 09:00:00", "Contents": "first", "Attachments": "https://a https://b"}, 7,
    ])  # fmt: skip
    write_json(messages / "c2" / "channel.json", {"id": "2", "type": 1, "recipients": ["1", "9"]})
    (messages / "c2" / "messages.csv").write_text(
        'ID,Timestamp,Contents,Attachments\n1,2022-05-06 09:00:00.123000+00:00,"hi, there\nyou",\n2,soon,when?,\n'
    )
    rows, bad = read_back(tmp_path / "package" / "messages")
    assert bad == []
    first, second = sorted(rows, key=lambda row: str(row["session_id"]))
    assert (first["name"], said(first)) == ("general in Port", [("Ada L.", "first"), ("Ada L.", "later")])
    assert first["remarks"] == ["2 attachments", "1 record that is no object"]
    assert (second["session_id"], said(second)) == ("2", [("Ada L.", "when?"), ("Ada L.", "hi, there\nyou")])
    assert second["remarks"] == ["1 time that is not understood"]


def test_pages_and_tables_count_what_they_leave_out(tmp_path: Path) -> None:
    card = '<div class="chatlog__embed-title">Build 7</div><div class="chatlog__embed-description">failed</div>'
    more = "".join(
        f'<div class="chatlog__message-container" data-message-id="106000000000000001{number}">{body}</div>'
        for number, body in enumerate((card, '<div class="chatlog__attachment"></div>',
                                       '<div class="chatlog__system-notification">joined</div>', ""))
    )  # fmt: skip
    (tmp_path / "a.html").write_text(DISCORD_PAGE.replace("</div></div></body>", f"</div>{more}</div></body>"))
    row = one(tmp_path / "a.html")
    assert [text for _, text in said(row)] == ["The winch\nis repaired.", "Good.", "Build 7\nfailed"]
    assert row["remarks"] == ["1 attachment", "1 message without a text", "1 system line"]
    poll = (
        '<div class="media_wrap clearfix"><div class="media_poll"><div class="question bold">When?</div>'
        '<div class="answer">- Friday <span class="details">3 votes</span></div></div></div>'
    )
    event = '<div class="message service" id="message9"><div class="body details">Ada left</div></div>'
    page = TELEGRAM_PAGE.replace("</div></body>", f"{event}</div></body>")
    page = page.replace('<div class="text">Good.</div>', f'<div class="text">Good.</div>{poll}')
    (tmp_path / "messages.html").write_text(page)
    row = one(tmp_path / "messages.html")
    assert said(row)[1] == ("Bo", "Good.\nWhen?\n- Friday (3 votes)")
    assert row["remarks"] == ["1 attachment", "1 system line"]


@pytest.mark.parametrize(
    "written",
    [
        "Tuesday, January 9, 2024 at 10:05:07\u202fPM UTC", "Dienstag, 9. Januar 2024 um 22:05:07 UTC",
        "mardi 9 janvier 2024 à 22:05:07 UTC", "mar. 9 janv. 2024, 22:05:07 UTC",
        "mardi 9 janvier 2024 22 h 05 min 07 s UTC",
        "martes, 9 de enero de 2024, 22:05:07 UTC", "terça-feira, 9 de janeiro de 2024 às 22:05:07 UTC",
        "martedì 9 gennaio 2024 alle ore 22:05:07 UTC", "dinsdag 9 januari 2024 om 22:05:07 UTC",
        "tisdag 9 januari 2024 kl. 22:05:07 UTC", "tirsdag den 9. januar 2024 kl. 22.05.07 UTC",
        "tiistai 9. tammikuuta 2024 klo 22.05.07 UTC", "wtorek, 9 stycznia 2024 22:05:07 UTC",
        "úterý 9. ledna 2024 v 22:05:07 UTC", "2024. január 9., kedd 22:05:07 UTC",
        "marți, 9 ianuarie 2024 la 22:05:07 UTC",
        "вторник, 9 января 2024 г. в 22:05:07 UTC", "вівторок, 9 січня 2024 р. о 22:05:07 UTC",
        "9 Ocak 2024 Salı 22:05:07 UTC", "Τρίτη 9 Ιανουαρίου 2024 στις 10:05:07 μ.μ. UTC",
        "2024年1月9日火曜日 22:05:07 UTC", "2024年1月9日星期二 UTC 22:05:07",
        "2024년 1월 9일 화요일 오후 10시 05분 07초 UTC",
        "22:05:07 UTC Thứ Ba, 9 tháng 1, 2024", "วันอังคารที่ 9 มกราคม พุทธศักราช 2567 22:05:07 UTC",
        "الثلاثاء، ٩ يناير ٢٠٢٤ ١٠:٠٥:٠٧ م UTC", "יום שלישי, 9 בינואר 2024 בשעה 22:05:07 UTC",
        "मंगलवार, 9 जनवरी 2024, 10:05:07 pm UTC", "Selasa, 09 Januari 2024 pukul 22.05.07 UTC",
        "utorak, 9. siječnja 2024. u 22:05:07 UTC", "Tuesday 9 January 2024 at 23:05:07 UTC+1",
    ],
)  # fmt: skip
def test_days_are_read_in_the_words_of_every_language(written: str) -> None:
    assert written_moment(written, UTC) == datetime(2024, 1, 9, 22, 5, 7, tzinfo=UTC)


@pytest.mark.parametrize("written", ["soon", "9 of 2024", "January 2024", "99 January 2024", "9 Smarch 2024", ""])
def test_what_is_no_day_is_none(written: str) -> None:
    assert written_moment(written, UTC) is None


@pytest.mark.parametrize(
    ("text", "kept", "loss"),
    [
        ('{"m": [{"a": 1}, {"a": oops}, {"a": 3}]}', {"m": [{"a": 1}, None, {"a": 3}]}, "Expecting value in line 1"),
        ('{"m": [{"a": 1}, {"a": {"b": oops}, "c": 2}]}', {"m": [{"a": 1}, {"a": None, "c": 2}]}, "Expecting value"),
        ('{"m": [{"a": 1},\n{"a" 2}, {"b": 3}, {"c" 4}]}', {"m": [{"a": 1}, None, {"b": 3}, None]}, "in line 2"),
        ('{"m": [{"a": 1}, {"a": "cut he', {"m": [{"a": 1}, {}]}, "nothing after it is read"),
        ('{"m": [{"a": "one\nline"}]} and more', {"m": [{"a": "one\nline"}]}, "what follows the end"),
        ('{"m": [1]}\0\0', {"m": [1]}, None),
    ],
)
def test_a_broken_text_costs_only_the_record_in_which_it_is(text: str, kept: object, loss: str | None) -> None:
    losses: list[str] = []
    assert value_of(text, losses) == kept
    assert (loss is None and losses == []) or (loss is not None and loss in losses[0])


def test_a_list_with_a_broken_element_is_read_to_its_end(tmp_path: Path) -> None:
    turns = {"a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Why?"]}}}}
    one_of = [json.dumps({"id": f"c{number}", "title": "T", "mapping": turns}) for number in range(4)]
    one_of[1] = one_of[1].replace('"T"', "oops")
    one_of[3] = one_of[3][:-20]
    (tmp_path / "conversations.json").write_text(f"[{', '.join(one_of)}")
    rows, bad = read_back(tmp_path)
    assert [row["session_id"] for row in rows] == ["c0", "c2"]
    assert bad[0] == "conversations.json: element 2: not JSON: Expecting value"
    assert bad[1].startswith("conversations.json: element 4: not JSON")


THREE = ['{"a": 1}', '{"a": 2}', '{"a": 3}']


@pytest.mark.parametrize("stray", ["}", "},", ", }, ", "}}", ":", "{", "[", "]", '"', "\\", "x", "-", "\0", "}}}}}}"])
@pytest.mark.parametrize("place", range(4))
def test_a_stray_token_in_a_list_is_passed_by(tmp_path: Path, place: int, stray: str) -> None:
    text = f"[{', '.join([*THREE[:place], stray, *THREE[place:]])}]"
    (tmp_path / "a.json").write_text(text)
    for found in (records_in(text), list(islice(elements_of(tmp_path / "a.json"), 50))):
        assert len(found) < 50
        objects = [each for each in found if isinstance(each, dict)]
        assert objects[:place] == [{"a": number + 1} for number in range(place)]
        if "}" in stray:
            assert objects == [{"a": 1}, {"a": 2}, {"a": 3}]
