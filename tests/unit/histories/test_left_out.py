"""What chats hold beside texts: captions, polls, cards, attachments and lines of the program, read or counted."""

import json
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from querymill.ingesting.sources.histories import unpacked
from querymill_histories.formats.slack_blocks import text_of
from querymill_histories.rules.polls import of_poll
from querymill_histories.rules.remarks import quantity
from tests.fixtures.histories import one, read_back, said, write_json

LEFT = "\u200e"


def whatsapp(folder: Path, *lines: str) -> Path:
    path = folder / "WhatsApp Chat with Names.txt"
    path.write_text(
        "".join(f"13/06/18, 21:{25 + number} - {line}\n" for number, line in enumerate(lines)), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("author", ['Ada "Captain" Lund', "Bo “the rope” Berg", "«Mum»", "「港」さん", "O'Neil (work)"])
def test_an_author_is_whatever_stands_before_the_colon(tmp_path: Path, author: str) -> None:
    path = whatsapp(tmp_path, f"{author}: The winch is repaired.", "Mum: home: Dinner is at eight.")
    assert said(one(path)) == [(author, "The winch is repaired."), ("Mum", "home: Dinner is at eight.")]


def test_a_quotation_that_is_open_at_the_colon_is_of_whatsapp_unless_it_speaks_again(tmp_path: Path) -> None:
    lines = [
        'Bo 6": one',
        'Ada created group "tea: at five"',
        "Ada: hi",
        'Bo 6": two',
        'Ada changed it from "a" to "b: c"',
    ]
    row = one(whatsapp(tmp_path, *lines))
    assert said(row) == [('Bo 6"', "one"), ("Ada", "hi"), ('Bo 6"', "two")]
    assert row["remarks"] == ["2 system lines"]


def test_polls_of_whatsapp_are_messages_and_what_was_sent_is_counted(tmp_path: Path) -> None:
    row = one(whatsapp(
        tmp_path,
            f"Ada: {LEFT}POLL:\nWhen?\n{LEFT}OPTION: Friday ({LEFT}2 votes)\n{LEFT}OPTION: Sunday ({LEFT}0 votes)",
        "Ada: IMG-20201209-WA0001.jpg (file attached)\nthe weld", "Ada: IMG-20201209-WA0002.jpg (file attached)",
        "Ada: This message was deleted", "Ada added Bo",
    ))  # fmt: skip
    assert [text for _, text in said(row)] == [
        "POLL:\nWhen?\nOPTION: Friday (2 votes)\nOPTION: Sunday (0 votes)", "the weld"
    ]  # fmt: skip
    assert row["remarks"] == ["2 attachments", "1 message without a text", "1 system line"]


@pytest.mark.parametrize(
    ("start", "hour"),
    [("9/12/20 ÖS 11:55 - ", 23), ("9/12/20, 11:55 अपराह्न - ", 23), ("9/12/2563 11:55 หลังเที่ยง - ", 23),
     ("2020. 12. 09. du. 11:55 - ", 23), ("9.12.2020, 11:55 לפנה״צ - ", 11), ("9/12/20, 11:55 fm - ", 11)],
)  # fmt: skip
def test_halves_of_the_day_in_further_languages(tmp_path: Path, start: str, hour: int) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"{start}Ann: hi\n{start}Ann: ho\n", encoding="utf-8")
    assert one(path)["messages"][0]["created_at"].hour == hour


def slack(folder: Path, *rows: dict[str, Any], channel: str = "技術-港") -> Path:
    users = [{"id": "U01", "name": "ada", "profile": {"display_name": "Ada"}}]
    write_json(folder / "users.json", users)
    write_json(folder / "channels.json", [{"id": "C01", "name": channel}])
    whole = [{"type": "message", "ts": f"171498000{number}.000100", **row} for number, row in enumerate(rows)]
    write_json(folder / channel / "2024-05-06.json", whole)
    return folder


