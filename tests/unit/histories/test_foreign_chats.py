"""Exports of further programs: chats of people and of models, in the shapes that they document, made here."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from querymill_histories.files import head_of
from querymill_histories.finding import find, format_of, why_unknown
from querymill_histories.formats import FORMATS
from querymill_histories.formats.messenger import in_utf8
from querymill_histories.session import Head
from tests.fixtures.histories import claude_line, one, read_back, said, write_json, write_lines

Row = dict[str, Any]


def deepseek(*fragments: tuple[str, str], **more: Any) -> Row:
    """Return a conversation of DeepSeek in which each fragment is a message."""
    nodes: Row = {"root": {"id": "root", "parent": None, "children": ["1"], "message": None}}
    for number, (kind, text) in enumerate(fragments, 1):
        nodes[str(number)] = {
            "id": str(number), "parent": "root" if number == 1 else str(number - 1),
            "children": [str(number + 1)] if number < len(fragments) else [],
            "message": {"files": [], "model": "deepseek-chat", "inserted_at": "2025-03-02T09:15:01.123000+08:00",
                        "fragments": [{"type": "THINK", "content": "hm"}, {"type": kind, "content": text}]},
        }  # fmt: skip
    return {"id": "d1", "title": "Tides", "inserted_at": "2025-03-02T09:15:01+08:00", "mapping": nodes, **more}


def open_webui() -> Row:
    messages = {
        "a": {"id": "a", "parentId": None, "childrenIds": ["b", "c"], "role": "user", "content": "Why?",
            "timestamp": 1714980000},
        "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "Old.",
            "timestamp": 1714980001},
        "c": {"id": "c", "parentId": "a", "childrenIds": [], "role": "assistant", "timestamp": 1714980002,
              "content": '<details type="reasoning" done="true"><summary>Thought</summary>\n&gt; hm\n</details>\nNew.'},
    }  # fmt: skip
    return {"id": "w1", "user_id": "u", "title": "Winch", "created_at": 1714980000, "chat": {
        "title": "Winch", "models": ["llama3"], "history": {"messages": messages, "currentId": "c"},
        "messages": [messages["a"], messages["c"]]}}  # fmt: skip


def librechat(*, is_tree: bool) -> Row:
    root = "00000000-0000-0000-0000-000000000000"
    answer = {"messageId": "b", "parentMessageId": "a", "sender": "GPT-4", "isCreatedByUser": False, "text": "",
              "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "Because."}},
                          {"type": "tool_call", "tool_call": {"name": "search", "args": "{}",
                              "output": "x"}}]}  # fmt: skip
    asked = {"messageId": "a", "parentMessageId": root, "sender": "User", "isCreatedByUser": True, "text": "Why?",
             "createdAt": "2024-05-06T09:00:00.000Z"}  # fmt: skip
    messages = [{**asked, "children": [answer]}] if is_tree else [asked, answer]
    return {"conversationId": "l1", "endpoint": "openAI", "title": "Winch", "branches": True, "recursive": is_tree,
            "options": {"model": "gpt-4"}, "messages": messages}  # fmt: skip


def messenger() -> Row:
    return {
        "participants": [{"name": "Ada LÃ¸nd"}, {"name": "Bo"}],
        "messages": [
            {"sender_name": "Bo", "timestamp_ms": 1714980004000, "photos": [{"uri": "a.jpg"}]},
            {"sender_name": "Bo", "timestamp_ms": 1714980003000, "content": "look",
                "share": {"link": "https://a.example"}},
            {"sender_name": "Bo", "timestamp_ms": 1714980002000, "is_unsent": True},
            {"sender_name": "Ada LÃ¸nd", "timestamp_ms": 1714980001000, "content": "GrÃ¼Ã\x9fe ð\x9f\x99\x82"},
        ],
        "title": "Ada LÃ¸nd", "is_still_participant": True, "thread_path": "inbox/ada_1", "magic_words": [],
    }  # fmt: skip


def google_chat() -> Row:
    ada = {"name": "Ada Lund", "email": "ada@example.org", "user_type": "Human"}
    return {"messages": [
        {"creator": ada, "created_date": "Monday, May 6, 2024 at 9:00:00\u202fPM UTC", "text": "hi", "topic_id": "t",
         "message_id": "s/t/1"},
        {"creator": ada, "created_date": "Monday, 6 May 2024 at 21:01:00 UTC", "message_state": "DELETED",
            "topic_id": "t",
         "message_id": "s/t/2"},
        {"creator": ada, "created_date": "Monday, May 6, 2024 at 9:02:00 PM UTC", "topic_id": "t",
            "message_id": "s/t/3",
         "attached_files": [{"original_name": "a.png", "export_name": "File-a.png"}]},
    ]}  # fmt: skip


def event(number: int, kind: str, content: Row, **more: Any) -> Row:
    return {"type": kind, "sender": "@ada:a.example", "origin_server_ts": 1714980000000 + number * 1000,
        "room_id": "!r:a",
            "event_id": f"$e{number}", "content": content, **more}  # fmt: skip


def matrix() -> Row:
    edit = {"msgtype": "m.text", "body": "* at ten", "m.new_content": {"msgtype": "m.text", "body": "at ten"},
            "m.relates_to": {"rel_type": "m.replace", "event_id": "$e2"}}  # fmt: skip
    poll = {
        "kind": "m.poll.disclosed",
        "question": {"body": "When?"},
        "answers": [{"id": "1", "org.matrix.msc1767.text": "Now"}],
    }
    return {"room_name": "Harbour", "room_creator": "@ada:a.example", "topic": "boats", "export_date": "06/05/2024",
            "exported_by": "@ada:a.example", "messages": [
        event(1, "m.room.member", {"membership": "join", "displayname": "Ada"}, state_key="@ada:a.example"),
        event(2, "m.room.message", {"msgtype": "m.text", "body": "at nine"}),
        event(3, "m.room.message", edit),
        event(4, "m.room.message", {"msgtype": "m.image", "body": "a.jpg"}),
        event(5, "m.room.message", {"msgtype": "m.image", "body": "the weld", "filename": "b.jpg"}),
        event(6, "m.room.message", {}, unsigned={"redacted_because": {}}),
        event(7, "m.room.encrypted", {"ciphertext": "x"}),
        event(8, "m.room.message", {"msgtype": "m.text", "body": "> <@bo:a.example> Why?\n> Now?\n\nBecause."}),
        event(9, "org.matrix.msc3381.poll.start", {"org.matrix.msc3381.poll.start": poll}),
    ]}  # fmt: skip


REALM: Row = {
    "zerver_userprofile": [{"id": 1, "full_name": "Ada"}, {"id": 2, "full_name": "Bo"}],
    "zerver_stream": [{"id": 7, "name": "harbour"}],
    "zerver_recipient": [{"id": 70, "type": 2, "type_id": 7}, {"id": 10, "type": 1, "type_id": 1}, {"id": 20,
        "type": 1, "type_id": 2}],
}  # fmt: skip


def zulip() -> Row:
    def row(id_: int, sender: int, recipient: int, subject: str, content: str) -> Row:
        return {"id": id_, "sender": sender, "recipient": recipient, "subject": subject, "content": content,
                "date_sent": 1714980000.0 + id_}  # fmt: skip

    return {"zerver_message": [row(1, 1, 70, "winch", "Why?"), row(2, 1, 20, "", "psst"), row(3, 2, 70, "winch", "So."),
                               row(4, 2, 10, "", "what?")], "zerver_usermessage": []}  # fmt: skip


CHATGPT = {
    "title": "Ferries",
    "conversation_id": "c1",
    "create_time": 1700000000.0,
    "current_node": "a",
    "mapping": {
        "a": {
            "id": "a",
            "message": {"id": "a", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}},
        }
    },
}
CLAUDE = {"uuid": "u", "name": "n", "chat_messages": [{"uuid": "m", "sender": "human", "text": "Hi", "content": []}]}
TELEGRAM = {
    "name": "Bo",
    "type": "personal_chat",
    "id": 7,
    "messages": [
        {"id": 1, "type": "message", "date_unixtime": "1652138769", "from": "Ada", "from_id": "user1", "text": "Hi"}
    ],
}
DISCORD = {
    "guild": {"id": "7", "name": "S"},
    "channel": {"id": "9", "name": "g"},
    "messages": [
        {
            "id": "1",
            "type": "Default",
            "timestamp": "2023-01-06T14:03:03+00:00",
            "content": "Hi",
            "author": {"name": "ada"},
        }
    ],
}
SLACK = [{"type": "message", "user": "U01", "text": "Hi", "ts": "1714980000.000100"}]
ROLES: list[Row] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]

#: A file of each format, by its name and that of the format.
FILES: dict[tuple[str, str], Any] = {
    ("chatgpt", "conversations.json"): [CHATGPT],
    ("deepseek", "conversations.json"): [deepseek(("REQUEST", "Why?"), ("RESPONSE", "So."))],
    ("claude", "conversations.json"): [CLAUDE],
    ("open-webui", "chat-export.json"): [open_webui()],
    ("librechat", "Winch.json"): librechat(is_tree=True),
    ("messenger", "message_1.json"): messenger(),
    ("google-chat", "messages.json"): google_chat(),
    ("matrix", "export.json"): matrix(),
    ("zulip", "messages-000001.json"): zulip(),
    ("telegram", "result.json"): TELEGRAM,
    ("discord", "s.json"): DISCORD,
    ("slack", "2024-05-06.json"): SLACK,
    ("openai", "list.json"): ROLES,
    ("openai", "requests.json"): {"model": "m", "messages": ROLES},
}


@pytest.mark.parametrize(("name", "file"), FILES)
def test_a_format_is_recognised_by_its_structure_and_by_no_other(tmp_path: Path, name: str, file: str) -> None:
    for indent in (None, 2):
        path = tmp_path / file
        path.write_text(json.dumps(FILES[name, file], indent=indent), encoding="utf-8")
        assert [known.name for known in FORMATS if known.recognise(head_of(path))] == [name]


@pytest.mark.parametrize(
    ("name", "file"),
    [key for key, value in FILES.items() if isinstance(value, list) and key[0] not in ("slack", "openai")],
)
def test_a_first_record_that_is_broken_costs_only_itself(tmp_path: Path, name: str, file: str) -> None:
    path = write_json(tmp_path / file, [{"a": 1}, None, *FILES[name, file]])
    assert [known.name for known in FORMATS if known.recognise(head_of(path))] == [name]
    rows, bad = read_back(path)
    assert (len(rows), len(bad)) == (1, 2)


def test_our_own_lines_and_lines_of_assistants_are_not_those_of_the_providers() -> None:
    for text in (
        '{"session_id": "1", "started_at": "2026-01-01", "messages": [{"role": "user", "text": "Why?"}]}\n',
        '{"type": "item", "role": "clerk", "content": "x"}', '{"messages": []}', '{"role": "admin", "content": "x"}',
    ):  # fmt: skip
        assert format_of(Head(Path("a.jsonl"), text.encode())) is None


def test_deepseek_reads_questions_and_answers_and_counts_thoughts(tmp_path: Path) -> None:
    row = one(
        write_json(
            tmp_path / "conversations.json", [deepseek(("REQUEST", "Why?"), ("RESPONSE", "So."), ("NOVELTY", "x"))]
        )
    )
    assert (said(row), row["name"]) == ([("user", "Why?"), ("assistant", "So.")], "Tides")
    assert row["remarks"] == ["3 hidden thoughts", "1 part of the kind 'NOVELTY'"]


def test_deepseek_of_the_first_exports_has_texts_in_turn(tmp_path: Path) -> None:
    whole = deepseek(("REQUEST", "-"), ("RESPONSE", "-"))
    for node, text in (("1", "Why?"), ("2", "So.")):
        whole["mapping"][node]["message"] = {"content": text, "model": "deepseek-chat", "inserted_at": None}
    assert said(one(write_json(tmp_path / "c.json", [whole]))) == [("user", "Why?"), ("assistant", "So.")]


def test_open_webui_shows_the_branch_of_the_page_without_what_it_folds(tmp_path: Path) -> None:
    row = one(write_json(tmp_path / "a.json", [open_webui()]))
    assert said(row) == [("user", "Why?"), ("assistant", "New.")]
    assert row["remarks"] == ["1 hidden thought", "1 message on branches that were left"]
    old = open_webui()
    del old["chat"]["history"]
    assert said(one(write_json(tmp_path / "a.json", [old]))) == said(row)


@pytest.mark.parametrize("is_tree", [True, False])
def test_librechat_reads_lists_and_trees(tmp_path: Path, *, is_tree: bool) -> None:
    row = one(write_json(tmp_path / "a.json", librechat(is_tree=is_tree)))
    assert said(row) == [("user", "Why?"), ("assistant", "Because.")]
    assert (row["session_id"], row["models"], row["remarks"]) == ("l1", ["gpt-4"], ["1 hidden thought"])


def test_messenger_is_put_right_joined_and_in_the_order_of_time(tmp_path: Path) -> None:
    write_json(tmp_path / "ada_1" / "message_1.json", messenger())
    older = [{"sender_name": "Bo", "timestamp_ms": 1714900000000, "content": "first"}]
    write_json(tmp_path / "ada_1" / "message_2.json", messenger() | {"messages": older})
    row = one(tmp_path)
    assert said(row) == [("Bo", "first"), ("Ada Lønd", "Grüße 🙂"), ("Bo", "look\nhttps://a.example")]
    assert (row["name"], row["remarks"]) == ("Ada Lønd", ["1 attachment", "1 deleted message"])
    assert in_utf8("Grüße") == "Grüße", "a text that is right stays"


def test_messengers_own_export_is_utf8(tmp_path: Path) -> None:
    thread = {"participants": ["Ada", "Bo"], "threadName": "Bo_1", "messages": [
        {"senderName": "Ada", "text": "Grüße", "timestamp": 1714980000000, "type": "text", "isUnsent": False,
            "media": []},
        {"senderName": "Bo", "text": "", "timestamp": 1714980001000, "type": "media",
            "media": [{"uri": "a"}]}]}  # fmt: skip
    assert said(one(write_json(tmp_path / "Bo_1.json", thread))) == [("Ada", "Grüße")]


def test_google_chat_reads_english_dates_and_says_what_is_deleted(tmp_path: Path) -> None:
    write_json(tmp_path / "DM 1" / "messages.json", google_chat())
    write_json(tmp_path / "DM 1" / "group_info.json", {"name": "Harbour", "members": [{"name": "Ada Lund"}]})
    row = one(tmp_path)
    assert (said(row), row["name"]) == ([("Ada Lund", "hi")], "Harbour")
    assert row["messages"][0]["created_at"] == datetime(2024, 5, 6, 21, tzinfo=UTC)
    assert row["remarks"] == ["1 attachment", "1 deleted message"]


def test_matrix_reads_edits_captions_answers_and_polls(tmp_path: Path) -> None:
    row = one(write_json(tmp_path / "export.json", matrix()))
    assert said(row) == [("Ada", "at ten"), ("Ada", "the weld"), ("Ada", "Because."), ("Ada", "When?\n- Now")]
    assert (row["session_id"], row["name"], row["topic"]) == ("!r:a", "Harbour", "boats")
    assert row["remarks"] == [
        "2 attachments",
        "1 deleted message",
        "1 message that could not be decrypted",
        "1 system line",
    ]


def test_zulip_makes_a_session_of_each_topic_and_chat_of_two(tmp_path: Path) -> None:
    write_json(tmp_path / "realm.json", REALM)
    write_json(tmp_path / "messages-000001.json", zulip())
    rows, bad = read_back(tmp_path)
    assert bad == []
    assert {row["name"]: said(row) for row in rows} == {
        "harbour > winch": [("Ada", "Why?"), ("Bo", "So.")],
        "Ada, Bo": [("Ada", "psst"), ("Bo", "what?")],
    }
    told = {
        "id": 5,
        "sender_full_name": "Ada",
        "display_recipient": "harbour",
        "subject": "winch",
        "content": "Hi",
        "timestamp": 1714980000,
    }
    assert (
        one(write_json(tmp_path / "api" / "a.json", {"result": "success", "messages": [told]}))["name"]
        == "harbour > winch"
    )


PARTS: list[Row] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url",
        "image_url": {"url": "x"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "t", "type": "function", "function": {"name": "look", "arguments": '{"path": "a"}'}}]},
    {"role": "tool", "tool_call_id": "t", "content": "a boat"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A boat."}]},
]  # fmt: skip


@pytest.mark.parametrize("form", ["list", "lines", "request", "line of conversations", "log"])
def test_messages_in_the_shape_of_the_providers_are_read(tmp_path: Path, form: str) -> None:
    path = tmp_path / "chat.jsonl"
    match form:
        case "list":
            write_json(path, PARTS)
        case "lines":
            write_lines(path, PARTS)
        case "request":
            write_json(path, {"model": "m", "messages": PARTS})
        case "log":
            answer = {"choices": [{"message": PARTS[-1]}]}
            write_json(path, {"request": {"messages": PARTS[:-1]}, "response": answer})
        case _:
            write_lines(path, [{"messages": PARTS}])
    row = one(path, tools="summary")
    assert said(row) == [("user", "What is it?"), ("tool", "[look] a"), ("assistant", "A boat.")]
    assert row["remarks"] == ["1 attachment", "1 hidden thought", "1 instruction of the system"]


def test_a_broken_line_of_messages_costs_only_itself(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"messages": ROLES}, {"messages": ROLES}])
    path.write_text('{"messages": [{"role": "us\n' + path.read_text() + '{"note": 1}\n')
    rows, bad = read_back(path)
    assert ([said(row) for row in rows], len(bad)) == ([[("user", "Hi"), ("assistant", "Ho")]] * 2, 2)
    assert len({row["session_id"] for row in rows}) == 2


def test_conversations_of_training_sets_are_read(tmp_path: Path) -> None:
    shared = [{"id": "s1", "conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "So."}]}]
    assert said(one(write_json(tmp_path / "sharegpt.json", shared))) == [("user", "Why?"), ("assistant", "So.")]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", '{"forecast": [], "port": 1}', "fields are those of no format: forecast, port"),
        ("a.json", "[1, 2]", "JSON without an object"),
        ("a.txt", "A list of boats", "text whose beginning is that of no chat"),
        ("a.txt", "", "nothing is in it"),
        ("a.png", "\x89PNG\0\0", "no text"),
    ],
)
def test_a_file_that_is_not_understood_says_what_it_is(tmp_path: Path, name: str, text: str, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode("latin-1"))
    assert find([path]).unknown == [path]
    assert why in why_unknown(path)
    assert f"formats tried: {len(FORMATS)}" in why_unknown(path)


def test_lines_of_claude_code_stay_its_own(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s1.jsonl", [claude_line("user", "u1", None, "Why?")])
    assert [known.name for known in FORMATS if known.recognise(head_of(path))] == ["claude-code"]
