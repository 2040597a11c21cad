"""Whole conversations as JSON lines."""

from pathlib import Path

from querymill.ingesting.kinds.conversations import LINES
from tests.fixtures.json_lines import read_lines

SESSION = {
    "session_id": "s1",
    "started_at": "2026-01-01T10:00:00Z",
    "messages": [{"role": "user", "text": "hello", "created_at": "2026-01-01T10:00:00Z"}],
}


def test_a_line_is_a_session_known_by_its_id(tmp_path: Path) -> None:
    (line,), bad = read_lines(LINES, tmp_path, SESSION)
    assert bad == []
    assert (line.name, line.unit, line.document.session_id) == ("s1", "line", "s1")


def test_a_line_without_messages_is_refused(tmp_path: Path) -> None:
    good, (bad,) = read_lines(LINES, tmp_path, {"session_id": "s1"})
    assert good == []
    assert "messages: Field required" in bad.reason