class Named(zipfile.ZipInfo):
    """A member whose name is written as another program writes it: in an encoding, marked as UTF-8 or not."""

    encoding = "utf-8"
    is_marked = False
    separator = "/"

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:  # noqa: N802  # the name of the standard library
        name = self.filename.replace("/", self.separator).encode(self.encoding)
        return name, self.flag_bits | 0x800 if self.is_marked else self.flag_bits & ~0x800


@pytest.mark.parametrize(
    ("channel", "encoding", "is_marked", "separator"),
    [
        ("技術-港", "utf-8", False, "/"),
        ("技術-港", "utf-8", True, "/"),
        ("技術-港", "utf-8", True, "\\"),  # by programs of Windows
        ("überfahrt", "cp437", False, "/"),
        ("гавань", "utf-8", False, "/"),
    ],
)
def test_a_zip_of_slack_has_the_names_of_its_channels(
    tmp_path: Path, channel: str, encoding: str, is_marked: bool, separator: str
) -> None:
    slack(tmp_path / "export", {"user": "U01", "text": "波"}, channel=channel)
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for path in sorted((tmp_path / "export").rglob("*.json")):
            member = Named(str(path.relative_to(tmp_path / "export")))
            member.create_system = 0 if separator == "\\" else 3
            member.encoding, member.is_marked, member.separator = encoding, is_marked, separator
            archive.writestr(member, path.read_bytes())
    shutil.rmtree(tmp_path / "export")
    assert unpacked(tmp_path / "export.zip", tmp_path / "out") == []
    row = one(tmp_path / "out")
    assert (row["session_id"], row["name"], said(row)) == ("C01", channel, [("Ada", "波")])


def test_slack_reads_blocks_bots_and_cards_and_counts_the_rest(tmp_path: Path) -> None:
    rich = {"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [
            {"type": "text", "text": "See "}, {"type": "link", "url": "https://a.example", "text": "this"},
            {"type": "user", "user_id": "U01"}, {"type": "emoji", "name": "wave"}]},
        {"type": "rich_text_list", "style": "bullet", "elements": [
            {"type": "rich_text_section", "elements": [{"type": "text", "text": "rope"}]},
            {"type": "rich_text_section", "elements": [{"type": "text", "text": "tar"}]}]}]}  # fmt: skip
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "*Deployed* to <https://b.example|b>"},
               "fields": [{"type": "mrkdwn", "text": "Version: 2"}]}  # fmt: skip
    row = one(slack(
        tmp_path,
        {"user": "U01", "text": "", "blocks": [rich]},
        {"subtype": "bot_message", "bot_id": "B1", "username": "Deploy", "text": "", "blocks": [section]},
        {"bot_id": "B2", "user": "U9", "bot_profile": {"name": "Watch"}, "text": "",
         "attachments": [{"pretext": "Alarm", "title": "Pump", "text": "stopped", "fields": [{"title": "Level",
             "value": "9"}]}]},
        {"user": "U01", "text": "https://c.example",
         "attachments": [{"from_url": "https://c.example", "title": "A page", "text": "of others"}]},
        {"user": "U01", "text": "", "files": [{"id": "F1"}]},
        {"user": "U01", "subtype": "channel_join", "text": "<@U01> has joined"},
        {"user": "U01", "text": ""},
    ))  # fmt: skip
    assert said(row) == [
        ("Ada", "See this (https://a.example)@Ada:wave:\n- rope\n- tar"),
        ("Deploy", "*Deployed* to https://b.example\nVersion: 2"),
        ("Watch", "Alarm\nPump\nstopped\nLevel: 9"),
        ("Ada", "https://c.example"),
    ]
    assert row["remarks"] == [
        "1 attachment", "1 link preview", "1 message without a text", "1 system line"]  # fmt: skip


