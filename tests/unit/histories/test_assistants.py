"""Histories of other assistants, each with what is easily mistaken in it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.fixtures.histories import one, read_back, said, write_json, write_lines

IDE = "# Context from my IDE setup:\n\n## Open tabs:\n- a.ts\n\n## My request for Codex:\n"
QUESTION, ANSWER = ("user", "Why?"), ("assistant", "Because.")


def codex_line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-02-01T08:00:05.000Z", "type": kind, "payload": payload}


def test_codex_every_message_stands_twice_and_context_is_injected(tmp_path: Path) -> None:
    meta = {
        "id": "c1",
        "timestamp": "2026-02-01T08:00:00Z",
        "cwd": "/w",
        "git": {"branch": "dev", "repository_url": "r"},
    }
    injected = {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "<environment_context>x"}],
    }
    rows = [
        codex_line("session_meta", meta),
        codex_line("response_item", injected),
        codex_line("turn_context", {"model": "gpt-test"}),
        codex_line("event_msg", {"type": "user_message", "message": f"{IDE}Why?"}),
        codex_line("event_msg", {"type": "agent_reasoning", "text": "hm"}),
        codex_line("event_msg", {"type": "agent_message", "message": "Because."}),
        codex_line("response_item", injected | {"role": "assistant"}),
        codex_line("compacted", {"replacement_history": [injected]}),
    ]  # fmt: skip
    row = one(write_lines(tmp_path / "rollout-2026-c1.jsonl", rows))
    assert said(row) == [QUESTION, ANSWER]
    assert (row["session_id"], row["models"], row["repository"], row["branch"]) == ("c1", ["gpt-test"], "r", "dev")


def test_codex_of_the_first_version_has_bare_items_without_times(tmp_path: Path) -> None:
    items: list[dict[str, Any]] = [
        {"id": "c0", "timestamp": "2025-08-01T08:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Because."}]},
    ]
    row = one(write_lines(tmp_path / "rollout-2025-c0.jsonl", items))
    assert said(row) == [QUESTION, ANSWER]
    assert row["started_at"].isoformat() == "2025-08-01T08:00:00+00:00"


def test_codex_items_that_name_no_type_are_messages(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "c2", "timestamp": "2025-08-01T08:00:00Z"}},
        {"type": "response_item", "payload": {"role": "user", "content": [{"type": "input_text", "text": "Why?"}]}},
        {
            "type": "response_item",
            "payload": {"role": "assistant", "content": [{"type": "output_text", "text": "Because."}]},
        },
    ]
    assert said(one(write_lines(tmp_path / "rollout-2025-c2.jsonl", rows))) == [QUESTION, ANSWER]


def gpt_node(id_: str, parent: str | None, role: str, parts: list[Any], **more: Any) -> dict[str, Any]:
    message = {
        "id": id_,
        "author": {"role": role},
        "recipient": "all",
        "content": {"content_type": "text", "parts": parts},
    }
    return {"id": id_, "parent": parent, "children": [], "message": message | more}


def test_chatgpt_follows_the_current_branch_and_leaves_out_what_is_hidden(tmp_path: Path) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    nodes = {
        "a2": gpt_node("a2", "u1", "assistant", ["Because."]),
        "a1": gpt_node("a1", "u1", "assistant", ["No idea."]),
        "root": {"id": "root", "parent": None, "children": [], "message": None},
        "s": gpt_node("s", "root", "system", ["You are"], metadata=hidden),
        "p": gpt_node("p", "s", "user", ["profile"], content={"content_type": "user_editable_context"}),
        "u1": gpt_node("u1", "p", "user", [{"content_type": "image_asset_pointer"}, "Why?"], create_time=1700000000.5),
        "t": gpt_node("t", "a2", "assistant", ["search()"], recipient="browser"),
    }
    talk = {
        "title": "Reasons",
        "create_time": 1700000000.1,
        "mapping": nodes,
        "current_node": "t",
        "conversation_id": "g1",
    }
    row = one(write_json(tmp_path / "conversations.json", [talk]))
    assert said(row) == [QUESTION, ANSWER]
    assert (row["session_id"], row["name"]) == ("g1", "Reasons")


def test_a_list_that_ends_in_the_middle_gives_what_came_before(tmp_path: Path) -> None:
    talk = {"title": "t", "mapping": {"u": gpt_node("u", None, "user", ["Why?"])}, "id": "g1", "current_node": "u"}
    path = write_json(tmp_path / "conversations.json", [talk, talk])
    path.write_text(path.read_text()[:-20])
    rows, bad = read_back(path)
    assert [row["session_id"] for row in rows] == ["g1"]
    assert "not JSON" in bad[0]


def test_claude_has_thoughts_glued_to_the_text_and_branches(tmp_path: Path) -> None:
    def message(id_: str, parent: str, sender: str, text: str) -> dict[str, Any]:
        blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
        return {"uuid": id_, "parent_message_uuid": parent, "sender": sender, "text": f"hm{text}", "content": blocks,
                "created_at": "2025-07-06T03:10:13Z"}  # fmt: skip

    messages = [
        message("1", "0", "human", "Why?"),
        message("2", "1", "assistant", "No idea."),
        message("3", "1", "assistant", "<antThinking>hm</antThinking>Because."),
    ]
    talk = {"uuid": "l1", "name": "Reasons", "created_at": "2025-07-06T03:10:13Z", "chat_messages": messages}
    assert said(one(write_json(tmp_path / "c.json", [talk]))) == [QUESTION, ANSWER]
    row = one(write_json(tmp_path / "c.json", talk | {"current_leaf_message_uuid": "2"}))
    assert said(row)[1] == ("assistant", "No idea.")


def cursor_database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
        database.execute("CREATE TABLE cursorDiskKV (key TEXT, value BLOB)")
        tab = '{"tabs": [{"tabId": "t1", "chatTitle": "Old", "lastSendTime": 1700000000000, "bubbles": [' \
              '{"type": "user", "text": "Why?"}, {"type": "ai", "rawText": "Because."},' \
              '{"type": "user", "text": ""}]}]}'  # fmt: skip
        database.execute("INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', ?)", (tab,))
        heads = '{"composerId": "k1", "name": "New", "createdAt": 1750000000000, "fullConversationHeadersOnly":' \
                ' [{"bubbleId": "b1", "type": 1}, {"bubbleId": "b2", "type": 2}]}'  # fmt: skip
        rows = [
            ("composerData:k1", heads),
            ("bubbleId:k1:b2", '{"text": "Because."}'),
            ("bubbleId:k1:b1", '{"text": "Why?"}'),
        ]
        database.executemany("INSERT INTO cursorDiskKV VALUES (?, ?)", rows)
    return path


def test_cursor_has_chats_in_tabs_and_composers_in_pieces(tmp_path: Path) -> None:
    path = cursor_database(tmp_path / "state.vscdb")
    before = path.read_bytes()
    rows, bad = read_back(tmp_path)
    assert bad == []
    assert {row["session_id"]: (row["name"], said(row)) for row in rows} == {
        "t1": ("Old", [QUESTION, ANSWER]),
        "k1": ("New", [QUESTION, ANSWER]),
    }
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["state.vscdb"]


def test_a_database_that_is_being_written_is_read_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "state.vscdb"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("CREATE TABLE ItemTable (key TEXT, value BLOB)")
        value = (
            '{"tabs": [{"tabId": "t1", "lastSendTime": 1700000000000, "bubbles": [{"type": "user", "text": "Why?"}]}]}'
        )
        writer.execute("INSERT INTO ItemTable VALUES ('workbench.panel.aichat.view.aichat.chatdata', ?)", (value,))
        writer.commit()
        assert said(one(path)) == [QUESTION]


def test_aider_marks_its_own_lines_with_two_blanks(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(
        "# aider chat started at 2025-12-03 14:43:45\n\n> Aider v0.86  \n> Model: test/model with diff  \n\n"
        "#### /add a.py  \n\n> Added a.py  \n\n#### /ask Why?  \n\n#### Why?  \n\n"
        "Because.\n\n#### A heading\n\n> a quotation\n\n> Tokens: 2k sent  \n\n"
        "#### Two  \n####   \n#### lines  \n\n# aider chat started at 2025-12-04 10:00:00\n\n#### Again?  \n\nYes.\n"
    )
    rows, _ = read_back(path)
    assert said(rows[0]) == [
        QUESTION, ("assistant", "Because.\n\n#### A heading\n\n> a quotation"), ("user", "Two\n\nlines"),
    ]  # fmt: skip
    assert said(rows[1]) == [("user", "Again?"), ("assistant", "Yes.")]
    assert (rows[0]["started_at"].hour, rows[0]["models"]) == (14, ["test/model"])


def test_gemini_has_messages_that_are_only_tools_and_a_log_in_newer_versions(tmp_path: Path) -> None:
    head = {
        "sessionId": "m1",
        "projectHash": "h",
        "startTime": "2025-10-29T10:36:24Z",
        "lastUpdated": "2025-10-29T10:40:00Z",
    }
    asked = {"id": "1", "timestamp": "2025-10-29T10:36:24Z", "type": "user", "content": "Why?\n\n\n"}
    tools = {
        "id": "2",
        "timestamp": "2025-10-29T10:36:25Z",
        "type": "gemini",
        "content": "",
        "toolCalls": [{"name": "ls"}],
    }
    answer = {"id": "3", "timestamp": "2025-10-29T10:36:26Z", "type": "gemini", "content": [{"text": "Because."}]}
    info = {"id": "4", "type": "info", "content": "Update available"}
    assert said(
        one(write_json(tmp_path / "a" / "session-1.json", head | {"messages": [asked, tools, answer, info]}))
    ) == [QUESTION, ANSWER]
    lines: list[dict[str, Any]] = [
        head,
        asked,
        {"id": "9", "type": "user", "content": "Oops"},
        {"$rewindTo": "9"},
        answer,
        answer,
    ]
    assert said(one(write_lines(tmp_path / "b" / "session-1.jsonl", lines))) == [QUESTION, ANSWER]


def test_copilot_puts_names_of_files_into_the_sentence(tmp_path: Path) -> None:
    response = [
        {"kind": "thinking", "value": "hm"},
        {"value": "See "},
        {"kind": "inlineReference", "name": "a.md"},
        {"value": "."},
    ]
    request = {"requestId": "r1", "timestamp": 1768382376289, "message": {"text": "Why?"}, "response": response}
    cancelled = {"requestId": "r2", "timestamp": 1768382376999, "message": {"text": "And?"}, "modelState": {"value": 2}}
    whole = {"requesterUsername": "me", "responderUsername": "GitHub Copilot", "requests": [request, cancelled]}
    row = one(write_json(tmp_path / "chat.json", whole))
    assert said(row) == [QUESTION, ("assistant", "See `a.md`."), ("user", "And?")]
    assert row["session_id"] == "copilot-r1"
    log = [
        {"kind": 0, "v": {"sessionId": "v1", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [request | {"response": []}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": response},
        {"kind": 1, "k": ["customTitle"], "v": "Reasons"},
    ]
    row = one(write_lines(tmp_path / "v1.jsonl", log))
    assert (row["session_id"], row["name"], len(row["messages"])) == ("v1", "Reasons", 2)


def test_cline_begins_with_the_task_of_the_user_and_both_files_are_one(tmp_path: Path) -> None:
    folder = tmp_path / "tasks" / "1769053680585"
    write_json(folder / "ui_messages.json", [
        {"ts": 1769053680628, "type": "say", "say": "text", "text": "Why?"},
        {"ts": 1769053680700, "type": "say", "say": "api_req_started", "text": "{}"},
        {"ts": 1769053680800, "type": "say", "say": "text", "text": "I look.", "partial": True},
        {"ts": 1769053680900, "type": "ask", "ask": "followup", "text": '{"question": "Which?", "options": []}'},
        {"ts": 1769053681000, "type": "say", "say": "user_feedback", "text": "The first"},
        {"ts": 1769053682000, "type": "say", "say": "completion_result", "text": "Because.HAS_CHANGES"},
        {"ts": 1769053683000, "type": "ask", "ask": "completion_result", "text": ""},
        {"ts": 1769053684000, "type": "ask", "ask": "resume_completed_task"},
    ])  # fmt: skip
    typed, context = ({"type": "text", "text": text} for text in ("<task>\nWhy?\n</task>", "<environment_details>"))
    sent = [
        {"role": "user", "content": [typed, context]},
        {"role": "assistant", "content": "Because.\n<read_file>\n<path>a</path>\n</read_file>"},
    ]
    write_json(folder / "api_conversation_history.json", sent)
    row = one(tmp_path)
    assert [text for _, text in said(row)] == ["Why?", "I look.", "Which?", "The first", "Because."]
    assert row["session_id"] == "1769053680585"
    (folder / "ui_messages.json").unlink()
    assert said(one(tmp_path)) == [QUESTION, ANSWER]


OPENCODE = {
    "info": {"id": "ses_1", "title": "Reasons", "directory": "/w", "time": {"created": 1773523899681}},
    "messages": [
        {
            "info": {"id": "msg_1", "role": "user", "summary": {"diffs": []}, "time": {"created": 1773523899697}},
            "parts": [{"type": "text", "text": "Why?"}, {"type": "text", "text": "context", "synthetic": True}],
        },
        {
            "info": {"id": "msg_2", "role": "assistant", "time": {"created": 1773523899709}},
            "parts": [
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "Because."},
                {"type": "tool", "tool": "ls"},
            ],
        },
        {
            "info": {"id": "msg_3", "role": "assistant", "summary": True},
            "parts": [{"type": "text", "text": "compacted"}],
        },
    ],
}


def test_opencode_exports_a_session_after_a_line_of_its_own(tmp_path: Path) -> None:
    path = write_json(tmp_path / "export.json", OPENCODE)
    path.write_text(f"Exporting session: ses_1\n{path.read_text()}")
    row = one(path)
    assert said(row) == [QUESTION, ANSWER]
    assert (row["session_id"], row["name"], row["cwd"]) == ("ses_1", "Reasons", "/w")


def test_opencode_stores_sessions_in_files_or_in_a_database(tmp_path: Path) -> None:
    messages: Any = OPENCODE["messages"]
    write_json(tmp_path / "storage" / "session" / "global" / "ses_1.json", OPENCODE["info"])
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database, database:
        database.execute("CREATE TABLE session (id, parent_id, title, directory, version, revert, time_created)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        database.execute("INSERT INTO session VALUES ('ses_2', NULL, 'Two', '/w', '1', NULL, 1773523899681)")
        database.execute("INSERT INTO session VALUES ('ses_3', 'ses_2', 'Of an agent', '/w', '1', NULL, 1773523899681)")
        for message in messages:
            head = write_json(
                tmp_path / "storage" / "message" / "ses_1" / f"{message['info']['id']}.json", message["info"]
            )
            database.execute("INSERT INTO message VALUES (?, 'ses_2', 1, ?)", (head.stem, head.read_text()))
            for number, part in enumerate(message["parts"]):
                file = write_json(tmp_path / "storage" / "part" / head.stem / f"prt_{number}.json", part)
                database.execute("INSERT INTO part VALUES (?, ?, 'ses_2', ?)", (file.stem, head.stem, file.read_text()))
    rows, bad = read_back(tmp_path)
    assert bad == []
    assert {row["session_id"]: said(row) for row in rows} == {
        "ses_1": [QUESTION, ANSWER],
        "ses_2": [QUESTION, ANSWER],
    }


SPECSTORY = """<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-01-12 15:08:38Z

