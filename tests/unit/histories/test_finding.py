"""Where histories are found, and what becomes of sessions that are too large."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from querymill_histories.finding import find, places
from querymill_histories.formats import BY_NAME, FORMATS
from querymill_histories.rows import MAX_CHARS, MAX_MESSAGES, rows_of
from querymill_histories.rules.times import moment
from querymill_histories.session import HistoryMessage, Session
from querymill_shared.contracts.sessions import ChatSession
from tests.fixtures.histories import claude_line, write_json, write_lines

LINE = claude_line("user", "u1", None, "Why?")


def test_the_tools_places_are_looked_at_below_home_and_the_working_directory(tmp_path: Path) -> None:
    for place in (".claude/projects/-w", ".codex/sessions", ".gemini/tmp/h/chats", "elsewhere/sessions"):
        (tmp_path / place).mkdir(parents=True)
    near = tmp_path / "project"
    (near / ".specstory" / "history").mkdir(parents=True)
    found = {(known.name, str(path.relative_to(tmp_path))) for known, path in
             places(FORMATS, tmp_path, near, {"CODEX_HOME": str(tmp_path / "elsewhere")})}  # fmt: skip
    assert found == {
        ("claude-code", ".claude/projects"), ("codex", ".codex/sessions"), ("codex", "elsewhere/sessions"),
        ("gemini", ".gemini/tmp/h/chats"), ("specstory", "project/.specstory/history"),
    }  # fmt: skip


def test_a_folder_is_walked_and_what_is_no_history_is_named(tmp_path: Path) -> None:
    session = write_lines(tmp_path / "a" / ".hidden" / "s1.jsonl", [LINE])
    notes = write_json(tmp_path / "notes.json", {"about": 'Codex writes {"record_type": "state"} lines'})
    found = find([tmp_path])
    assert (found.files, found.unknown) == ({"claude-code": [session]}, [notes])
    assert find([tmp_path], BY_NAME["codex"]).files == {}


def session_of(*texts: str) -> Session:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Session("s", Path("x.json"), [HistoryMessage("user", text, "m", at) for text in texts], "  a  name ")


def test_every_document_keeps_to_the_contract() -> None:
    """A text that is too long is cut, a session that is too large goes on in another; halves of surrogates go."""
    (row,) = rows_of(session_of("a" * (MAX_CHARS + 1), "\ud83d broken", " "), "claude")
    assert [len(message["text"]) for message in row["messages"]] == [MAX_CHARS, 1, 8]
    assert [message["message_id"] for message in row["messages"]] == ["m", "m#2", "m#3"]
    rows = list(rows_of(session_of(*["a"] * (MAX_MESSAGES + 1)), "claude"))
    assert [(ChatSession.model_validate(row).session_id, len(row["messages"])) for row in rows] == [
        ("s", MAX_MESSAGES),
        ("s/2", 1),
    ]
    assert list(rows_of(session_of(), "claude")) == []
    noted = session_of("a")
    noted.left_out.update({"attachments": 2, "system lines": 12})
    (row,) = rows_of(noted, "claude")
    assert ChatSession.model_validate(row).session_id == "s"
    assert row["remarks"] == ["12 system lines", "2 attachments"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1700000000, "2023-11-14T22:13:20+00:00"), (1700000000000, "2023-11-14T22:13:20+00:00"),
        ("1700000000", "2023-11-14T22:13:20+00:00"), ("2023-11-14T22:13:20Z", "2023-11-14T22:13:20+00:00"),
        ("2023-11-14T22:13:20", "2023-11-14T22:13:20+00:00"),
    ],
)  # fmt: skip
def test_times_of_every_kind_are_read(value: object, expected: str) -> None:
    found = moment(value)
    assert found is not None
    assert found.isoformat() == expected


@pytest.mark.parametrize("value", [None, True, "", "yesterday", 12.5, -1, 1e300, []])
def test_what_is_no_time_is_none(value: object) -> None:
    assert moment(value) is None
