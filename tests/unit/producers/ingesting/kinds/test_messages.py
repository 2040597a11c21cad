"""Sessions of messages as JSON lines."""

from pathlib import Path

from querymill.ingesting.kinds.messages import LINES
from tests.fixtures.json_lines import read_lines

SESSION = {
    "session_id": "s1",
    "started_at": "2026-01-01T10:00:00Z",
    "messages": [{"message_id": "m1", "role": "user", "text": "hello", "created_at": "2026-01-01T10:00:00Z"}],
}


def test_a_line_is_a_session_known_by_its_id(tmp_path: Path) -> None:
    (first, number), bad = read_lines(LINES, tmp_path, SESSION, SESSION | {"session_id": 0})
    assert bad == []
    assert (first.name, first.document.messages[0].text) == ("s1", "hello")
    assert number.name == "0"  # a number is an id like any other


def test_a_broken_rule_is_named_from_the_session_on(tmp_path: Path) -> None:
    good, (bad,) = read_lines(LINES, tmp_path, SESSION, SESSION | {"messages": [{"role": "user"}]})
    assert len(good) == 1
    assert bad.number == 2
    assert "messages.0.text: Field required" in bad.reason
