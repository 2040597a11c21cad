"""Channels of Discord as CSV and as web pages, made here in the shape in which the exporter writes them."""

from pathlib import Path

from tests.fixtures.histories import one, said, write_json

NAME = "Boats - Text - harbour [1012224565567721552]"
CSV = """AuthorID,Author,Date,Content,Attachments,Reactions
"1","ann#1234","{0}","the ""oak"" boat

is tarred","",""
"2","bo","{1}","Joined the server.","",""
"2","bo","{1}","","http://boats.example/a.png",""
"2","bo","{1}","a fine, dry boat","","oar (2)"
"""
PAGE = """<!DOCTYPE html>
<html><head><title>Boats - harbour</title><style>.chatlog__message {{ margin: 0 }}</style></head><body>
<div class="preamble"><img class="preamble__guild-icon" src="x"><div class="preamble__entry">Boats</div>
<div class="preamble__entry">Text / harbour</div></div>
<div class="chatlog"><div class="chatlog__message-group">
<div class="chatlog__message-container" data-message-id="{first}"><div class="chatlog__message">
<div class="chatlog__reply"><div class="chatlog__reply-author">bo</div>
<div class="chatlog__reply-content">old</div></div>
<div class="chatlog__header"><span class="chatlog__author" title="ann#1234">Ann</span></div>
<div class="chatlog__content chatlog__markdown"><span class="chatlog__markdown-preserve">the <b>oak</b> boat<br>is
tarred <img class="chatlog__emoji" alt="⛵" src="x"></span><span class="chatlog__edited-timestamp">(edited)</span></div>
<div class="chatlog__embed"><div class="chatlog__embed-description chatlog__markdown">a card</div></div>
</div></div>
<div class="chatlog__message-container" data-message-id="{second}"><div class="chatlog__message">
<div class="chatlog__content chatlog__markdown"><span class="chatlog__markdown-preserve">5 &lt; 6</span></div>
</div></div></div></div></body></html>
"""
#: The ids of messages of 6 January 2023, 14:03:03.853 and 14:03:04.853, UTC.
FIRST, SECOND = (252_943_383_853 << 22) + 7, (252_943_384_853 << 22) + 9


def test_a_channel_as_csv(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.csv"
    path.write_text(CSV.format("2023-01-06T14:03:03.8530000+00:00", "2023-01-06T14:05:00.0000000+00:00"))
    row = one(path)
    assert said(row) == [("ann", 'the "oak" boat\n\nis tarred'), ("bo", "a fine, dry boat")]
    assert (row["session_id"], row["name"]) == ("1012224565567721552", "harbour (Boats)")
    times = [message["created_at"].isoformat() for message in row["messages"]]
    assert times == ["2023-01-06T14:03:03.853000+00:00", "2023-01-06T14:05:00+00:00"]
    assert [message["line"] for message in row["messages"]] == [2, 7]


def test_the_dates_of_a_csv_are_those_of_a_locale(tmp_path: Path) -> None:
    for dates, time in (
        (("1/13/2023 2:03 PM", "1/13/2023 2:05 PM"), "2023-01-13T14:03:00+00:00"),
        (("13.01.2023 14:03", "13.01.2023 14:05"), "2023-01-13T14:03:00+00:00"),
        (("13-Jan-23 02:03 PM", "13-Jan-23 02:05 PM"), "2023-01-13T14:03:00+00:00"),
    ):
        path = tmp_path / f"{NAME}.csv"
        path.write_text(CSV.format(*dates))
        assert one(path)["messages"][0]["created_at"].isoformat() == time


def test_a_channel_as_a_web_page(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.html"
    path.write_text(PAGE.format(first=FIRST, second=SECOND), encoding="utf-8")
    row = one(path)
    assert said(row) == [("Ann", "the oak boat\nis\ntarred ⛵"), ("Ann", "5 < 6")]
    assert (row["session_id"], row["name"]) == ("1012224565567721552", "harbour (Boats)")
    assert [message["message_id"] for message in row["messages"]] == [str(FIRST), str(SECOND)]
    assert row["messages"][0]["created_at"].isoformat() == "2023-01-06T14:03:03.853000+00:00"


def test_a_channel_in_several_forms_is_read_once(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.csv").write_text(CSV.format("2023-01-06T14:03:03Z", "2023-01-06T14:05:00Z"))
    message = {
        "id": "9",
        "type": "Default",
        "timestamp": "2023-01-06T14:03:03Z",
        "content": "hi",
        "author": {"name": "a"},
    }
    whole = {"guild": {"id": "7", "name": "Boats"}, "channel": {"id": "1012224565567721552", "name": "harbour"}}
    write_json(tmp_path / f"{NAME}.json", whole | {"messages": [message]})
    assert said(one(tmp_path)) == [("a", "hi")]
