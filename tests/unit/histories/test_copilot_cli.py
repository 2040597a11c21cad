"""Sessions of Copilot CLI, in the shape in which its events are described."""

from pathlib import Path
from typing import Any

from tests.fixtures.histories import one, said, write_lines


def event(kind: str, number: int, **fields: Any) -> dict[str, Any]:
    at = f"2026-01-05T10:00:{number:02}.000Z"
    return {"type": kind, "data": fields, "id": f"e{number}", "timestamp": at, "parentId": f"e{number - 1}"}


EVENTS = [
    event("session.start", 0, sessionId="c1", copilotVersion="1.0.9", startTime="2026-01-05T10:00:00.000Z",
          context={"cwd": "/srv/app", "branch": "main", "repository": "acme/app"}),
    event("system.message", 1, role="system", content="You are a pilot."),
    event("user.message", 2, content="Why does it fail?", transformedContent="<current_datetime>x</current_datetime>"),
    event("assistant.turn_start", 3, turnId="0"),
    event("assistant.message", 4, messageId="m1", model="model-1", content="I look.",
          toolRequests=[{"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}}]),
    event("tool.execution_complete", 5, toolCallId="t1", success=True, result={"content": "a.py"}),
    event("assistant.message", 6, messageId="m2", content="from an agent", parentToolCallId="t1"),
    event("assistant.message", 7, messageId="m3", model="model-1", content="A comma is missing.", toolRequests=[]),
]  # fmt: skip


def test_a_session_is_what_a_person_and_the_assistant_said(tmp_path: Path) -> None:
    row = one(write_lines(tmp_path / ".copilot" / "session-state" / "c1" / "events.jsonl", EVENTS))
    assert said(row) == [("user", "Why does it fail?"), ("assistant", "I look."), ("assistant", "A comma is missing.")]
    assert (row["session_id"], row["origin"], row["models"]) == ("c1", "copilot-cli", ["model-1"])
    assert (row["cwd"], row["repository"], row["started_at"].isoformat()) == (
        "/srv/app", "acme/app", "2026-01-05T10:00:00+00:00",
    )  # fmt: skip
    assert [message["line"] for message in row["messages"]] == [3, 5, 8]


def test_tool_calls_come_with_their_results(tmp_path: Path) -> None:
    row = one(write_lines(tmp_path / "c1.jsonl", EVENTS), tools="full")
    assert said(row)[2] == ("tool", '[bash] {"command": "ls"}\na.py')