<!-- Claude Code Session 066e1e40-aa (2026-01-12 15:08:38Z) -->

_**User (2026-01-12 15:08:38Z)**_

Why?

---

_**Agent (claude-test-1 2026-01-12 15:08:42Z)**_

<think><details><summary>Thought Process</summary>
hm
</details></think>

_**Agent (claude-test-1 2026-01-12 15:08:43Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
ls
</details></tool-use>

_**Agent (claude-test-1)**_

Because.

---

_**User (2026-01-17 14:55:47Z)**_

<command-name>/exit</command-name>
"""


def test_specstory_drops_thoughts_and_tools_and_a_session_under_two_names_is_one(tmp_path: Path) -> None:
    folder = tmp_path / ".specstory" / "history"
    folder.mkdir(parents=True)
    for name in ("2026-01-12_15-08-38Z-why.md", "2026-01-12_15-08Z-the-reason.md"):
        (folder / name).write_text(SPECSTORY)
    row = one(tmp_path)
    assert said(row) == [QUESTION, ANSWER]
    assert (row["session_id"], row["models"]) == ("066e1e40-aa", ["claude-test-1"])
    assert said(one(tmp_path, tools="summary"))[1] == ("tool", "[Bash]")


def test_specstory_leaves_out_what_agents_ask_each_other(tmp_path: Path) -> None:
    folder = tmp_path / ".specstory" / "history"
    folder.mkdir(parents=True)
    aside = """_**Agent - sidechain (2026-01-12 15:09:00Z)**_

Look where the pump is started.

_**Agent - sidechain (claude-test-2 2026-01-12 15:09:02Z)**_

It is started in the hall.

"""
    speaker = "_**Agent (claude-test-1 "
    assert speaker in SPECSTORY
    (folder / "2026-01-12_15-08-38Z-why.md").write_text(SPECSTORY.replace(speaker, aside + speaker, 1))
    row = one(tmp_path)
    assert said(row) == [QUESTION, ANSWER]
    assert row["models"] == ["claude-test-1"]