def test_telegram_reads_captions_and_polls_and_counts_the_rest(tmp_path: Path) -> None:
    head = {"type": "message", "date_unixtime": "1652138769", "from": "Ada", "from_id": "user1"}
    poll = {
        "question": "When?",
        "closed": False,
        "total_voters": 3,
        "answers": [{"text": "Friday", "voters": 3, "chosen": True}],
    }
    row = one(write_json(tmp_path / "result.json", {"name": "Bo", "type": "personal_chat", "id": 7, "messages": [
        {"id": 1, **head, "text": "the weld", "photo": "photos/a.jpg"}, {"id": 2, **head, "text": "", "file": "a.pdf"},
        {"id": 3, **head, "text": "", "poll": poll}, {"id": 4, **head, "text": ""},
        {"id": 5, "type": "service", "action": "pin_message", "actor_id": "user1", "text": ""},
        {"id": 6, **head, "from": None, "text": "gone", "edited_unixtime": "1652138999"},
    ]}))  # fmt: skip
    assert said(row) == [("Ada", "the weld"), ("Ada", "When?\n- Friday (3)"), ("user1", "gone")]
    assert row["remarks"] == ["2 attachments", "1 message without a text", "1 system line"]


def test_discord_reads_cards_forwards_and_polls_and_counts_the_rest(tmp_path: Path) -> None:
    def message(id_: str, **more: Any) -> dict[str, Any]:
        return {"id": id_, "type": "Default", "timestamp": "2023-01-06T14:03:03+00:00", "content": "",
                "author": {"name": "ada"}, **more}  # fmt: skip

    card = {"title": "Build 7", "description": "failed", "fields": [{"name": "Step", "value": "lint"}]}
    poll = {"question": {"text": "When?"}, "answers": [{"poll_media": {"text": "Now"}, "count": 2}]}
    row = one(write_json(tmp_path / "a.json", {
        "guild": {"id": "7", "name": "S"}, "channel": {"id": "9", "name": "g"}, "messages": [
            message("1", embeds=[card]), message("2", forwardedMessage={"content": "from there"}), message("3",
                poll=poll),
            message("4", attachments=[{"id": "1"}]), message("5", type="GuildMemberJoin", content="Joined."),
                message("6"),
            message("7", content="caption", attachments=[{"id": "2"}]),
        ]}))  # fmt: skip
    assert [text for _, text in said(row)] == [
        "Build 7\nfailed\nStep: lint",
        "from there",
        "When?\n- Now (2)",
        "caption",
    ]
    assert row["remarks"] == ["2 attachments", "1 message without a text", "1 system line"]


def test_claude_reads_what_is_attached_and_documents_beside_the_chat(tmp_path: Path) -> None:
    pasted = {"file_name": "", "extracted_content": "a long text"}
    named = {"file_name": "log.txt", "extracted_content": "line 1"}
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Here."},
        {
            "type": "tool_use",
            "id": "t",
            "name": "artifacts",
            "input": {"command": "create", "title": "Plan", "content": "Sail."},
        },
        {"type": "hologram"},
    ]
    row = one(write_json(tmp_path / "conversations.json", [{"uuid": "c", "name": "n", "chat_messages": [
        {"uuid": "a", "sender": "human", "text": "", "content": [], "attachments": [pasted, named],
         "files": [{"file_name": "log.txt"}, {"file_name": "a.png"}]},
        {"uuid": "b", "sender": "assistant", "text": "", "content": blocks}]}]))  # fmt: skip
    assert said(row) == [
        ("user", "a long text"),
        ("user", "log.txt\n\nline 1"),
        ("assistant", "Here.\n\nPlan\n\nSail."),
    ]
    assert row["remarks"] == ["1 attachment", "1 hidden thought", "1 part of the kind 'hologram'"]


def chatgpt(*messages: dict[str, Any], current: str | None = None, **parents: str) -> dict[str, Any]:
    """Return a conversation of ChatGPT of which each message answers the one before, unless its parent is given."""
    nodes: dict[str, Any] = {}
    for number, message in enumerate(messages):
        id_ = f"n{number}"
        parent = parents.get(id_, f"n{number - 1}" if number else None)
        nodes[id_] = {"id": id_, "parent": parent, "children": [], "message": {"id": id_, **message}}
        if parent in nodes:
            nodes[parent]["children"].append(id_)
    return {
        "title": "Ferries",
        "conversation_id": "c",
        "create_time": 1700000000.0,
        "current_node": current,
        "mapping": nodes,
    }


