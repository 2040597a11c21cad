"""What newer versions of assistants write, which older ones did not."""

from pathlib import Path
from typing import Any

from tests.fixtures.histories import one, said, write_lines


def codex_line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-08-01T10:00:00.000Z", "type": kind, "payload": payload}


def test_a_plan_of_codex_is_a_message_and_newer_calls_are_calls(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2026-08-01T10-00-00-0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001.jsonl"
    lines = [
        codex_line("session_meta", id="0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001", timestamp="2026-08-01T10:00:00.000Z"),
        codex_line("event_msg", type="user_message", message="Plan the move to pumps", images=[]),
        codex_line("response_item", type="tool_search_call", call_id="c1", arguments={"query": "pump tools"}),
        codex_line("response_item", type="tool_search_output", call_id="c1", tools=[{"name": "pump"}]),
        codex_line("event_msg", type="item_completed", item={"type": "Plan", "id": "p1", "text": "1. Drain\n2. Move"}),
        codex_line("event_msg", type="item_completed", item={"type": "Sleep", "id": "s1", "duration_ms": 5}),
        codex_line("event_msg", type="agent_message", message="Shall I begin?"),
        {"timestamp": "2026-08-01T10:00:01.000Z", "type": "inter_agent_communication", "payload": {"content": "hush"}},
    ]
    row = one(write_lines(path, lines))
    assert said(row) == [
        ("user", "Plan the move to pumps"), ("assistant", "1. Drain\n2. Move"), ("assistant", "Shall I begin?"),
    ]  # fmt: skip
    assert ("tool", "[tool_search_call] pump tools") in said(one(path, tools="summary"))


def test_an_undone_request_of_copilot_is_left_out_and_a_field_may_be_deleted_twice(tmp_path: Path) -> None:
    def request(id_: str, text: str, **more: Any) -> dict[str, Any]:
        return {
            "requestId": id_, "timestamp": 1_785_000_000_000, "message": {"text": text, "parts": []},
            "response": [{"value": f"{text}: done"}], **more,
        }  # fmt: skip

    lines = [
        {"kind": 0, "v": {"version": 3, "sessionId": "s-1", "requests": [request("r1", "Drain")]}},
        {"kind": 2, "k": ["requests"], "v": [request("r2", "Move", shouldBeRemovedOnSend={"requestId": "r2"})]},
        {"kind": 2, "k": ["requests"], "v": [
            request("r3", "Fill", shouldBeRemovedOnSend={"requestId": "r3", "afterUndoStop": "u1"})
        ]},
        {"kind": 3, "k": ["customTitle"]},
        {"kind": 1, "k": ["customTitle"], "v": "Pumps"},
    ]  # fmt: skip
    row = one(write_lines(tmp_path / "s-1.jsonl", lines))
    assert row["name"] == "Pumps"
    assert [text for _, text in said(row)] == ["Drain", "Drain: done", "Fill", "Fill: done"]


def test_a_chat_of_gemini_that_goes_back_to_a_lost_message_begins_again(tmp_path: Path) -> None:
    head = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-08-01T10:00:00.000Z", "kind": "main"}

    def message(id_: str, kind: str, text: str) -> dict[str, Any]:
        return {"id": id_, "timestamp": "2026-08-01T10:00:01.000Z", "type": kind, "content": [{"text": text}]}

    lines = [
        head, message("a", "user", "Drain"), message("b", "gemini", "Drained"), {"$rewindTo": "gone"},
        message("c", "user", "Fill"), message("d", "gemini", "Filled"),
    ]  # fmt: skip
    assert said(one(write_lines(tmp_path / "session-1.jsonl", lines))) == [("user", "Fill"), ("assistant", "Filled")]
