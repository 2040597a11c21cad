"""Chats that people export from Cursor and save in Gemini CLI, and the transcripts of Cursor's agents."""

from pathlib import Path

from tests.fixtures.histories import one, said, write_json, write_lines

QUESTION, ANSWER = ("user", "Why?"), ("assistant", "Because.")


def test_cursor_exports_a_chat_as_markdown(tmp_path: Path) -> None:
    path = tmp_path / "cursor_tides.md"
    path.write_text(
        "# Tides and ships\n_Exported on 6/9/2025 at 11:23:48 EDT from Cursor (1.0.0)_\n\n---\n\n**User**\n\nWhy?\n\n"
        "---\n\n"
        "**Cursor**\n\nBecause.\n\n---\n\nA rule is no turn.\n\n---\n\n**User**\n\nThanks **User**\n",
        encoding="utf-8",
    )
    row = one(path)
    assert said(row) == [QUESTION, ("assistant", "Because.\n\n---\n\nA rule is no turn."), ("user", "Thanks **User**")]
    assert row["name"] == "Tides and ships"
    longer = tmp_path / "again" / "cursor_tides_2.md"
    longer.parent.mkdir()
    longer.write_text(f"{path.read_text()}\n---\n\n**Cursor**\n\nYou are welcome.\n")
    assert one(longer)["session_id"] == row["session_id"]


def test_cursor_agents_leave_json_lines(tmp_path: Path) -> None:
    def part(role: str, *content: object) -> dict[str, object]:
        return {"role": role, "message": {"content": list(content)}}

    asked = {"type": "text", "text": "<open_files>a.py</open_files>\n<user_query>\nWhy?\n</user_query>"}
    tool = {"type": "tool_use", "name": "Read", "input": {"path": "a.py"}}
    path = write_lines(
        tmp_path / "agent-transcripts" / "k7" / "k7.jsonl",
        [part("user", asked), part("assistant", tool), part("assistant", {"type": "text", "text": "Because."})],
    )
    row = one(path)
    assert (row["session_id"], said(row)) == ("k7", [QUESTION, ANSWER])
    assert "Read" in str(said(one(path, tools="summary")))


def test_cursor_agents_left_text_before(tmp_path: Path) -> None:
    path = tmp_path / "k8.txt"
    path.write_text(
        "user:\n<user_query>\nWhy?\n</user_query>\n\nassistant:\n[Thinking] Let me see.\nIt is so.\n\nI look.\n"
        "[Tool call] Read\n  path: a.py\n  lines: 3\n\nThen I know.\n\n[Tool result] Read\nsecret\n\nA:\nBecause.\n"
        "user:\n<user_query>\nThanks\n</user_query>\n",
        encoding="utf-8",
    )
    assert said(one(path)) == [
        QUESTION, ("assistant", "I look."), ("assistant", "Then I know."), ANSWER, ("user", "Thanks"),
    ]  # fmt: skip


def test_gemini_saves_a_chat_under_a_name(tmp_path: Path) -> None:
    history = [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context for our chat."}]},
        {"role": "model", "parts": [{"text": "Got it. Thanks for the context!"}]},
        {"role": "user", "parts": [{"text": "Why?"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "ls", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.py"}}}]},
        {"role": "model", "parts": [{"text": "Because."}]},
    ]
    older = one(write_json(tmp_path / "h1" / "checkpoint-tides%20and%20ships.json", history))
    assert (older["name"], said(older)) == ("tides and ships", [QUESTION, ANSWER])
    newer = one(write_json(tmp_path / "h2" / "checkpoint-tides.json", {"history": history, "authType": "oauth"}))
    assert (newer["session_id"], said(newer)) == ("h2-checkpoint-tides", [QUESTION, ANSWER])
    assert "ls" in str(said(one(tmp_path / "h2", tools="summary")))