def turn(role: str, text: str, kind: str = "text", **more: Any) -> dict[str, Any]:
    return {"author": {"role": role}, "content": {"content_type": kind, "parts": [text]}, **more}


def test_chatgpt_reads_research_documents_and_the_shown_branch(tmp_path: Path) -> None:
    report = {"report_message": {"content": {"content_type": "text", "parts": ["# Tides\n\nA report."]}}}
    document = json.dumps({"name": "Plan", "type": "document", "content": "Sail at nine."})
    whole = chatgpt(
        turn("user", "Why?"), turn("assistant", "Old answer."), turn("assistant", "hm", "thoughts"),
        turn("tool", "", metadata={"chatgpt_sdk": {"widget_state": json.dumps(report)},
                                   "is_visually_hidden_from_conversation": True}),
        turn("assistant", document, recipient="canmore.create_textdoc"),
        turn("assistant", "New answer."), current="n5", n2="n0",
    )  # fmt: skip
    row = one(write_json(tmp_path / "conversations.json", [whole]))
    assert [text for _, text in said(row)] == ["Why?", "# Tides\n\nA report.", "Plan\n\nSail at nine.", "New answer."]
    assert row["remarks"] == ["1 hidden thought", "1 message on branches that were left"]


def test_a_report_in_the_words_of_a_tool_is_read_too(tmp_path: Path) -> None:
    told = "The latest state of the widget is: " + json.dumps(
        {"report_message": {"content": {"parts": ["FoundFiles."]}}}
    )
    row = one(write_json(tmp_path / "c.json", [chatgpt(turn("user", "Why?"), turn("tool", told))]))
    assert said(row) == [("user", "Why?"), ("assistant", "FoundFiles.")]


def test_a_tree_whose_way_is_broken_loses_no_message(tmp_path: Path) -> None:
    whole = chatgpt(turn("user", "Why?"), turn("assistant", "Because."), turn("user", "So?"), current="n2", n2="gone")
    assert [text for _, text in said(one(write_json(tmp_path / "c.json", [whole])))] == ["Why?", "Because.", "So?"]


def test_a_session_without_a_message_is_no_document(tmp_path: Path) -> None:
    rows, bad = read_back(
        write_json(tmp_path / "c.json", [chatgpt(turn("system", "-")), chatgpt(turn("user", "Why?"))])
    )
    assert (len(rows), bad) == (1, [])


def test_polls_and_blocks_that_are_odd_break_nothing() -> None:
    assert of_poll("When?", [("Now", None), ("", 3)]) == "When?\n- Now"
    deep: Any = {"type": "section"}
    for _ in range(100):
        deep = {"type": "section", "elements": [deep]}
    assert text_of({"text": None, "blocks": [deep, 7, None], "attachments": "x"}, {}, Counter()) == ""


@pytest.mark.parametrize(
    ("count", "what", "said"),
    [
        (1, "attachments", "1 attachment"),
        (2, "attachments", "2 attachments"),
        (1, "messages without a text", "1 message without a text"),
        (1, "records that are no objects", "1 record that is no object"),
        (1, "texts that are none", "1 text that is none"),
        (1, "messages that were taken back", "1 message that was taken back"),
        (1, "instructions of the system", "1 instruction of the system"),
        (1, "messages of agents among themselves", "1 message of agents among themselves"),
        (1, "commands to the tool", "1 command to the tool"),
        (1, "parts of the kind 'are links'", "1 part of the kind 'are links'"),
    ],
)
def test_one_thing_that_was_left_out_is_said_of_one(count: int, what: str, said: str) -> None:
    assert quantity(count, what) == said
